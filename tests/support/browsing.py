"""The page in a real browser: a server over a folder in a thread, headless Chromium, a run that goes on step by step. Knows no test."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import uvicorn
from starlette.applications import Starlette

from branchwise import Beam, Budget, Method, Propose, Request, Result, Scripted, Usage, Value, solve
from branchwise.server.runs import Runs
from branchwise.server.start import _Server, bound
from branchwise.server.viewer.local import application
from support.worlds import Toy

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

REQUIRED = "BRANCHWISE_REQUIRE_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZE = {"width": 1440, "height": 900}


@dataclass
class Site:
    """A server over `runs`; `call` runs a coroutine in its loop."""

    url: str
    runs: Runs
    loop: asyncio.AbstractEventLoop

    def call(self, job: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(job, self.loop)


@contextmanager
def site(folder: Path, build: Callable[[Runs], Starlette] = application) -> Iterator[Site]:
    """Serve `folder` while the body runs."""
    runs, ready = Runs(folder), threading.Event()
    found: dict[str, Any] = {}
    with bound("127.0.0.1", 0) as plug:
        settings = {"log_config": None, "access_log": False, "lifespan": "off", "timeout_graceful_shutdown": 1}
        server = _Server(uvicorn.Config(build(runs), **settings))

        async def main() -> None:
            found["loop"] = asyncio.get_running_loop()
            ready.set()
            await server.serve(sockets=[plug])
            for connection in list(server.server_state.connections):  # browsers keep theirs open
                connection.transport.abort()
            await asyncio.sleep(0)

        thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
        thread.start()
        assert ready.wait(120)
        yield Site(f"http://127.0.0.1:{plug.getsockname()[1]}", runs, found["loop"])
        server.should_exit = server.force_exit = True
        thread.join(120)
        assert not thread.is_alive()


@dataclass
class Paced:
    """A run in the loop of a site that makes as many model calls as it was allowed so far."""

    site: Site
    id: str = ""
    outcome: Future[Result] | None = None
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    def start(self, problem: Any, method: Method, answers: Callable[[Request, int], str], seed: int = 1) -> None:
        self.id = "live"

        async def latency(_: Request) -> None:
            await self._gate.acquire()

        async def run() -> Result:
            with self.site.runs.writing() as live:
                self.id = live.id
                named.set()
                model = Scripted(answers, latency=latency)
                return await solve(problem, method, model, budget=Budget(calls=2000), seed=seed, trace=live.path, on_event=live.on_event)

        named = threading.Event()
        self.outcome = self.site.call(run())
        assert named.wait(120)

    def allow(self, calls: int) -> None:
        """So many more requests."""

        async def release() -> None:
            for _ in range(calls):
                self._gate.release()

        self.site.call(release()).result(240)

    def result(self) -> Result:
        assert self.outcome is not None
        return self.outcome.result(240)


def toy_run(site: Site, seed: int = 3) -> Paced:
    """A beam over a toy world, not begun to be answered."""
    world, paced = Toy(seed=seed, malformed=0, complete=0.2, full=True, by_seed=False), Paced(site)
    paced.start(world, Method(generate=Propose(k=4), evaluate=Value(samples=2), search=Beam(breadth=2, depth=3)), world.reply)
    return paced


def record(path: Path, events: Sequence[dict[str, Any]]) -> Path:
    """A trace with these lines."""
    path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
    return path


def started(prompt: str, method: str = "best_first", model: str = "script") -> dict[str, Any]:
    problem = {"is": "Toy", "prompt": prompt, "prompts": {"io": "x" * 9000}}
    run = {"problem": problem, "method": {"name": method}, "model": model, "seed": 1, "window": 8}
    return {"run": run, "about": {"budget": {"calls": 100}, "parallel": 8}, "format": 1, "event": "started"}


def call(node: str, role: str, text: str, prompt: str = "What next?", occurrence: int = 0) -> dict[str, Any]:
    usage = Usage(1, 1, prompt_tokens=30, cached_prompt_tokens=20, completion_tokens=9, cost=100)
    return {
        "node": node, "occurrence": occurrence, "role": role, "digest": "d", "repeat": 0, "first": 0, "model": "script", "seconds": 0.1,
        "samples": [{"text": text, "outcome": "ok", "usage": usage.to_json()}], "messages": [{"role": "user", "content": prompt}], "event": "call",
    }  # fmt: skip


def birth(node: int, index: int, thought: str, **more: Any) -> dict[str, Any]:
    return {"node": node, "index": index, "thought": thought, "status": "open", "reason": "", "confidence": None, "merged": False, **more}


def expanded(node: int, births: Sequence[dict[str, Any]], judgements: Sequence[dict[str, Any]] = (), **more: Any) -> dict[str, Any]:
    event = {"step": 0, "node": node, "births": list(births), "dropped": [], "judgements": list(judgements), "role": "generate"}
    return {**event, "event": "expanded", **more}


def stopped(node: int | None, answer: str | None, reason: str = "exhausted", solved: bool | None = None) -> dict[str, Any]:
    usage = {"calls": 7, "cost_usd": 0.01}
    return {"reason": reason, "node": node, "answer": answer, "solved": solved, "usage": usage, "error": "", "event": "stopped"}


WORDS = "first test the demand with a small pilot then compare what it costs because margins are thin and every later step leans on it".split()


def large_trace(path: Path, thoughts: int = 5_000) -> Path:
    """A tree of so many thoughts with their calls, every kind of fate in it."""
    rng, events = Random(1), [started(f"A made-up tree of {thoughts:,} thoughts")]
    places: list[tuple[int, str]] = [(0, "")]
    born = 1
    while born <= thoughts:
        node, label = places.pop(min(rng.randrange(len(places)), rng.randrange(len(places))))
        births, judgements, marks = [], [], []
        events.append(call(label, "generate", " ".join(rng.choices(WORDS, k=30))))
        for index in range(min(rng.choice((3, 4, 5)), thoughts - born + 1)):
            place, value = f"{label}.{index}" if label else str(index), round(rng.random(), 3)
            status = "dead" if rng.random() < 0.06 else "solved" if rng.random() < 0.002 else "open"
            births.append(birth(born, index, " ".join(rng.choices(WORDS, k=rng.randint(4, 24))), status=status))
            events.append(call(place, "evaluate", f"Score: {value}"))
            judgements.append({"node": born, "value": value, "samples": [value], "reason": ""})
            marks.append({"node": born, "fate": "kept" if value >= 0.4 else "pruned", "reason": "" if value >= 0.4 else "value is below 0.4"})
            if status == "open" and (value >= 0.4 or len(places) < 2):
                places.append((born, place))
            born += 1
        if node and rng.random() < 0.2:
            births.append(birth(node, len(births), "said before", merged=True))
        events += [expanded(node, births, judgements), {"marks": marks, "event": "marked"}]
    return record(path, [*events, stopped(thoughts, "a small pilot")])


def chromium() -> str:
    """Where the browser is. Skips the test that asks where there is none, or fails it where one is required."""
    try:
        import playwright.sync_api  # noqa: F401
    except ModuleNotFoundError:
        return missing("the Python package playwright is not installed: pip install 'branchwise[dev]'")
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or missing("no Chromium is installed: apt-get install chromium")


def missing(what: str) -> str:
    text = f"the page was not tested in a browser: {what}"
    if os.environ.get(REQUIRED):
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


@contextmanager
def browser() -> Iterator[Browser]:
    """Headless Chromium, for as long as the body runs: while it runs, the thread has a loop of Playwright's."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=path, args=[*flags, "--disable-dev-shm-usage"])
        yield opened
        opened.close()


@dataclass
class Watched:
    """A page whose every complaint and every foreign request is kept."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, where: Browser, scheme: str = "light", **size: int) -> Watched:
        context = where.new_context(viewport={**SIZE, **size}, color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(90_000)
        watched = cls(page)
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.on("console", lambda message: watched.complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: (watched.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: watched.requests.append(request.url))
        return watched

    def close(self) -> None:
        self.page.context.close()

    def run(self, script: str) -> Any:
        return self.page.evaluate(script)

    def thoughts(self) -> int:
        """Thoughts of the first tree, the root not counted."""
        return int(self.run("branchwise.app.panes[0]?.run.nodes.length - 1 || 0"))

    def wait(self, condition: str) -> None:
        """Until a script is true. (What Playwright has for this evaluates text in the page, which the page's policy forbids.)"""
        end = time.monotonic() + 120
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"never true: {condition}"
            self.page.wait_for_timeout(20)

    def select(self, birth: int, pane: int = 0) -> None:
        self.run(f"branchwise.app.panes[{pane}].go(branchwise.app.panes[{pane}].run.nodes[{birth}])")
