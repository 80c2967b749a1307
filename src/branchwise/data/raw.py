r"""Rows of a public file as they are, with an id each. JSON lines or one JSON list; Odyssey's `{"Problem_k": {...}}` lines unwrapped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.errors import UsageError

__all__ = ["Raw", "rows", "strip_debris"]

_IDS = ("unique_id", "qid", "ID", "id")


@dataclass(frozen=True, slots=True)
class Raw:
    """One row: its id, its place counted from 1, and its fields."""

    id: str
    place: int
    fields: dict[str, Any]


def rows(path: Path) -> list[Raw]:
    """The rows of a file. The id is the row's own, or else its place. Raises `UsageError` with the line that cannot be read."""
    found: list[Raw] = []
    seen: set[str] = set()
    for place, data in enumerate(_entries(path), 1):
        name, fields = _unwrapped(data)
        if not isinstance(fields, dict):
            raise UsageError(f"{path}, item {place}: not an object of fields, but {type(fields).__name__}")
        name = name or next((str(fields[key]) for key in _IDS if fields.get(key) is not None), str(place))
        if name in seen:
            name = f"{name}#{place}"
        seen.add(name)
        found.append(Raw(name, place, fields))
    if not found:
        raise UsageError(f"{path} holds no items")
    return found


def _unwrapped(data: Any) -> tuple[str, Any]:
    """Id and fields of an entry such as `{"Problem_7": {...}}`; any other has no id yet."""
    if isinstance(data, dict) and len(data) == 1:
        ((name, fields),) = data.items()
        if isinstance(fields, dict):
            return str(name), fields
    return "", data


def _entries(path: Path) -> Iterator[Any]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    if text.lstrip().startswith("["):
        try:
            yield from json.loads(text)
        except ValueError as error:
            raise UsageError(f"{path} is not JSON: {error}") from None
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise UsageError(f"{path}, line {number}: not JSON ({error})") from None


def strip_debris(text: str) -> str:
    r"""`text` without what a LaTeX page left behind: `\end{problem}`, `\noindent`, closing `\\`."""
    for left in ("\\end{problem}", "\\begin{problem}", "\\noindent"):
        text = text.replace(left, "")
    text = text.strip()
    while text.endswith("\\\\"):
        text = text[:-2].rstrip()
    return text
