"""What is on the tape of a trace. Knows no test."""

from __future__ import annotations

from pathlib import Path

from branchwise import read_trace
from branchwise.model.base import CallId
from branchwise.trace import Call


def samples_of(path: Path) -> set[tuple[str, int]]:
    """Samples on the tape of a trace, as the model logs them."""
    found = set()
    for event in read_trace(path):
        if isinstance(event, Call):
            where = str(CallId(event.node, event.occurrence, event.role, event.digest, event.repeat))
            found |= {(where, event.first + i) for i in range(len(event.samples))}
    return found
