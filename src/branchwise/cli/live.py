"""The tree while it grows, on standard error: drawn on a terminal, elsewhere a line now and then. Reads events; decides nothing."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from branchwise.budget import Usage
from branchwise.cli.kinds import MARKS, fate, kinds_line
from branchwise.cli.pulse import Pulse, beating, so_far
from branchwise.cli.text import dollars, line, plural, seconds, shorten, value
from branchwise.problem import Kind
from branchwise.search.base import rank
from branchwise.trace import Call, Event, Expanded, Judged, Marked, Started, Stopped
from branchwise.tree import Fate, Node, Tree

__all__ = ["View", "watching"]

_FPS = 8.0
_SHOWN = 200
"""Newest candidates of a level that are sorted for display: a level of thousands would slow the run down."""


@dataclass
class Level:
    """The thoughts of one depth, and how many of them had which fate."""

    nodes: list[Node] = field(default_factory=list)
    fates: dict[str, int] = field(default_factory=dict)
    merged: int = 0
    dropped: int = 0


class View:
    """What is shown of a run; also keeps the tree for a report when the run breaks."""

    def __init__(self, title: str = "") -> None:
        self.title = title
        self.tree = Tree()
        self.stopped: Stopped | None = None
        self.by_role: dict[str, Usage] = {}
        self.started = False
        self.events = 0
        self._clock = time.monotonic()
        self._levels: list[Level] = []

    def on_event(self, event: Event) -> None:
        """Fold one event in."""
        self.events += 1
        marked = [self.tree.nodes[mark.node] for mark in event.marks] if isinstance(event, Marked) else []
        before = [fate(node) for node in marked]
        done = self.tree.apply(event)
        if isinstance(event, Started):
            self.started, self._levels, self.stopped = True, [], None
        elif isinstance(event, Call):
            for sample in event.samples:
                self.by_role[event.role] = self.by_role.get(event.role, Usage()) + Usage.from_json(sample.usage)
        elif isinstance(event, Stopped):
            self.stopped = event
        elif isinstance(event, Expanded) and done is not None and done.node is not None:
            level = self._level(done.node.depth)
            level.merged += len(done.merged)
            level.dropped += len(event.dropped)
            for node in done.born:
                level.nodes.append(node)
                _count(level, fate(node), 1)
        elif not isinstance(event, Judged):
            for node, old in zip(marked, before, strict=True):
                level = self._level(node.depth - 1)
                _count(level, old, -1)
                _count(level, fate(node), 1)

    @property
    def spent(self) -> Usage:
        """What the replies of this process cost; those replayed from a tape are left out."""
        return sum(self.by_role.values(), Usage())

    @property
    def seconds(self) -> float:
        """Since this view was made."""
        return time.monotonic() - self._clock

    def _level(self, depth: int) -> Level:
        while len(self._levels) <= depth:
            self._levels.append(Level())
        return self._levels[depth]

    def render(self, width: int, height: int) -> RenderableType:
        """The last levels that fit, newest at the bottom."""
        lines: list[Text] = []
        room = max(2, (height - 4) // max(1, min(3, len(self._levels))) - 1)
        for depth, level in list(enumerate(self._levels, 1))[-3:]:
            lines.append(Text(_summary(depth, level), style="bold"))
            best = sorted(level.nodes[-_SHOWN:], key=lambda node: (node.fate is Fate.PRUNED or node.status.kind is Kind.DEAD, *rank(node)))
            lines += [_candidate(node, width) for node in best[:room]]
            if len(level.nodes) > room:
                lines.append(Text(f"      … {len(level.nodes) - room} more", style="dim"))
        head = Text(shorten(self.title, width), style="bold cyan")
        return Group(head, *lines, Text(shorten(self._foot(), width), style="dim"))

    def so_far(self) -> str:
        """One line where nothing is drawn: thoughts, calls, tokens, cost, time."""
        return so_far(len(self.tree), self.spent, self.seconds)

    def _foot(self) -> str:
        spent = self.spent
        cost = f", {dollars(None if spent.cost is None else spent.cost / 1e6)}" if spent.cost != 0 else ""
        end = f" · {line(self.stopped.reason)}" if self.stopped else ""
        return f"{plural(spent.calls, 'call')}, {plural(spent.tokens, 'token')}{cost}, {seconds(self.seconds)}{end}"


def _count(level: Level, name: str, by: int) -> None:
    level.fates[name] = level.fates.get(name, 0) + by


def _summary(depth: int, level: Level) -> str:
    kinds = {**level.fates, "merged": level.merged, "dropped": level.dropped}
    return f"  step {depth}: {plural(len(level.nodes), 'thought')} ({kinds_line(kinds)})"


def _candidate(node: Node, width: int) -> Text:
    mark, style = MARKS[fate(node)]
    return Text(f"    {mark} {value(node.value):>6}  {shorten(node.thought, max(10, width - 15))}", style=style, no_wrap=True)


@asynccontextmanager
async def watching(view: View, console: Console, say: Callable[[str], None]) -> AsyncIterator[None]:
    """Draw `view` while the body runs, if `console` is a terminal, and the last picture stays; `say` a line now and then if it is none."""
    if not console.is_terminal:
        async with beating(Pulse(say, lambda: f"still running: {view.so_far()}")):
            yield
        return
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:

        def draw() -> None:
            live.update(view.render(console.width, console.height), refresh=True)

        async def tick() -> None:
            drawn, since = -1, 0.0
            while True:
                if view.events != drawn or view.seconds - since >= 1.0:
                    drawn, since = view.events, view.seconds
                    draw()
                await asyncio.sleep(1 / _FPS)

        task = asyncio.create_task(tick())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            draw()
