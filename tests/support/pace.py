"""Limits in seconds that hold on any machine: what looks too slow is measured against how slow the machine is just then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["slowness", "within"]

NORMAL = 0.05
"""Seconds of processor for a million additions on a machine of which limits are told: two cores of a server of 2024."""


def slowness() -> float:
    """How many times longer than there a million additions take here and now; at least 1.

    A machine that is slow is so by turns, and not alike for all that it does: where it is, limits are half as large again.
    """
    took = []
    for _ in range(3):
        began, total = time.process_time(), 0
        for i in range(1_000_000):
            total += i
        took.append(time.process_time() - began)
    slow = sorted(took)[1] / NORMAL
    return max(1.0, slow if slow < 1.3 else 1.5 * slow)


@contextmanager
def within(seconds: float, what: object = "") -> Iterator[None]:
    """What is done inside takes less than so many seconds of processor, on a machine of that kind."""
    began = time.process_time()
    yield
    spent = time.process_time() - began
    if spent >= seconds:
        slow = slowness()
        assert spent / slow < seconds, f"{what} took {spent:.1f} s of processor on a machine {slow:.1f} times as slow"
