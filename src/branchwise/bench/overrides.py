"""Golds that a user put in place of those of the data, each with a reason: how a manifest keeps them. Reads no answer key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from branchwise.bench.golds import gold_of_text
from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.rows import MANIFEST
from branchwise.errors import UsageError

__all__ = ["Overridden", "check_overrides", "golds_of", "golds_to_json", "other_golds", "overridden", "override"]

_NOTE = "overridden: "
_BY_RULES = ("game24", "crosswords", "writing")
"""Tasks that are marked by their rules or a whole solution: a gold in a line would change nothing."""
_NAMED = 5
"""Items that a sentence names."""


@dataclass(frozen=True, slots=True)
class Overridden:
    """A gold that replaced that of the data in a run."""

    task: str
    item: str
    gold: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """One object."""
        return {"task": self.task, "item": self.item, "gold": self.gold, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.task}, {self.item}: {self.gold} ({self.reason})"


def override(gold: str, reason: str) -> Gold:
    """A gold that replaces that of the data, with the reason."""
    return Gold(gold_of_text(gold).text, note=_NOTE + reason)


def check_overrides(task: str, ids: Collection[str], golds: Mapping[str, Any]) -> None:
    """Refuse what would have no effect: an id that the list of the task does not have, and a task without golds. Raises `UsageError`."""
    if golds and task in _BY_RULES:
        raise UsageError(f"task {task} is marked by its rules or its solutions, not by golds in a line: they cannot be overridden")
    for item in golds:
        if item not in ids:
            raise UsageError(f"the override of {task} item {item!r} would have no effect: ids are such as {next(iter(ids), '')!r}")


def golds_to_json(golds: Mapping[str, Mapping[str, Gold]], items: Iterable[tuple[str, str]]) -> dict[str, dict[str, dict[str, str]]]:
    """What the manifest keeps of the golds that replace those of `items` (task and id): gold and reason, by task and id."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for task, item in items:
        if (gold := golds.get(task, {}).get(item)) is not None:
            found.setdefault(task, {})[item] = {"gold": gold.text, "reason": gold.note.removeprefix(_NOTE)}
    return found


def overridden(manifest: Mapping[str, Any]) -> list[Overridden]:
    """The golds that a run replaced, by task and id; none in a manifest of an earlier version. Raises `UsageError` for one that is broken."""
    try:
        lines = [(task, item, one) for task, golds in manifest.get("overrides", {}).items() for item, one in golds.items()]
        return sorted((Overridden(task, item, one["gold"], one["reason"]) for task, item, one in lines), key=lambda one: (one.task, one.item))
    except (AttributeError, KeyError, TypeError):
        raise UsageError(f"the overrides in {MANIFEST} are broken: each has a gold and a reason, by task and id") from None


def golds_of(manifest: Mapping[str, Any]) -> dict[str, dict[str, Gold]]:
    """The golds that a run replaced, by task and id. Raises `UsageError`."""
    found: dict[str, dict[str, Gold]] = {}
    for one in overridden(manifest):
        found.setdefault(one.task, {})[one.item] = Gold(one.gold, note=_NOTE + one.reason)
    return found


def other_golds(first: Mapping[str, Any], second: Mapping[str, Any], task: str, items: Collection[str]) -> str:
    """Which of `items` were not marked with the same gold in two runs, in words; empty where all were. Raises `UsageError`."""
    a, b = ({item: gold.text for item, gold in golds_of(manifest).get(task, {}).items() if item in items} for manifest in (first, second))
    differing = sorted(item for item in {*a, *b} if a.get(item) != b.get(item))
    if not differing:
        return ""
    more = f" and {len(differing) - _NAMED:,} more" if len(differing) > _NAMED else ""
    return f"the golds of {task} are not the same (overridden in one run only, or otherwise: {', '.join(differing[:_NAMED])}{more})"
