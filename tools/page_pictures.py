"""Takes the pictures of docs/viewer.md: the page in headless Chromium over two real traces, a large made-up one and a hostile one.

PYTHONPATH=tests python tools/page_pictures.py TRACE OTHER_TRACE
"""

from __future__ import annotations

import fcntl
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser

from server.viewer.test_hostile import hostile
from support.browsing import Site, Watched, browser, large_trace, site

OUT = Path("docs/pictures")


def take(chrome: Browser, here: Site, name: str, run: str, script: str = "", keys: str = "", scheme: str = "light") -> None:
    page = Watched.open(chrome, scheme)
    page.page.goto(f"{here.url}/#run={run}")
    page.wait("branchwise.app.panes.length && branchwise.app.panes.every((pane) => pane.run.nodes.length > 1)")
    page.page.wait_for_timeout(1000)
    if script:
        page.run(script)
    for key in keys.split():
        page.page.keyboard.press(key)
    page.page.wait_for_timeout(600)
    page.page.screenshot(path=OUT / f"{name}.png")
    with Image.open(OUT / f"{name}.png") as picture:
        picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(OUT / f"{name}.png", optimize=True)
    assert not page.complaints, page.complaints


def main(first: Path, second: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large_trace(folder / "large.jsonl")
        shutil.copy(second, folder / "second.jsonl")
        shutil.copy(first, folder / "first.jsonl")
        lines = first.read_bytes().splitlines(keepends=True)
        (folder / "growing.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
        with site(folder) as here, browser() as chrome, open(folder / "growing.jsonl", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            take(chrome, here, "viewer-growing", "growing")
            lock.close()
            (folder / "growing.jsonl").unlink()
            take(chrome, here, "viewer-run", "first")
            open_call = "document.querySelector('#details details.call summary').click()"
            select = "branchwise.app.panes[0].view.select(branchwise.app.panes[0].run.answer.parent)"
            take(chrome, here, "viewer-thought", "first", f"{select}; {open_call}")
            take(chrome, here, "viewer-two", "first&beside=second")
            take(chrome, here, "viewer-dark", "large", "branchwise.app.panes[0].search('pilot')", "0 - - -", "dark")
            take(chrome, here, "viewer-large", "large", "", "f")
            hostile(folder / "hostile.jsonl")
            take(chrome, here, "viewer-hostile", "hostile", "branchwise.app.panes[0].go(branchwise.app.panes[0].run.nodes[15])")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
