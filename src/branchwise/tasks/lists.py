"""The inputs of a task: our own small list beside its code, or a public set from a file. Knows no answer key."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from pathlib import Path

from branchwise.data.inputs import inputs
from branchwise.tasks.base import Item

__all__ = ["listed", "own"]


@lru_cache(maxsize=16)
def own(package: str) -> tuple[Item, ...]:
    """The items of `items.jsonl` beside a task's code."""
    text = (resources.files(package) / "items.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return tuple(Item(id=row["id"], input=row["input"]) for row in rows)


def listed(name: str, package: str, data: Path | None) -> list[Item]:
    """Our own items for `None`; else those of the public set `name` in the file `data`. Raises `UsageError`."""
    if data is None:
        return list(own(package))
    return [Item(id=row.id, input=row.input) for row in inputs(name, data)]
