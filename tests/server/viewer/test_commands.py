"""`branchwise view` and `branchwise show --html`, as processes and in this one."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from branchwise.cli.main import cli
from support.browsing import birth, expanded, record, started, stopped
from support.program import end_children, spawn


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    yield
    end_children()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return record(tmp_path / "runs" / "one.jsonl", [started("Why <b>?"), expanded(0, [birth(1, 0, "so")]), stopped(1, "so")])


def program(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.mark.parametrize("alone", [False, True])
def test_view_serves_until_it_is_interrupted(trace: Path, alone: bool) -> None:
    record(trace.parent / "two.jsonl", [started("And?")])
    child = spawn("view", trace if alone else trace.parent, "--no-browser")
    assert child.stderr is not None
    line = child.stderr.readline()
    found = re.search(r"at (http://127\.0\.0\.1:\d+/)(#run=one)? ", line)
    assert found is not None, line
    assert bool(found[2]) is alone
    runs = httpx2.get(found[1] + "runs").json()["runs"]
    assert sorted(run["id"] for run in runs) == (["one"] if alone else ["one", "two"])
    with httpx2.stream("GET", f"{found[1]}runs/{runs[0]['id'] if alone else 'two'}/events") as stream:  # an open tab does not hold it up
        next(stream.iter_lines())
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=240)
    assert (child.returncode, out, err) == (0, "", "")


def test_one_file_needs_no_server_and_view_says_what_it_needs(trace: Path, tmp_path: Path) -> None:
    bare = "import sys; sys.modules.update(dict.fromkeys(('starlette', 'uvicorn', 'pydantic'))); from branchwise.cli.main import main; main()"
    cases = ((("show", trace, "--html", tmp_path / "x.html"), 0, "wrote"), (("view", tmp_path), 2, "pip install 'branchwise[server]'"))
    for arguments, code, said in cases:
        found = subprocess.run([sys.executable, "-c", bare, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False)
        assert found.returncode == code
        assert said in found.stderr


def test_view_says_what_is_not_there(tmp_path: Path) -> None:
    found = program("view", tmp_path / "none")
    assert found.exit_code != 0
    assert "there is nothing at" in found.stderr


def test_one_file_is_written_and_no_other_file_is_lost(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "one.html"
    for _ in range(2):
        found = program("show", trace, "--html", page)
        assert found.exit_code == 0, found.output
        assert found.stdout == ""
    text = page.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "<b>?" not in text
    assert "Why \\u003cb\\u003e?" in text
    before = trace.read_bytes()
    found = program("show", trace, "--html", trace)
    assert found.exit_code == 2
    assert "is there and is no page" in found.stderr
    assert trace.read_bytes() == before
    assert program("show", trace, "--html", tmp_path / "none" / "one.html").exit_code == 2
