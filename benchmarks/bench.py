"""What a large bench costs apart from its model: making a grid, reading rows, and the office of a cluster.

    python benchmarks/bench.py [--data FOLDER] [--ray]     FOLDER holds gsm8k; --ray measures the office too (needs the extra)
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from branchwise.bench.grid import make_grid
from branchwise.bench.office import Link, Office
from branchwise.bench.purse import Sum
from branchwise.bench.rows import ROWS, Row, read_rows
from branchwise.bench.spec import spec_of
from branchwise.budget import Budget, Usage

LINE = b'{"event":"call","text":"' + b"x" * 1500 + b'"}\n'


def memory() -> str:
    """The most that this process has had."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB"


def grid(data: Path | None) -> None:
    """98,925 units with the public set, 2,250 with our own list."""
    began = time.perf_counter()
    methods = [{"label": f"{name} {n}", "method": name} for name in ("io", "cot", "cot_sc", "refine", "tot_bfs") for n in range(3)]
    items = "1:1319" if data else "1:30"
    made = make_grid(spec_of({"tasks": ["gsm8k"], "items": items, "methods": methods, "seeds": [0, 1, 2, 3, 4]}, "benchmark"), lambda _: data)
    print(f"grid of {len(made.units):,} units: {time.perf_counter() - began:.1f} s, {memory()}")


def rows(count: int = 100_000) -> None:
    """Rows of the usual size."""
    usage = Usage(37, 37, 0, 3200, 0, 800).to_json()
    counts = dict.fromkeys(("generated", "kept", "pruned", "merged", "dropped"), 7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ROWS
        one = Row(
            unit="UNIT", task="gsm8k", item="ITEM", method="tot_bfs", model="m", seed=0, answer="18", verdict="correct", score=1.0,
            samples=[1.0, 0.0, 1.0], votes=["18", "17", "18"], stop_reason="budget:tokens", nodes=counts, usage=usage, paid=usage,
            by_role={"generate": usage, "evaluate": usage, "answer": usage}, trace=[f"traces/0123456789abcdef.{n}.jsonl" for n in range(3)],
        )  # fmt: skip
        import orjson

        line = orjson.dumps(one.to_json()).decode()
        with open(path, "w") as file:
            for n in range(count):
                file.write(line.replace("UNIT", f"{n:016x}").replace("ITEM", str(n // 15)) + "\n")
        began, size = time.perf_counter(), path.stat().st_size
        found = read_rows(Path(folder))
        print(f"{len(found):,} rows ({size / 1e6:.0f} MB) read: {time.perf_counter() - began:.1f} s, {memory()}")


class Talker:
    """A worker that does nothing but tell."""

    def __init__(self, office: Any, owner: str, limited: bool) -> None:
        self.link, self.owner = Link(office, owner, limited), owner

    async def talk(self, count: int, at_once: int) -> float:
        """Requests a second: reserved where there are limits, settled, and their trace lines on the disk."""
        await self.link.take(self.owner)

        async def one(k: int) -> None:
            for i in range(count // at_once):
                assert await self.link.reserve(f"{self.owner}/{k}.{i}", Sum(1, 100))
                self.link.tell(("trace", self.owner, f"{self.owner}.{k}.jsonl", i * len(LINE), LINE))
                await self.link.settle(f"{self.owner}/{k}.{i}", Sum(1, 50))
                await self.link.send()

        began = time.perf_counter()
        await asyncio.gather(*map(one, range(at_once)))
        return count / (time.perf_counter() - began)


def office() -> None:
    """Two workers with 64 requests at once each."""
    warnings.simplefilter("ignore")
    import ray

    ray.init(log_to_driver=False, include_dashboard=False, logging_level="ERROR")
    for limited in (False, True):
        limits = Budget(calls=10**9) if limited else Budget()
        with tempfile.TemporaryDirectory() as folder:
            home = ray.remote(Office).options(num_cpus=0, max_concurrency=100_000).remote(folder, limits, Sum(), None, None)
            make = ray.remote(Talker).options(num_cpus=0.01, max_concurrency=100)
            talkers = [make.remote(home, f"w{n}", limited) for n in range(2)]
            rates = ray.get([talker.talk.remote(6400, 64) for talker in talkers])
            print(f"office, {'every request asks first' if limited else 'nothing limited'}: {sum(rates):,.0f} requests/s from two workers")
            for actor in (*talkers, home):
                ray.kill(actor)
    ray.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--ray", action="store_true")
    given = parser.parse_args()
    grid(given.data)
    rows()
    if given.ray:
        office()
