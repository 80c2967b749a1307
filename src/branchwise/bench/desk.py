"""The run folder of a bench: its manifest, its rows, and what is still to do. One process at a time; calls no model.

The manifest is written before the first unit, and what shapes a row must not change afterwards: a folder never holds rows of two experiments.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from branchwise.bench.book import Book, Sum, booked, earlier
from branchwise.bench.grid import Grid, Unit
from branchwise.bench.purse import Purse
from branchwise.bench.rows import MANIFEST, ROWS, TRACES, Row, RowFile, read_manifest
from branchwise.budget import Budget
from branchwise.errors import BranchwiseError, UsageError
from branchwise.result import versions

__all__ = ["Desk"]


class Desk:
    """The folder, open for one bench: `with Desk(grid, folder) as desk:`.

    Raises `UsageError` where the folder was made with other settings, or holds rows that are not in `grid`: `force` sets those rows aside and
    takes the new settings. `retry_failed` sets failed rows aside, so that their units are run again.
    """

    def __init__(
        self, grid: Grid, folder: Path, *, command: str = "", servers: Mapping[str, Sequence[str]] | None = None, force: bool = False,
        retry_failed: bool = False, notice: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.grid, self.folder, self.notice = grid, folder, notice
        self._command, self._servers, self._force, self._retry = command, dict(servers or {}), force, retry_failed
        self.manifest: dict[str, Any] = grid.manifest()
        self._rows = RowFile(folder, notice)
        self._known = {unit.id for unit in grid.units}
        self._book: Book | None = None

    def __enter__(self) -> Desk:
        self._rows.__enter__()
        try:
            self._begin()
        except BaseException:
            self._rows.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self._close_book()
        self._rows.__exit__(*exc)

    def _close_book(self) -> None:
        if self._book is not None:
            self._book.close()
            self._book = None

    @property
    def done(self) -> Mapping[str, Row]:
        """Rows by unit."""
        return self._rows.done

    @property
    def todo(self) -> list[Unit]:
        """Units without a row, in the order of the grid."""
        return [unit for unit in self.grid.units if unit.id not in self._rows.done]

    def append(self, row: Row) -> bool:
        """Add a row; false where its unit has one."""
        return self._rows.append(row)

    def amount(self, unit: Unit) -> float | None:
        """The equal budget of a unit; `None` where there is none, or it is not known yet."""
        equal = self.manifest["equal"]
        if equal is None:
            return None
        given = equal["amount"]
        found = given if given is not None else equal["amounts"].get(unit.task, {}).get(unit.route.label)
        return None if found is None else float(found)

    def set_amount(self, task: str, model: str, amount: float) -> None:
        """Keep an amount that was taken from first runs."""
        self.manifest["equal"]["amounts"].setdefault(task, {})[model] = amount
        self._write()

    def spent(self) -> Sum:
        """What all sessions paid, whatever became of its rows and traces; a request whose end is not known counts with its worst case."""
        return booked(self.folder) or Sum()

    def purse(self, limits: Budget, *, calls_per_minute: float | None = None, tokens_per_minute: float | None = None) -> Purse:
        """The purse of this folder: what earlier sessions paid counts, and later ones will know what this one pays."""
        self._close_book()
        self._book = Book(self.folder)
        return Purse(limits, book=self._book, calls_per_minute=calls_per_minute, tokens_per_minute=tokens_per_minute)

    def counts(self) -> Counter[str]:
        """Rows by verdict, and `missing`."""
        found = Counter(row.verdict for row in self.done.values() if row.unit in self._known)
        found["missing"] = len(self.todo)
        return found

    def _begin(self) -> None:
        old = self._old()
        stale = [row for row in self.done.values() if row.unit not in self._known]
        if old is not None and not self._force:
            _agree(old, self.manifest, self.folder)
        if stale and not self._force:
            row = stale[0]
            raise UsageError(
                f"{self.folder} has rows of {len(stale)} units that this command does not name (such as {row.task} item {row.item}, "
                f"{row.method}, {row.model}, seed {row.seed}): name them too, or another folder with --out, or --force to set them aside"
            )
        if booked(self.folder) is None:  # new, or of a version that kept no book
            Book(self.folder, earlier(self.folder, self.done)).close()
        again = [row for row in self.done.values() if self._retry and row.status == "failed"]
        if stale or again:
            self._set_aside({row.unit for row in (*stale, *again)})
        if old is not None:
            self.manifest["started"] = old.get("started")
            self.manifest["commands"] = old.get("commands", [])
            if old.get("equal") and self.manifest["equal"] and old["equal"]["by"] == self.manifest["equal"]["by"]:
                self.manifest["equal"]["amounts"] = self._amounts(old["equal"].get("amounts", {}))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.manifest.setdefault("started", now)
        self.manifest["servers"] = self._servers
        self.manifest["versions"] = dict(versions())
        self.manifest.setdefault("commands", []).append({"command": self._command, "at": now, "versions": dict(versions())})
        self._write()

    def _amounts(self, old: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """The amounts that were found before; where settings were forced, only those that rows stay for."""
        used = {(row.task, row.model) for row in self.done.values()}
        return {
            task: {model: amount for model, amount in found.items() if not self._force or (task, model) in used} for task, found in old.items()
        }

    def _old(self) -> dict[str, Any] | None:
        if (self.folder / MANIFEST).exists():
            return read_manifest(self.folder)
        if self.done and not self._force:
            raise UsageError(f"{self.folder} has rows, but no {MANIFEST} to say what they are of; name another folder, or --force to go on")
        return None

    def _write(self) -> None:
        """Whole or not at all."""
        path = self.folder / MANIFEST
        part = path.with_suffix(".part")
        try:
            with open(part, "wb") as file:
                file.write(orjson.dumps(self.manifest, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except OSError as error:
            raise BranchwiseError(f"cannot write {path}: {error.strerror}") from error

    def _set_aside(self, units: set[str]) -> None:
        """Keep the file as it is beside a new one without the rows of `units`, and their traces under another name."""
        path = self.folder / ROWS
        number = next(n for n in range(1, 1 << 30) if not (self.folder / f"{ROWS}.{n}.old").exists())
        kept = [row for row in self.done.values() if row.unit not in units]
        shutil.copyfile(path, self.folder / f"{ROWS}.{number}.old")
        part = path.with_suffix(".part")
        with open(part, "wb") as file:
            for row in kept:
                file.write(orjson.dumps(row.to_json(), option=orjson.OPT_APPEND_NEWLINE))
            file.flush()
            os.fsync(file.fileno())
        for trace in sorted((self.folder / TRACES).glob("*.jsonl")):
            if trace.name.split(".")[0] in units:
                os.replace(trace, trace.with_suffix(f".{number}.old"))
        self._rows.__exit__()
        os.replace(part, path)
        self._rows.__enter__()
        self.notice(f"{len(units)} rows are set aside in {ROWS}.{number}.old")


def _agree(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    """Refuse another setting under a name that the folder knows; more tasks, methods, models, items and seeds may come."""

    def same(what: str, before: Any, now: Any) -> None:
        if before != now:
            raise UsageError(
                f"{folder} was made with another {what} ({_short(before)}, now {_short(now)}); go on with the same settings, name another "
                "folder with --out, or take the new ones with --force (rows that they change are set aside)"
            )

    for name in ("budget", "temperature", "max_tokens"):
        same(name.replace("_", " "), old["spec"].get(name), new["spec"].get(name))
    before, now = old["spec"].get("model_names", {}), new["spec"]["model_names"]
    for label in set(before) & set(now):
        same(f"model under the name {label}", before[label], now[label])
    for task in set(old["data"]) & set(new["data"]):
        same(f"data of {task}", old["data"][task].get("sha256"), new["data"][task]["sha256"])
        same(f"wording of the prompts of {task}", old["prompts"].get(task), new["prompts"][task])
        golds, others = (one.get("overrides", {}).get(task, {}) for one in (old, new))
        for item in set(golds) & set(others):
            same(f"gold of {task} item {item}", golds[item]["gold"], others[item]["gold"])
        methods = {entry["label"]: entry for entry in old["spec"]["methods"].get(task, [])}
        for entry in new["spec"]["methods"][task]:
            same(f"method {entry['label']} of {task}", methods.get(entry["label"], entry), entry)
    limits = [None if equal is None else (equal["by"], equal["amount"]) for equal in (old.get("equal"), new["equal"])]
    same("equal budget", *limits)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 160 else text[:157] + "..."
