"""One item of a published log as events, so that their fold is the tree as it was published. Knows no file and no answer key.

Nothing is merged, dropped or judged anew: a proposal that came twice is there twice, as in the log. Values are put on [0, 1]: of Game of 24
the sum of the weights of three samples over 60 (sure 20, likely 1, impossible 0.001), of votes the share of the votes that were counted,
of crosswords 0 if any clue was impossible, else the mean over the clues (sure 1, maybe 0.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from branchwise.bench.imported.logs import Level, Log, LogItem, Visit
from branchwise.budget import Usage
from branchwise.errors import UsageError
from branchwise.problem import Kind, State
from branchwise.search.pick import deepest
from branchwise.tasks.crosswords.grid import letters, show
from branchwise.tasks.game24 import Verdict, check
from branchwise.tasks.game24.task import parse_hand
from branchwise.thought.parsing import final_answer
from branchwise.trace import Birth, Event, Expanded, Judged, Judgement, Mark, Marked, Started, Stopped
from branchwise.tree import Fate, Tree

__all__ = ["events", "item_usage"]

_SURE, _SAMPLES = 20.0, 3
_STEPS = 100
"""Visits of the published dfs at the most."""


@dataclass(frozen=True, slots=True)
class _Reader:
    """What of an imported state depends on the task."""

    is_answer: Callable[[str], bool]
    answer: Callable[[str, State], tuple[str | None, bool | None]]
    """Answer and whether it is proven, from the input and the thoughts."""
    unit: Callable[[Sequence[float]], list[float]]


def _values(values: Sequence[float]) -> list[float]:
    samples = max(_SAMPLES, ceil(max(values, default=0) / _SURE))
    return [value / (_SURE * samples) for value in values]


def _votes(values: Sequence[float]) -> list[float]:
    total = sum(values)
    return [value / total if total else 0.0 for value in values]


def _game24(text: str, state: State) -> tuple[str | None, bool | None]:
    found = check(parse_hand(text), "\n".join(state)) if text else None
    return (None, False) if found is None else (found.answer, found.verdict is Verdict.CORRECT)


def _passage(text: str, state: State) -> tuple[str | None, bool | None]:
    if not state or "passage:" not in state[-1].lower():
        return None, None
    at = state[-1].lower().rindex("passage:") + len("passage:")
    return state[-1][at:].strip() or None, None


def _grid(text: str, state: State) -> tuple[str | None, bool | None]:
    return " ".join(show(letters(state)).split("\n")), None


_READERS = {
    "game24": _Reader(lambda thought: final_answer(thought) is not None, _game24, _values),
    "writing": _Reader(lambda thought: "passage:" in thought.lower(), _passage, _votes),
    "crosswords": _Reader(lambda thought: False, _grid, _values),
}


def item_usage(item: LogItem) -> Usage:
    """What the item cost by the log; calls are not in it."""
    if item.usage is None:
        return Usage(cost=None)
    tokens = (int(item.usage[name]) for name in ("prompt_tokens", "completion_tokens"))
    prompt, completion = tokens
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cost=round(item.usage["cost"] * 1e6))


def events(log: Log, item: LogItem, task: str, text: str) -> list[Event]:
    """The trace of one item; `text` is its input as the log or a data file gives it, else empty. Raises `UsageError`."""
    if task not in _READERS:
        raise UsageError(f"logs of task {task} are not known: {', '.join(_READERS)}")
    reader, where = _READERS[task], f"{log.path}, idx {item.number - 1}"
    shown = text or f"number {item.number} of the published list of {task}"
    method = {"beam": "tot_bfs", "samples": "samples", "dfs": "tot_dfs"}[log.format]
    run: dict[str, Any] = {"problem": {"prompt": shown}, "method": {"name": method}, "model": "published log", "seed": None}
    about = {"file": log.path.name, "sha256": log.sha256, "format": log.format, "number": item.number}
    made: list[Event] = [Started(run, {"imported": about, "settings": {"task": task}})]
    if log.format == "beam":
        made += _beam(item, reader, where)
    elif log.format == "dfs":
        made += _dfs(item.visits, where)
    else:
        births = [Birth(n + 1, n, output.strip(), Kind.COMPLETE.value) for n, output in enumerate(item.outputs)]
        made += [Expanded(1, 0, births), Marked([Mark(birth.node, Fate.KEPT.value) for birth in births])]
    return [*made, _end(made, log, item, reader, text)]


def _end(made: Sequence[Event], log: Log, item: LogItem, reader: _Reader, text: str) -> Stopped:
    tree = Tree.fold(iter(made))
    if log.format == "dfs":
        node = deepest(tree, None)  # type: ignore[arg-type]
        reason = "budget:steps" if len(item.visits) >= _STEPS else "exhausted"
    else:
        last = max((one.depth for one in tree), default=0)
        finals = sorted((one for one in tree if one.depth == last and one.fate is Fate.KEPT), key=lambda one: one.decided)
        node, reason = (finals[0] if finals else None), "max_depth"
    answer, solved = reader.answer(text, node.state if node else ())
    return Stopped(reason, None if node is None else node.birth, answer, solved, item_usage(item).to_json())


def _beam(item: LogItem, reader: _Reader, where: str) -> Iterator[Event]:
    numbers: dict[str, int] = {"": 0}
    size, step = 1, 0
    for depth, level in enumerate(item.levels):
        if unknown := [y for y in level.ys if y not in numbers]:
            raise UsageError(f"{where}, step {depth}: a state that was not selected before: {unknown[0][:60]!r}")
        births = [0] * len(level.new_ys)
        for parent, places in _families(level, f"{where}, step {depth}").items():
            born: list[Birth] = []
            for index, place in enumerate(places):
                thought = level.new_ys[place][len(parent) :].strip()
                kind = Kind.COMPLETE if reader.is_answer(thought) else Kind.OPEN
                born.append(Birth(size, index, thought, kind.value))
                births[place] = size
                size += 1
            step += 1
            yield Expanded(step, numbers[parent], born)
        step += 1
        yield Judged(step, [Judgement(birth, value) for birth, value in zip(births, reader.unit(level.values), strict=True)])
        chosen = _chosen(level, births, f"{where}, step {depth}")
        numbers = dict(reversed(list(zip(level.selected, chosen, strict=True))))
        cut = [Mark(birth, Fate.PRUNED.value, f"not among the {len(chosen)} that were selected") for birth in births if birth not in chosen]
        yield Marked([*(Mark(birth, Fate.KEPT.value) for birth in chosen), *cut])


def _families(level: Level, where: str) -> dict[str, list[int]]:
    """The places in new_ys of the children of each state, by the text of that state."""
    found: dict[str, list[int]] = {}
    parents = sorted(set(level.ys), key=len, reverse=True)
    for place, y in enumerate(level.new_ys):
        parent = next((text for text in parents if y.startswith(text)), None)
        if parent is None:
            raise UsageError(f"{where}: a new state that goes on from none of ys: {y[:60]!r}")
        found.setdefault(parent, []).append(place)
    return found


def _chosen(level: Level, births: Sequence[int], where: str) -> list[int]:
    """The births of the selected states, in the published order; of equal texts the best valued that is left."""
    ranked = sorted(range(len(births)), key=lambda place: -level.values[place])
    found: list[int] = []
    for y in level.selected:
        place = next((p for p in ranked if level.new_ys[p] == y and births[p] not in found), None)
        if place is None:
            raise UsageError(f"{where}: a selected state that is not among new_ys: {y[:60]!r}")
        found.append(births[place])
    return found


def _dfs(visits: Sequence[Visit], where: str) -> Iterator[Event]:
    numbers: dict[State, int] = {(): 0}
    children: dict[int, int] = {}
    for number, visit in enumerate(visits, 1):
        path = tuple(visit.actions)
        parent = numbers.get(path[:-1])
        if parent is None:
            raise UsageError(f"{where}, visit {number}: the state that it goes on from was not visited: {list(path[:-1])}")
        index = children[parent] = children.get(parent, -1) + 1
        numbers[path] = number
        yield Expanded(2 * number - 1, parent, [Birth(number, index, path[-1])])
        judged = visit.sure + visit.maybe + visit.impossible
        value = None if not judged else 0.0 if visit.impossible else (visit.sure + visit.maybe / 2) / judged
        said = f"{visit.sure} sure, {visit.maybe} maybe, {visit.impossible} impossible"
        yield Judged(2 * number, [Judgement(number, value, (), said)])
        fate = Fate.PRUNED if visit.impossible else Fate.KEPT
        yield Marked([Mark(number, fate.value, "a clue is impossible" if visit.impossible else "")])
