"""Opens the model of a run, and tells the user before anything slow. Knows no search."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from branchwise.cli.asking import ask_terminal
from branchwise.cli.places import cache_file, environment, weights_folder
from branchwise.cli.text import error_console
from branchwise.errors import BranchwiseError
from branchwise.model.base import LanguageModel
from branchwise.model.cache import ReplyCache
from branchwise.model.local import LocalSettings
from branchwise.model.person import Person
from branchwise.model.registry import open_model, parse_spec
from branchwise.model.routed import Routed
from branchwise.model.tape import TapeModel
from branchwise.model.weights import WEIGHTS, find

__all__ = ["Interrupted", "PullBar", "opened", "opened_by_role", "reply_cache"]

_MOST_SLOTS = 32


class Interrupted(BranchwiseError):
    """The user broke off a download."""


class PullBar:
    """Progress of a download: a bar on a terminal, one line for each source otherwise. `broken` ends the download at its next report."""

    def __init__(self, name: str, say: Callable[[str], None]) -> None:
        self._name, self._say = name, say
        self._said: set[str] = set()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self.broken = threading.Event()

    def __call__(self, done: int, total: int, label: str) -> None:
        """Called from the thread that downloads, with bytes. Raises `Interrupted` when broken off."""
        if self.broken.is_set():
            raise Interrupted(f"the download of {self._name} was interrupted; it goes on from there the next time")
        source = label.split(", part")[0]
        if not sys.stderr.isatty():
            if source not in self._said:
                self._said.add(source)
                self._say(f"{self._name}: {source} ({total / 1e6:,.0f} MB)")
            return
        if self._bar is None:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
            self._bar = Progress(*columns, console=error_console())
            self._task = self._bar.add_task(self._name)
            self._bar.start()
        assert self._task is not None
        self._bar.update(self._task, completed=done, total=total, description=f"{self._name} {label}")

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def reply_cache(mode: str) -> Iterator[ReplyCache | None]:
    """The cache of replies, unless `mode` is off."""
    if mode == "off":
        yield None
        return
    with ReplyCache(cache_file()) as cache:
        yield cache


@asynccontextmanager
async def opened(
    text: str,
    *,
    parallel: int,
    key_file: Path | None,
    say: Callable[[str], None],
    bar: PullBar | None = None,
    alternatives: bool = False,
) -> AsyncIterator[LanguageModel]:
    """The model that `text` names, ready for calls. `say` is told what is slow: a download, and the loading of weights.

    `alternatives`: log-probabilities of tokens not chosen are read (see `LocalSettings`).
    """
    spec = parse_spec(text)
    if spec.kind == "tape":
        yield TapeModel.open(Path(spec.target))
        return
    folder = weights_folder()
    bar = bar or PullBar(spec.target, say)
    if spec.kind == "local":
        if spec.target in WEIGHTS and find(spec.target, folder) is None:
            entry = WEIGHTS[spec.target]
            say(f"model {spec.target} is not here yet: getting its weights once ({entry.size / 1e6:,.0f} MB, {entry.licence})")
        else:
            say(f"loading model {spec.target} into this process ...")
    settings = LocalSettings(slots=min(max(1, parallel), _MOST_SLOTS), alternatives=alternatives)
    opening = open_model(spec, environ=environment(), key_file=key_file, folder=folder, progress=bar, settings=settings, say=say)
    async with AsyncExitStack() as stack:
        try:
            model = await stack.enter_async_context(opening)
        finally:
            bar.close()
        yield model


@asynccontextmanager
async def opened_by_role(
    text: str,
    others: Mapping[str, str],
    *,
    person: bool = False,
    parallel: int,
    key_file: Path | None,
    say: Callable[[str], None],
    bar: PullBar | None = None,
    alternatives: bool = False,
) -> AsyncIterator[LanguageModel]:
    """The model that `text` names, and `others` by role behind it; a `person` at this terminal judges.

    A model that is named twice is opened once. The key of `key_file` goes to the first alone.
    """
    async with AsyncExitStack() as stack:
        models: dict[str, LanguageModel] = {}
        for name in (text, *others.values()):
            if name not in models:
                key = key_file if name == text else None
                opening = opened(name, parallel=parallel, key_file=key, say=say, bar=bar, alternatives=alternatives)
                models[name] = await stack.enter_async_context(opening)
        roles = {role: models[name] for role, name in others.items()}
        if person and parse_spec(text).kind != "tape":
            roles["evaluate"] = Person(ask_terminal)
        yield Routed(models[text], roles) if roles else models[text]
