"""Our own time per model call and memory per node, with a scripted model that answers at once; and wall time against the ideal.

    python benchmarks/engine.py            a table
    python benchmarks/engine.py --json     one JSON document

"Own time" is everything but the model: prompts, seeds, tape, budget, parsing, tree, search; the trace is written and flushed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import branchwise as bw
from branchwise.budget import Bound, Usage
from branchwise.model.base import Sample

_USAGE = Usage(calls=1, requests=1, prompt_tokens=40, completion_tokens=10)


class Open:
    """A problem without an end."""

    prompt = "benchmark"

    def status(self, state: bw.State) -> bw.Status:
        return bw.OPEN

    def key(self, state: bw.State) -> bw.State:
        return state[-2:]

    def answer(self, state: bw.State) -> str | None:
        return None


class Instant:
    """A model that answers at once (or after `delay` seconds) from the seed of the sample."""

    name = identity = "instant"

    def __init__(self, delay: float = 0.0, lists: int = 1) -> None:
        self.delay, self.lists, self.calls, self.nanoseconds = delay, lists, 0, 0

    async def sample(self, request: bw.Request) -> bw.Reply:
        self.calls += request.n
        if self.delay:
            await asyncio.sleep(self.delay)
        begun = time.perf_counter_ns()
        reply = self._reply(request)
        self.nanoseconds += time.perf_counter_ns() - begun
        return reply

    def _reply(self, request: bw.Request) -> bw.Reply:
        lists = self.lists if request.role == "generate" else 1
        texts = ("\n".join(f"thought {seed + item}" for item in range(lists)) for seed in request.seeds)
        return bw.Reply(tuple(Sample(text, usage=_USAGE) for text in texts), "instant")


class Judge:
    """One call a state; the value is drawn from the reply's number."""

    joint = False

    async def __call__(self, model: bw.LanguageModel, problem: bw.Problem, states: Sequence[bw.State]) -> list[bw.Evaluation]:
        reply = await model.sample(bw.Request((bw.Message("user", states[0][-1]),), 1, "evaluate"))
        value = int(reply.samples[0].text.split()[1]) % 1000 / 1000
        return [bw.Evaluation(value, (value,)) for _ in states]

    def bound(self, problem: bw.Problem, size: bw.Size, n: int) -> Bound:
        return Bound(n, 2000 * n, 1024 * n)


class Rewrite:
    """MCTSr's step in its cost: a critique, then a rewrite."""

    k, thought_bytes, rewrites = 1, 1000, True

    async def __call__(self, model: bw.LanguageModel, problem: bw.Problem, state: bw.State, k: int) -> bw.Proposals:
        if not state:
            reply = await model.sample(bw.Request((bw.Message("user", "first"),), k))
            return bw.Proposals(tuple(bw.Proposal(sample.text) for sample in reply.samples))
        critique = await model.sample(bw.Request((bw.Message("user", "critique " + state[-1]),)))
        rewrite = await model.sample(bw.Request((bw.Message("user", critique.samples[0].text + state[-1]),)))
        return bw.Proposals((bw.Proposal(rewrite.samples[0].text),))

    def bound(self, problem: bw.Problem, size: bw.Size, k: int) -> Bound:
        return Bound(2 * k, 2000 * k, 2048 * k)


def methods(nodes: int) -> dict[str, bw.Method]:
    """Each search, set so that about `nodes` nodes are committed."""
    make: Callable[[], bw.Sample] = lambda: bw.Sample(k=1, whole=True)  # noqa: E731
    wide = bw.Sample(k=5, whole=True)
    return {
        "beam": bw.Method(name="beam", generate=wide, evaluate=Judge(), search=bw.Beam(breadth=max(1, nodes // 20), depth=8)),
        "dfs": bw.Method(name="dfs", generate=wide, evaluate=Judge(), search=bw.DepthFirst(depth=8, prune_at=0.2, max_steps=10**9)),
        "best_first": bw.Method(generate=wide, evaluate=Judge(), search=bw.BestFirst(depth=12, prune_below=0.0, max_nodes=None)),
        "a_star": bw.Method(generate=wide, evaluate=Judge(), search=bw.AStar(depth=12)),
        "mcts": bw.Method(generate=wide, evaluate=Judge(), search=bw.Mcts(rollouts=nodes // 5, depth=12)),
        "mctsr": bw.Method(generate=Rewrite(), evaluate=Judge(), search=bw.SelfRefineSearch(rollouts=nodes, patience=0, depth=10**6)),
        "adaptive": bw.Method(generate=make(), evaluate=Judge(), search=bw.Adaptive(rollouts=nodes, depth=12)),
        "chain": bw.Method(name="chain", generate=make(), search=bw.Chain(depth=min(nodes, 200))),
    }


async def own_time(method: bw.Method, nodes: int) -> dict[str, float]:
    """Microseconds of our own time per committed node and per call."""
    with tempfile.TemporaryDirectory() as folder:
        model = Instant()
        begun = time.process_time()
        result = await bw.solve(Open(), method, model, budget=bw.Budget(nodes=nodes), trace=Path(folder) / "t.jsonl", seed=1)
        spent = time.process_time() - begun - model.nanoseconds / 1e9
    count = len(result.tree)
    return {"nodes": count, "calls": model.calls, "us_per_node": spent / count * 1e6, "us_per_call": spent / model.calls * 1e6}


async def memory(method: bw.Method, nodes: int) -> float:
    """Bytes per node of the finished tree and its search."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    result = await bw.solve(Open(), method, Instant(), budget=bw.Budget(nodes=nodes), seed=1)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / len(result.tree)


async def waiting(search: bw.Beam, parallel: int) -> float:
    """Wall time over the ideal: calls × 100 ms / parallel. One call lists five thoughts, and each is judged by one."""
    model = Instant(0.1, lists=5)
    method = bw.Method(name="beam", generate=bw.Propose(k=5), evaluate=Judge(), search=search)
    begun = time.perf_counter()
    await bw.solve(Open(), method, model, parallel=parallel, seed=1)
    return (time.perf_counter() - begun) / (model.calls * 0.1 / parallel)


async def measure(sizes: Sequence[int]) -> dict[str, object]:
    """Everything, search by search."""
    report: dict[str, object] = {}
    for name in methods(10):
        rows = []
        for nodes in sizes:
            row = await own_time(methods(nodes)[name], nodes)
            row["bytes_per_node"] = await memory(methods(nodes)[name], nodes)
            rows.append(row)
            print(f"{name:12} {int(row['nodes']):7} nodes  {row['us_per_node']:7.1f} us/node  {row['us_per_call']:7.1f} us/call"
                  f"  {row['bytes_per_node']:7.0f} bytes/node", file=sys.stderr)  # fmt: skip
        report[name] = rows
    ratio = await waiting(bw.Beam(breadth=64, depth=4), 16)
    print(f"beam of 64, 100 ms a call, parallel 16: wall time {ratio:.3f} × ideal", file=sys.stderr)
    report["wall_over_ideal_beam_16"] = ratio
    return report


def main() -> None:
    """Read the flags and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.add_argument("--sizes", default="1000,10000,100000", help="nodes, comma separated (default %(default)s)")
    args = parser.parse_args()
    report = asyncio.run(measure([int(size) for size in args.sizes.split(",")]))
    if args.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
