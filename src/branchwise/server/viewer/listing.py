"""What the page lists of each run, from the first and the last line of its trace. Knows no tree."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from branchwise.server.lines import first_line, key_of
from branchwise.server.runs import Runs, Trace
from branchwise.steering import Steering

__all__ = ["Listing", "summary"]

_BEGIN = b'{"run":'
_TAIL = 1 << 16
_SHOWN = 300
_MOST = 2_000
"""Runs that are listed; older ones are there for those who know their names."""
_FRESH = 60.0
"""Seconds since its last change for which a trace counts as being written, where the system does not tell who holds a lock."""


class Listing:
    """The list of runs. A trace is read again only when it has changed."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._seen: dict[str, tuple[tuple[float, int], dict[str, Any]]] = {}

    def read(self, key: str | None = None) -> list[dict[str, Any]]:
        """Newest first: `summary` of each trace, its `id`, and whether it is `live`, can be steered (`steering`), and is `paused`.

        With `key` only those that were started with it.
        """
        locked, seen, lines = _locked(), {}, []
        for trace in self._runs.listed():
            stamp = (trace.modified, trace.size)
            old = self._seen.get(trace.id)
            about = old[1] if old is not None and old[0] == stamp else summary(trace.path)
            seen[trace.id] = (stamp, about)
            told = {name: value for name, value in about.items() if name != "key"}
            if (about.get("error") != _NO_TRACE or trace.live) and key in (None, about["key"]):
                lines.append({"id": trace.id, "changed": trace.modified, "bytes": trace.size, **told, **self._state(trace, locked)})
            if len(lines) == _MOST:
                break
        self._seen = seen
        return lines

    def _state(self, trace: Trace, locked: frozenset[int] | None) -> dict[str, bool]:
        """A run of another process is seen by the lock on its trace."""
        ours = self._runs.live.get(trace.id)
        if ours is not None:
            steering: Steering | None = getattr(ours, "steering", None)
            return {"live": True, "steering": steering is not None and steering.active, "paused": steering is not None and steering.paused}
        live = False
        with suppress(OSError):
            live = trace.path.stat().st_ino in locked if locked is not None else time.time() - trace.modified < _FRESH
        return {"live": live, "steering": False, "paused": False}


_NO_TRACE = "not a trace"


def summary(trace: Path) -> dict[str, Any]:
    """Problem, task, method, model, seed, the key it was started with; and the end, if there is one: `stop`, `solved`, `answer`, `calls`,
    `cost_usd`. Never raises: a trace that cannot be read has an `error`, and every value is a text, a number or nothing.
    """
    found: dict[str, Any] = {
        "prompt": "", "task": "", "method": "", "model": "", "seed": None, "key": None, "stop": None, "solved": None, "answer": None,
    }  # fmt: skip
    try:
        first = first_line(trace)
        if not first or not first.startswith(_BEGIN):
            return found | {"error": _NO_TRACE}
        with open(trace, "rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL))
            last = file.read(_TAIL).rstrip(b"\n").rpartition(b"\n")[2]
        found |= _beginning(orjson.loads(first))
    except _BAD as error:
        return found | {"error": f"cannot be read: {error}"}
    with suppress(*_BAD):
        found |= _ending(orjson.loads(last))
    return found


_BAD = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What a file can raise that is no trace of ours."""


def _beginning(event: dict[str, Any]) -> dict[str, Any]:
    run, about = event["run"], event.get("about") or {}
    problem, method, settings = run.get("problem"), run.get("method"), about.get("settings")
    return {
        "prompt": _short(problem.get("prompt", "") if isinstance(problem, dict) else problem),
        "task": _short(settings.get("task_name", settings.get("task", "")) if isinstance(settings, dict) else ""),
        "method": _short(method.get("name", "") if isinstance(method, dict) else method),
        "model": _short(run.get("model", "")),
        "seed": _scalar(run.get("seed")),
        "key": key_of(event),
    }


def _ending(event: dict[str, Any]) -> dict[str, Any]:
    if event.get("event") != "stopped":
        return {}
    usage, answer = event.get("usage") or {}, event.get("answer")
    return {
        "stop": _short(event.get("reason", "")), "solved": _scalar(event.get("solved")), "answer": None if answer is None else _short(answer),
        "calls": _scalar(usage.get("calls")), "cost_usd": _scalar(usage.get("cost_usd")),
    }  # fmt: skip


def _short(text: Any) -> str:
    return str(text)[:_SHOWN]


def _scalar(value: Any) -> Any:
    """A number or a short text as it is; anything else, and a number that JSON does not have, is left out."""
    if isinstance(value, str):
        return _short(value)
    known = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if known else None


def _locked() -> frozenset[int] | None:
    """The inodes that somebody holds a lock on; `None` where the system does not say."""
    try:
        lines = Path("/proc/locks").read_text("ascii", "replace").splitlines()
    except OSError:
        return None
    found: set[int] = set()
    for line in lines:
        if "FLOCK" in line:
            found.update(int(part.rpartition(":")[2]) for part in line.split() if part.count(":") == 2)
    return frozenset(found)
