"""A bench that is killed with SIGKILL again and again: `python bench_killed.py FOLDER KILLS SEED`. Knows no test.

FOLDER/whole is an unbroken run. FOLDER/killed is started KILLS + 1 times: each of the first kills itself after a random number of lines that it
wrote (of rows or traces), every other time after half of that line. FOLDER/whole.paid and FOLDER/killed.paid have a line a reply of the model.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from random import Random
from typing import Any

from support.bench_grid import grid, noisy, run

METHODS = ["io", "cot_sc?k=3", "refine?rounds=2", "tot_bfs"]


def bench(folder: Path, log: int) -> None:
    """The whole grid, or what is left of it."""
    made = grid(tasks=[{"task": "gsm8k", "items": "1:4"}], methods=METHODS, equal={"by": "tokens", "amount": 1500}, seeds=[0, 1])
    model = noisy(0.5)
    plain = model._answer

    def answer(request: Any, index: int) -> Any:
        os.write(log, f"{request.id} {request.seeds} {index}\n".encode())
        return plain(request, index)

    model._answer = answer
    run(made, folder, model)


def dying(left: int, half: bool) -> None:
    """This process ends at its `left`-th line."""
    from branchwise import trace
    from branchwise.bench import rows

    plain, append = trace.Recorder.write, rows.RowFile.append

    def count(path: Path, data: bytes) -> None:
        nonlocal left
        left -= 1
        if not left:
            with open(path, "ab", buffering=0) as file:
                file.write(data[: len(data) // 2] if half else data)
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self: trace.Recorder, event: Any) -> None:
        assert self.path is not None
        count(self.path, trace._encode(event))
        plain(self, event)

    def add(self: rows.RowFile, row: Any) -> bool:
        count(self.path, rows.orjson.dumps(row.to_json(), option=rows.orjson.OPT_APPEND_NEWLINE))
        return append(self, row)

    trace.Recorder.write = write  # type: ignore[method-assign]
    rows.RowFile.append = add  # type: ignore[method-assign]


def forked(work: Any) -> bool:
    """Whether the child that did `work` came to its end."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the bench failed"
    return not os.WIFSIGNALED(status)


def main(folder: Path, kills: int, seed: int) -> None:
    first, log = (os.open(folder / f"{name}.paid", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for name in ("whole", "killed"))
    assert forked(lambda: bench(folder / "whole", first))
    lines = sum(path.read_bytes().count(b"\n") for path in (folder / "whole").rglob("*.jsonl"))
    random = Random(seed)
    for number in range(kills):
        place = random.randint(1, max(1, lines // kills))

        def work(place: int = place, half: bool = bool(number % 2)) -> None:
            dying(place, half)
            bench(folder / "killed", log)

        assert not forked(work), "it was not killed"
    assert forked(lambda: bench(folder / "killed", log))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
