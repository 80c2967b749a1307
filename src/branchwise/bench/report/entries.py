"""What the labels of a run stand for: a preset, its settings with every default filled in, and models by role. Knows no row and no score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from branchwise.bench.protocol import Entry, usual_shots
from branchwise.methods import METHODS
from branchwise.tasks import TASKS

__all__ = ["PLAIN", "Meanings", "Meant", "entry_meant", "meanings", "meant_by"]

PLAIN = ("cot", "io")
"""What a plain baseline is, by its preset: one chain, else one answer."""


@dataclass(frozen=True, slots=True)
class Meant:
    """One method of a run. `settings` is `None` where nothing recorded them: an imported log, a folder of `solve --out`."""

    method: str
    """The preset."""
    settings: Mapping[str, Any] | None
    models: Mapping[str, str] = field(default_factory=dict)
    """By role, where the method names its own."""

    @property
    def plain(self) -> bool:
        """Whether it is one prompt and its answer, without any search or vote."""
        return self.method in PLAIN

    @property
    def one_model(self) -> bool:
        """Whether the same model makes all calls."""
        return not self.models or ("generate" in self.models and len(set(self.models.values())) == 1)


Meanings = Mapping[tuple[str, str], Meant]
"""By task and label."""


def meanings(manifest: Mapping[str, Any]) -> Meanings:
    """Those of a run's `bench.json`; none of a folder that has none."""
    spec = manifest.get("spec")
    by_task = spec.get("methods") if isinstance(spec, dict) else None
    if not isinstance(by_task, dict):
        return {}
    return {
        (task, str(row.get("label", ""))): _row_meant(task, row)
        for task, rows in by_task.items()
        for row in rows
        if isinstance(row, dict)
    }  # fmt: skip


def meant_by(found: Meanings, task: str, label: str) -> Meant:
    """What a label stands for; where no file says it, the preset of that name, with settings that nobody recorded."""
    return found.get((task, label)) or Meant(label.casefold(), None)


def entry_meant(task: str, entry: Entry) -> Meant:
    """A method of a protocol."""
    shots = {} if entry.shots is None else {"shots": entry.shots}
    return Meant(entry.method, _filled(task, entry.method, {**entry.settings, **shots}), entry.models)


def _row_meant(task: str, row: Mapping[str, Any]) -> Meant:
    method = str(row.get("method", row.get("label", "")))
    return Meant(method, _filled(task, method, row.get("settings") or {}), row.get("models") or {})


def _filled(task: str, method: str, stated: Mapping[str, Any]) -> dict[str, Any]:
    """`stated` on top of the task's own settings and the preset's defaults. The task's usual number of examples is written as a number."""
    found = TASKS.get(task)
    preset = METHODS.get(method)
    own = {} if found is None else found.settings.get(method, {})
    full = {**({} if preset is None else preset.settings), **own, **stated}
    return {**full, "shots": usual_shots(task, method)} if full.get("shots", 0) is None else full
