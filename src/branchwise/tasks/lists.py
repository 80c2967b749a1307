"""The inputs of a task: our own small list beside its code, or a public set from a file or folder. Knows no answer key."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from pathlib import Path

from branchwise.data.inputs import inputs
from branchwise.data.sets import DATASETS
from branchwise.errors import UsageError
from branchwise.tasks.base import Item

__all__ = ["listed", "own"]


@lru_cache(maxsize=16)
def own(package: str) -> tuple[Item, ...]:
    """The items of `items.jsonl` beside a task's code."""
    text = (resources.files(package) / "items.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return tuple(Item(id=row["id"], input=row["input"]) for row in rows)


def listed(name: str, package: str, data: Path | None) -> list[Item]:
    """Our own items for `None`; else those of the public set `name` in the file or folder `data`. Raises `UsageError`."""
    if data is None:
        return list(own(package))
    path = DATASETS[name].path_in(data) if data.is_dir() else data
    if path is None:
        wanted = ", ".join(DATASETS[name].places)
        raise UsageError(f"{data} does not hold the data of {name}: looked for {wanted}; get it with: branchwise data pull {name}")
    return [Item(id=row.id, input=row.input) for row in inputs(name, path)]
