"""A second run from the beginning of a first: its replies up to an event go into a new trace, to be gone on with. Knows no model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from branchwise.errors import TraceError, UsageError
from branchwise.model.tape import Tape
from branchwise.trace import Call, Event, Recorder, Started, Steered, is_fresh, read_trace

__all__ = ["fork"]


def fork(
    trace: Path, out: Path, *, seed: int | None = None, at: int | None = None, notice: Callable[[str], None] = lambda text: None
) -> int:
    """Write to `out` the start of the run in `trace` and its replies and acts up to event `at` (from 1, a line of the file each; `None`: all).

    `solve(resume=out)` then replays those, free of charge, and goes on from there with another budget, and with `seed` where one is given:
    the replies that were copied stay as they were. Returns how many replies were copied. Raises `TraceError`.
    """
    if at is not None and at < 1:
        raise UsageError(f"events are counted from 1, which is the start of the run; not {at}")
    if not is_fresh(out):
        raise TraceError(f"{out} exists already; name another file")
    started, calls, last = None, [], 0
    acts: list[Event] = []
    for number, event in enumerate(read_trace(trace, notice), 1):
        if at is not None and number > at:
            break
        last = number
        if isinstance(event, (Started, Steered)):
            acts.append(event)
        if isinstance(event, Started):
            started = event
        elif isinstance(event, Call):
            calls.append(event)
    if at is not None and last < at:
        raise UsageError(f"{trace} has {last} events, so it cannot be forked at event {at}")
    assert started is not None
    if seed is not None:
        settings = {**started.about.get("settings", {}), "seed": seed}
        started = replace(started, run={**started.run, "seed": seed}, about={**started.about, "settings": settings})
    recorder = Recorder(out)
    try:
        recorder.write(replace(started, about={**started.about, "forked": str(trace)}))
        for call in calls:
            recorder.write(call)
        for act in Tape.of(acts).acts:
            recorder.write(act)
    finally:
        recorder.close()
    return sum(len(call.samples) for call in calls)
