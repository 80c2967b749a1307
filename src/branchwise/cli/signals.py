"""Ctrl-C: the first one ends the run and keeps what it has, the second one ends the process. Knows no run."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from branchwise.cli.faults import INTERRUPTED

__all__ = ["interruptible"]


@contextlib.contextmanager
def interruptible(stop: Callable[[], None], doing: Callable[[], str] = lambda: "saving") -> Iterator[None]:
    """While the body runs, SIGINT and SIGTERM call `stop` once; the next one leaves at once (the trace is written line by line).

    `doing` says what is done until the end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(INTERRUPTED)
        asked = True
        said = f"interrupted: {doing()}"
        os.write(2, (f"\n{said}; once more to leave at once\n" if sys.stderr.isatty() else f"{said}\n").encode())
        stop()

    old = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
