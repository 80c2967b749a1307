"""Grading of outputs made elsewhere: a row an output, and the shares over items. A broken line is a failed row, never a crash.

Knows no terminal. mean@k, pass@k and majority@k are three different numbers, and each is named.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from branchwise.bench.golds import LONG_GOLD, gold_of_text
from branchwise.bench.grading.verdicts import Checker, Gold, Graded, Unknown, Verdict
from branchwise.tasks.base import Item

__all__ = ["Key", "Report", "Row", "grade"]


@dataclass(frozen=True, slots=True)
class Key:
    """What a task's outputs are graded with: its items in order, and the golds by id. `source` names where they are from."""

    items: Sequence[Item]
    golds: Mapping[str, Gold]
    source: str = ""
    fields: tuple[str, ...] = ("gold",)
    """The fields of a line that can hold the gold, the first that is there."""
    inputs: bool = False
    """The golds are inputs of several lines, and so long by nature."""


@dataclass(frozen=True, slots=True)
class Row:
    """The verdict on one output. `sample` counts the outputs of an item from 1."""

    id: str
    sample: int
    verdict: Verdict
    extracted: str | None
    gold: str | None
    reason: str = ""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """As in `Graded`; and the marks of a judge, where one was asked."""

    def to_json(self) -> dict[str, Any]:
        """One object."""
        names = ("sample", "extracted", "gold", "reason")
        shown: dict[str, Any] = {"id": self.id, "verdict": self.verdict.value} | {name: getattr(self, name) for name in names}
        return shown | ({"scores": dict(self.scores)} if self.scores else {})


@dataclass(slots=True)
class Report:
    """All rows, and what they add up to."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    source: str = ""

    def summary(self) -> dict[str, Any]:
        """Counts over outputs, and shares over items; items without a readable gold are in no share, failed ones count as not correct.

        `mean_at_k`: mean share of correct outputs; `pass_at_k`: any output correct; `majority_at_k`: the most frequent normalised answer
        correct (equal counts go to the one that came first; outputs without an answer do not vote). `None` where there is no item.
        """
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.id, []).append(row)
        valid = [rows for rows in groups.values() if all(row.verdict is not Verdict.INVALID_GOLD for row in rows)]
        counts = Counter(row.verdict for row in self.rows)
        sizes = {len(rows) for rows in groups.values()}
        n = len(valid)

        def share(values: Iterable[float]) -> float | None:
            return sum(values) / n if n else None

        return {
            "items": len(groups),
            "outputs": len(self.rows),
            **{verdict.value: counts[verdict] for verdict in Verdict},
            "k": sizes.pop() if len(sizes) == 1 else None,
            "mean_at_k": share(sum(map(_right, rows)) / len(rows) for rows in valid),
            "pass_at_k": share(float(any(map(_right, rows))) for rows in valid),
            "majority_at_k": share(float(_majority(rows)) for rows in valid),
            **_scores(valid),
            "data": self.source,
        }


def _scores(groups: Sequence[Sequence[Row]]) -> dict[str, float]:
    """Every score that is a number: the mean over items of the mean over an item's outputs that have it."""
    numbers = (int, float)
    names = {name: None for rows in groups for row in rows for name, value in row.scores.items() if isinstance(value, numbers)}
    found: dict[str, float] = {}
    for name in names:
        values = [[row.scores[name] for row in rows if isinstance(row.scores.get(name), numbers)] for rows in groups]
        means = [sum(each) / len(each) for each in values if each]
        found[name] = sum(means) / len(means)
    return found


def _right(row: Row) -> bool:
    return row.verdict is Verdict.CORRECT


def _majority(rows: Sequence[Row]) -> bool:
    votes = Counter(row.extracted for row in rows if row.extracted is not None)
    if not votes:
        return False
    chosen = max(votes, key=lambda answer: votes[answer])
    return any(_right(row) for row in rows if row.extracted == chosen)


def grade(lines: Iterable[str], checker: Checker, key: Key, overrides: Mapping[str, Gold] | None = None) -> Report:
    """Grade lines such as `{"id": "7", "output": "..."}`. `overrides` replace golds by id, each with its reason as a note.

    An item is named by "id", or by "index": its place in the list, counted from 1, or from 0 if some line has the index 0. A line may hold
    "outputs", a list, and its own "gold". Lines of one id are samples of one item. Rows of `solve --out` are graded by their answers.
    """
    parsed = [_parsed(line) for line in lines if line.strip()]
    parsed = [entry for entry in parsed if not _is_header(entry)]
    zero = any(isinstance(entry, dict) and entry.get("index") == 0 and not isinstance(entry.get("index"), bool) for entry in parsed)
    grader = _Grader(checker, key, dict(overrides or {}), 0 if zero else 1)
    if zero:
        grader.report.notes.append("an index is 0: indexes are counted from 0")
    for number, entry in enumerate(parsed, 1):
        grader.line(number, entry)
    grader.warn_of_long_golds()
    return grader.report


def _parsed(line: str) -> Any:
    """A line's object; the error where it has none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return data if isinstance(data, dict) else "not an object"


def _is_header(entry: Any) -> bool:
    """Whether a line is the header of a results file of `solve`."""
    return isinstance(entry, dict) and "settings" in entry and not {"id", "index", "output", "outputs"} & set(entry)


class _Grader:
    def __init__(self, checker: Checker, key: Key, overrides: dict[str, Gold], first: int) -> None:
        self.checker, self.key, self.overrides, self.first = checker, key, overrides, first
        self.prompts = {item.id: item.input for item in key.items}
        self.report = Report(source=key.source)
        self.taken: Counter[str] = Counter()
        self.lengths: list[int] = []
        self.told: set[str] = set()

    def line(self, number: int, entry: Any) -> None:
        """Rows for every output of one line."""
        if isinstance(entry, str):
            return self.add(Row(f"line {number}", 1, Verdict.FAILED, None, None, entry))
        try:
            name, gold = self.item(entry, number)
            outputs = self.outputs(entry)
        except LookupError as error:
            named = entry.get("id")
            return self.add(Row(str(named) if named is not None else f"line {number}", 1, Verdict.FAILED, None, None, str(error.args[0])))
        for output in outputs:
            self.one(name, gold, output)
        return None

    def item(self, entry: Mapping[str, Any], number: int) -> tuple[str, Gold | None]:
        """The item's id and its gold. Raises `LookupError` with what is wrong."""
        name = entry.get("id")
        own = next((entry[field] for field in self.key.fields if field in entry), None)
        if name is None and (index := entry.get("index")) is not None:
            place = index if isinstance(index, int) and not isinstance(index, bool) else None
            if place is None and isinstance(index, str) and index.strip().isdigit():
                place = int(index)
            if place is None:
                raise LookupError(f"the index {index!r} is no whole number")
            if self.first <= place < self.first + len(self.key.items):
                name = self.key.items[place - self.first].id
            elif own is not None:
                name = str(place)
            else:
                raise LookupError(f"no item with the index {place}: there are {len(self.key.items)}, counted from {self.first}")
        if name is None and own is not None:
            name = f"line {number}"
        if name is None:
            raise LookupError('no "id" and no "index"')
        name = str(name)
        if name in self.overrides:
            return name, self.overrides[name]
        if own is not None or "gold" in entry:
            return name, _own_gold(own) if not self.key.inputs else _own_input(own)
        found = self.key.golds.get(name)
        if found is None:
            raise LookupError(f"no item with the id {name!r} in {self.key.source or 'the data'}, and no gold in the line")
        return name, found

    def outputs(self, entry: Mapping[str, Any]) -> list[Any]:
        if "outputs" in entry:
            found = entry["outputs"]
            if not isinstance(found, list) or not found:
                raise LookupError('"outputs" is no list with something in it')
            return found
        if "output" in entry:
            return [entry["output"]]
        if "answer" not in entry:
            raise LookupError('no "output" and no "outputs"')
        if entry.get("stop_reason") == "failed":
            raise LookupError(f"the run of this item failed: {entry.get('error')}")
        return ["" if entry["answer"] is None else f"Answer: {entry['answer']}"]

    def one(self, name: str, gold: Gold | None, output: Any) -> None:
        """One row."""
        self.taken[name] += 1
        place, shown = self.taken[name], gold.text if gold is not None else None
        reason = "no text" if gold is None else self.checker.invalid(gold)
        if gold is None or reason:
            return self.add(Row(name, place, Verdict.INVALID_GOLD, None, shown, f"the gold cannot be read: {reason}"))
        self.lengths.append(len(gold.text))
        if gold.note and name not in self.told:
            self.told.add(name)
            self.report.notes.append(f"{name}: the gold is {gold.note}")
        if not isinstance(output, str):
            return self.add(Row(name, place, Verdict.FAILED, None, shown, f"the output is no text, but {type(output).__name__}"))
        try:
            found = self.checker.grade(output, gold, self.prompts.get(name, ""))
        except Unknown as error:
            found = Graded(Verdict.FAILED, None, str(error))
        except (RecursionError, ValueError, ArithmeticError, MemoryError) as error:
            found = Graded(Verdict.FAILED, None, f"{type(error).__name__} while it was graded: {error}")
        return self.add(Row(name, place, found.verdict, found.extracted, shown, found.reason, found.scores))

    def add(self, row: Row) -> None:
        self.report.rows.append(row)

    def warn_of_long_golds(self) -> None:
        if not self.key.inputs and self.lengths and min(self.lengths) > LONG_GOLD:
            self.report.notes.append(f"every gold is longer than {LONG_GOLD} characters: are these solutions, and no answers?")


def _own_gold(value: Any) -> Gold | None:
    """The gold of a line: text, number, yes or no, or a list of answers."""
    if isinstance(value, bool):
        return Gold("yes" if value else "no")
    if isinstance(value, (int, float)):
        return Gold(repr(value).removesuffix(".0"))
    if isinstance(value, list) and value and all(isinstance(part, (str, int, float)) for part in value):
        return Gold(", ".join(map(str, value)), listing=True)
    return gold_of_text(value) if isinstance(value, str) else None


def _own_input(value: Any) -> Gold | None:
    """An input as the gold of a line: a text, or the list of its lines."""
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return Gold("\n".join(value))
    return Gold(value) if isinstance(value, str) else None
