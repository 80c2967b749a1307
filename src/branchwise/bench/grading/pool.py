"""The guarded worker of the mathematical checker: one process, killed and replaced when an answer takes longer than a second."""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import sys
import time
from types import TracebackType
from typing import Any

from branchwise.bench.grading.verdicts import Unknown
from branchwise.errors import UsageError, install

__all__ = ["SECONDS", "Worker"]

SECONDS = 1.0
"""How long one comparison may take."""
_START = 60.0


class Worker:
    """Compares two formulas in another process. Not for use by several threads at once."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._ready = False
        self._known: dict[tuple[str, str], bool] = {}

    def equal(self, gold: str, pred: str) -> bool:
        """Whether two formulas in LaTeX are equal. Raises `Unknown` at the limit of time or memory, and `UsageError` without math-verify."""
        pair = (gold, pred)
        if pair not in self._known:
            self._known[pair] = self._ask(gold, pred)
        return self._known[pair]

    def _ask(self, gold: str, pred: str) -> bool:
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"gold": gold, "pred": pred}) + "\n")
            process.stdin.flush()
            line = self._line(self.seconds)
        except (BrokenPipeError, EOFError):
            self.close()
            raise Unknown("unknown (limit): the comparison ended its process") from None
        if line is None:
            self.close()
            self._start()
            raise Unknown(f"unknown (limit): not compared within {self.seconds:g} s")
        told: dict[str, Any] = json.loads(line)
        if "limit" in told:
            raise Unknown(f"unknown (limit): {told['limit']}")
        return bool(told["equal"])

    def _running(self) -> subprocess.Popen[str]:
        """The process, started where it is not there; its start is not counted."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        if not self._ready:
            try:
                line = self._line(_START)
            except EOFError:
                line = None
            if line != "ready":
                self.close()
                raise UsageError(f"grading mathematics needs math-verify; install it with: {install('math')}")
            self._ready = True
        assert self._process is not None
        return self._process

    def _start(self) -> None:
        """Start the process, and do not wait for it."""
        self.close()
        command = [sys.executable, "-P", "-c", "from branchwise.bench.grading.worker import main; main()"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
        )

    def _line(self, seconds: float) -> str | None:
        """The next line of the process; `None` when it takes longer. Raises `EOFError` when it has ended."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([process.stdout], [], [], left)[0]:
                line = process.stdout.readline()
                if not line:
                    raise EOFError
                return line.strip()
        return None

    def close(self) -> None:
        """End the process."""
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
