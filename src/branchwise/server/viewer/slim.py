"""Lines of a trace as the page reads them: long texts cut, prompts left out until they are asked for. Knows no tree and no page."""

from __future__ import annotations

from typing import Any

from branchwise.server.lines import event_of

__all__ = ["LONGEST", "slim"]

LONGEST = 4_000
"""Characters of a text that go to the page at once; the rest is fetched when somebody opens it."""

_SHORT = 400
"""The same for settings, of which there are many."""


def slim(line: bytes, at: int) -> dict[str, Any]:
    """One event, with its place in the file as `at`. A longer text becomes `{"cut": its beginning, "length": its characters}`.

    Left out: messages and log-probabilities of calls, and the wording of prompts. Raises `ValueError` for a line that is no event.
    """
    event = event_of(line)
    kind = event["event"]
    if kind == "call":
        event.pop("messages", None)
        samples = event.get("samples")
        if not isinstance(samples, list):
            raise ValueError("a call without samples")
        for sample in samples:
            if isinstance(sample, dict):
                sample.pop("logprobs", None)
    elif kind == "started":
        event = _without_wording(event)
    out: dict[str, Any] = _cut(event, LONGEST)
    out["at"] = at
    return out


def _without_wording(event: dict[str, Any]) -> dict[str, Any]:
    run = event.get("run")
    if isinstance(run, dict):
        problem = run.get("problem")
        if isinstance(problem, dict):
            problem = {key: value for key, value in problem.items() if key not in ("prompts", "rules")}
        rest = {key: _cut(value, _SHORT) for key, value in run.items() if key != "problem"}
        event = {**event, "run": {**rest, "problem": problem}}
    return event


def _cut(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else {"cut": value[:longest], "length": len(value)}
    if isinstance(value, list):
        return [_cut(item, longest) for item in value]
    if isinstance(value, dict):
        return {key: _cut(item, longest) for key, item in value.items()}
    return value
