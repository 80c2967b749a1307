"""A small trace, and what the page's stream says of one. Knows no test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2

from support.browsing import birth, call, expanded, record, started


def trace(path: Path, *more: dict[str, Any]) -> Path:
    """One call and one thought, and `more`."""
    return record(path, [started("Why?"), call("", "generate", "a", prompt="secret prompt " * 50), expanded(0, [birth(1, 0, "a")]), *more])


def streamed(reply: httpx2.Response) -> list[dict[str, Any]]:
    """The lines of a stream."""
    return [json.loads(line) for line in reply.text.splitlines()]
