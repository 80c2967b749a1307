"""Runs that are killed with SIGKILL: `python killed.py FOLDER METHOD SEED HALF` forks one child for each n, which kills itself right after
its n-th line of trace (HALF=1: after half of that line), until a child comes to its end. Knows no test.

For each n it leaves FOLDER/n.jsonl (the trace) and FOLDER/n.paid (the samples that the backend was asked for).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from branchwise import Beam, Chain, Combine, DepthFirst, Method, Propose, Sample, Sampling, Value, Vote, solve
from support.models import FakeModel
from support.worlds import Toy

SMALL = Sampling(max_tokens=60)
ANSWER = Sample(k=1, prompt="answer", whole=True, sampling=SMALL)
METHODS = {
    "beam": Method(name="beam", generate=Propose(k=3), evaluate=Value(samples=2), search=Beam(breadth=2, depth=2), answer=ANSWER),
    "vote": Method(name="vote", generate=Sample(k=3), evaluate=Combine(Vote(votes=2), Value(samples=1)), search=Beam(breadth=2, depth=2)),
    "dfs": Method(name="dfs", generate=Propose(k=2), evaluate=Value(samples=2), search=DepthFirst(depth=3, max_steps=6)),
    "chain": Method(name="chain", generate=Sample(k=1), evaluate=Value(samples=2), search=Chain(depth=4)),
}


def toy(seed: int) -> Toy:
    return Toy(seed, dead=0.05, complete=0.05)


def child(folder: Path, method: str, seed: int, n: int, half: bool) -> None:
    """One run, up to its n-th line."""
    from branchwise import trace

    left = n
    plain = trace.Recorder.write

    def write(self: trace.Recorder, event: Any) -> None:
        nonlocal left
        left -= 1
        if left or not half:
            plain(self, event)
        if not left:
            if half:
                line = trace._encode(event)
                assert self.path is not None
                with open(self.path, "ab", buffering=0) as file:
                    file.write(line[: len(line) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    trace.Recorder.write = write  # type: ignore[method-assign]
    log = os.open(folder / f"{n}.paid", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    model = FakeModel(toy(seed).reply, jitter=n, log=log)
    asyncio.run(solve(toy(seed), METHODS[method], model, trace=folder / f"{n}.jsonl", parallel=4, seed=seed))


def main(folder: Path, method: str, seed: int, half: bool) -> None:
    for n in range(1, 500):
        pid = os.fork()
        if not pid:
            try:
                child(folder, method, seed, n, half)
            finally:
                os._exit(0)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            (folder / f"{n}.jsonl").unlink()
            sys.stdout.write(str(n - 1))
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError("no child came to its end")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1")
