"""Steered runs that are killed with SIGKILL: `python steered_killed.py FOLDER METHOD SEED` forks one child for each n, which kills itself right
after its n-th line of trace, until a child comes to its end. A person acts after certain commits. Knows no test.

For each n it leaves FOLDER/n.jsonl (the trace) and FOLDER/n.paid (the samples that the backend was asked for).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from branchwise import Result, Steering, solve
from branchwise.trace import Expanded, Judged
from support.models import FakeModel
from support.steered import METHODS, toy

ACTS: dict[int, Callable[[Steering], None]] = {
    1: lambda s: s.prune(1),
    2: lambda s: s.add(2, "my own"),
    3: lambda s: s.favour(3),
    4: lambda s: s.raise_budget(calls=30),
    6: lambda s: s.prune(4),
}
"""By the step after which they are done. What cannot be done in one method is a warning there."""


def person(steering: Steering, acts: int) -> Callable[[Any], None]:
    """Does the first `acts` of the acts."""
    allowed = sorted(ACTS)[:acts]

    def listen(event: Any) -> None:
        if isinstance(event, (Expanded, Judged)) and event.step in allowed and steering.active:
            allowed.remove(event.step)
            ACTS[event.step](steering)

    return listen


async def run(method: str, seed: int, model: Any, acts: int = 99, **settings: Any) -> Result:
    """A run with the person."""
    from branchwise import Budget

    steering = Steering()
    return await solve(
        toy(seed, dead=0), METHODS[method], model, seed=seed, steering=steering, on_event=person(steering, acts), budget=Budget(calls=60), **settings
    )


def child(folder: Path, method: str, seed: int, n: int) -> None:
    """One run, up to its n-th line."""
    from branchwise import trace

    left, plain = n, trace.Recorder.write

    def write(self: trace.Recorder, event: Any) -> None:
        nonlocal left
        left -= 1
        if left:
            plain(self, event)
            return
        line = trace._encode(event)
        assert self.path is not None
        with open(self.path, "ab", buffering=0) as file:
            file.write(line if n % 2 else line[: len(line) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    trace.Recorder.write = write  # type: ignore[method-assign]
    log = os.open(folder / f"{n}.paid", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    model = FakeModel(toy(seed, dead=0).reply, jitter=n, log=log)
    asyncio.run(run(method, seed, model, trace=folder / f"{n}.jsonl", parallel=4))


def main(folder: Path, method: str, seed: int) -> None:
    for n in range(2, 500):
        pid = os.fork()
        if not pid:
            code = 1
            try:
                child(folder, method, seed, n)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the run failed"
        if not os.WIFSIGNALED(status):
            (folder / f"{n}.jsonl").unlink()
            sys.stdout.write(str(n - 1))
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError("no child came to its end")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
