"""What must be known of exported examples: where they come from, what decided their labels, what may not be measured with them, licences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from branchwise.bench.overrides import Overridden, overridden
from branchwise.data.sets import DATASETS

__all__ = ["about", "warnings"]

_LABELS = {
    "sft": "paths that lead to a right answer, as the answer key or the rules of the task tell",
    "dpo": "siblings of which one leads on to a right answer and the other does not, as the answer key, exhaustive search or the rules tell",
    "prm": "whether each step leads on to a right answer, as exhaustive search or the solution tells, or by the right answers found below it",
}


def about(
    form: str, rows: int, items: Mapping[str, set[str]], models: set[str], manifest: Mapping[str, Any], by: str = "", keyless: bool = False
) -> dict[str, Any]:  # fmt: skip
    """The document that is written beside the examples. `by` says what decided, where that is not the truth; `keyless`: no key was used."""
    replaced = [] if keyless else [one for one in overridden(manifest) if one.item in items.get(one.task, ())]
    return {
        "format": form, "rows": rows, "labels": by or _LABELS[form], "items": {task: sorted(ids) for task, ids in sorted(items.items())},
        "overridden": [{"task": one.task, "item": one.item, "reason": one.reason} for one in replaced],
        "models": sorted(models), "warnings": [*warnings(items, models, keyless=keyless), *_replaced(replaced)],
        "licences": {task: _licence(task, manifest) for task in sorted(items)},
        "run": {name: manifest[name] for name in ("settings_hash", "data", "prompts", "versions") if name in manifest},
    }  # fmt: skip


def warnings(items: Mapping[str, set[str]], models: set[str], *, keyless: bool = False) -> list[str]:
    """What whoever trains on the examples has to mind."""
    count = sum(map(len, items.values()))
    said = [] if keyless else [
        f"the answer key decided what is right: a model trained on these must not be measured on these {count} items ({', '.join(sorted(items))})",
        "no text of an answer key is in the examples: completions are a model's own words, or its steps as a program puts them together",
    ]  # fmt: skip
    who = ", ".join(sorted(models)) or "a model"
    said.append("prompts hold the inputs of the items, under the licence of their set")
    return [*said, f"completions are outputs of {who}, whose terms may limit what they train"]


def _replaced(golds: Sequence[Overridden]) -> list[str]:
    """Whose golds they were, where a user's own decided. The golds stay in the run's folder: no answer key is written beside examples."""
    if not golds:
        return []
    named = ", ".join(f"{one.task} {one.item}" for one in golds[:5]) + (f" and {len(golds) - 5} more" if len(golds) > 5 else "")
    return [f"golds that replaced those of the data decided what is right for {named}"]


def _licence(task: str, manifest: Mapping[str, Any]) -> str:
    source = str(manifest.get("data", {}).get(task, {}).get("source", ""))
    entry = DATASETS.get(task)
    if source.startswith("our own list"):
        return "our own list: Apache-2.0, as this program"
    return "see where the inputs come from" if entry is None else f"{entry.licence} ({entry.repository})"
