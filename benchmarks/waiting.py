"""How busy the model is kept: the share of the places (`parallel`) that are taken while a search waits for a model of log-normal latency.

    python benchmarks/waiting.py              a table
    python benchmarks/waiting.py --json       one JSON document
    python benchmarks/waiting.py --scale 0.1  latencies times 0.1: 10 ms in place of 100

Latency: sigma 0.6, mean 100 ms times --scale, drawn for each request from its seed; a request of n samples takes as long as its slowest.
Occupancy = places taken × time / (parallel × wall time), from the first call to the last: short runs are busy for less of it, since the first
steps of a search and its last ones leave places empty (300 nodes are 100 steps of one call).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import branchwise as bw
from branchwise.budget import Bound, Usage
from branchwise.model.base import Sample

SIGMA, MEAN = 0.6, 0.1
_USAGE = Usage(calls=1, requests=1, prompt_tokens=40, completion_tokens=10)


class Waits:
    """A model of log-normal latency. `busy` is samples × seconds."""

    name = identity = "waits"

    def __init__(self, scale: float) -> None:
        self.scale, self.busy, self.calls = scale, 0.0, 0
        self.first = self.last = 0.0

    async def sample(self, request: bw.Request) -> bw.Reply:
        begun = time.perf_counter()
        self.first = self.first or begun
        self.calls += request.n
        draw = max(Random(seed).lognormvariate(math.log(MEAN) - SIGMA**2 / 2, SIGMA) for seed in request.seeds)
        await asyncio.sleep(draw * self.scale)
        self.last = time.perf_counter()
        self.busy += request.n * (self.last - begun)
        texts = ("\n".join(f"{item}. thought {seed + item}" for item in range(1, 4)) for seed in request.seeds)
        return bw.Reply(tuple(Sample(text, usage=_USAGE) for text in texts), "waits")


class Open:
    """A problem without an end."""

    prompt = "benchmark"

    def status(self, state: bw.State) -> bw.Status:
        return bw.OPEN

    def key(self, state: bw.State) -> bw.State:
        return state

    def answer(self, state: bw.State) -> str | None:
        return None


@dataclass(frozen=True)
class Judge:
    """`samples` grades of a state in one request; the value is their mean. 0 samples: a value without a call."""

    samples: int
    joint = False

    async def __call__(self, model: bw.LanguageModel, problem: bw.Problem, states: Sequence[bw.State]) -> list[bw.Evaluation]:
        if not self.samples:
            return [bw.Evaluation(Random(state[-1]).random()) for state in states]
        reply = await model.sample(bw.Request((bw.Message("user", states[0][-1]),), self.samples, "evaluate"))
        values = tuple(int(sample.text.split()[2]) % 1000 / 1000 for sample in reply.samples)
        return [bw.Evaluation(sum(values) / len(values), values) for _ in states]

    def bound(self, problem: bw.Problem, size: bw.Size, n: int) -> Bound:
        return Bound(self.samples * n, 2000 * self.samples * n, 1024 * self.samples * n)


def cases(nodes: int) -> dict[str, bw.Method]:
    """best_first and mcts, three thoughts a step.

    A request of three samples takes three of the eight places at once, so two of them leave two places for others: that case cannot get far
    above 80 %. Steps of one call, committed in order, can reach 87 % at window 16.
    """
    found = {}
    for name in ("best_first", "mcts"):
        search: bw.BestFirst | bw.Mcts
        search = bw.BestFirst(depth=12, prune_below=0.0, max_nodes=None) if name == "best_first" else bw.Mcts(rollouts=nodes, depth=12)
        settings = {
            "three grades a step, window 8": (1, 8),
            "one call a step, window 16": (0, 16),
            "three requests of three, window 8": (3, 8),
        }
        for label, (samples, window) in settings.items():
            found[f"{name}: {label}"] = bw.Method(generate=bw.Propose(k=3), evaluate=Judge(samples), search=search, window=window)
    return found


async def occupancy(method: bw.Method, nodes: int, scale: float, parallel: int = 8) -> float:
    """The share of the places that were taken."""
    model = Waits(scale)
    await bw.solve(Open(), method, model, budget=bw.Budget(nodes=nodes), parallel=parallel, seed=1)
    return model.busy / (parallel * (model.last - model.first))


async def measure(nodes: int, scale: float) -> dict[str, float]:
    """Every case."""
    found = {}
    for name, method in cases(nodes).items():
        found[name] = await occupancy(method, nodes, scale)
        print(f"{name:45} {found[name]:.1%} of 8 places busy ({nodes} nodes, mean {MEAN * scale * 1000:g} ms)", file=sys.stderr)
    return found


def main() -> None:
    """Read the flags and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.add_argument("--nodes", type=int, default=1500, help="nodes of each run (default %(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="latencies times this (default %(default)s)")
    args = parser.parse_args()
    report = asyncio.run(measure(args.nodes, args.scale))
    if args.json:
        print(json.dumps({"occupancy": report, "nodes": args.nodes, "mean_ms": MEAN * args.scale * 1000, "sigma": SIGMA, "parallel": 8}))


if __name__ == "__main__":
    main()
