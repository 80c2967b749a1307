"""The inputs of public sets: what a task may see of a row. No answer and no solution ever leaves this module."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.data.raw import Raw, rows, strip_debris
from branchwise.errors import UsageError

__all__ = ["Input", "inputs"]


@dataclass(frozen=True, slots=True)
class Input:
    """The text of one item, and its id."""

    id: str
    input: str


_FIELDS = ("question", "problem", "input", "Question")


def inputs(name: str, path: Path) -> list[Input]:
    """The inputs of the set `name` in `path`. Raises `UsageError` for a row without one."""
    return [Input(row.id, _text(name, row, path)) for row in rows(path)]


def _text(name: str, row: Raw, path: Path) -> str:
    if name == "svamp":
        text = _story(_field(row, "Body"), _field(row, "Question"))
    else:
        text = next((found for field in _FIELDS if (found := _field(row, field))), "")
        if context := _field(row, "context"):
            text = f"{context}\n\n{text}"
    text = strip_debris(text)
    if not text:
        raise UsageError(f"{path}, item {row.place} ({row.id}): no text in any of {', '.join(_FIELDS)}")
    return text


def _field(row: Raw, name: str) -> str:
    value: Any = row.fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def _story(body: str, question: str) -> str:
    """Body and question as one text: the body's last sentence may be the "If" of the question."""
    if not body or body.endswith((".", "!", "?", ",")):
        return f"{body} {question}".strip()
    if re.search(r"(?:^|[.!?]\s+)If\b[^.!?]*$", body):
        return f"{body}, {question[:1].lower()}{question[1:]}"
    return f"{body}. {question}"
