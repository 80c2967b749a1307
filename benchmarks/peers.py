"""Branchwise beside the PyPI package treequest, in one process, on the same random scores: CPU microseconds a node, no model.

    python benchmarks/peers.py                    a table
    python benchmarks/peers.py --json             one JSON document
    pip install 'branchwise[bench]'               what it needs

What is compared: our full engine (seeds, tape written to disk, budget ledger, prompts, tree, search; everything but the model's own time)
against treequest's bare algorithm (ask and tell in place, no model layer, no record, no budget). `mcts` against StandardMCTS with two
children an
expansion, `adaptive` against ABMCTSA with Beta posteriors. Each runs alone, one after the other. A measurement that does not end within
--limit
seconds is cut: its number is then that of the nodes it reached, which flatters it where the time a node grows, and it is listed as `cut`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from engine import Instant, Open

import branchwise as bw
from branchwise.budget import Bound


class Scores:
    """An evaluator that gives the drawn scores in the order in which it is asked. No call is made."""

    joint = False

    def __init__(self, scores: Sequence[float]) -> None:
        self._rest = iter(scores)

    async def __call__(self, model: bw.LanguageModel, problem: bw.Problem, states: Sequence[bw.State]) -> list[bw.Evaluation]:
        return [bw.Evaluation(value, (value,)) for value in (next(self._rest) for _ in states)]

    def bound(self, problem: bw.Problem, size: bw.Size, n: int) -> Bound:
        return Bound()


def ours(name: str, scores: Sequence[float], limit: float) -> tuple[float, int]:
    """(seconds of our own, nodes) of a run to `len(scores)` nodes."""
    nodes = len(scores)
    search: bw.Mcts | bw.Adaptive = bw.Mcts(rollouts=nodes, depth=10**6) if name == "mcts" else bw.Adaptive(rollouts=nodes, depth=10**6)
    width = 2 if name == "mcts" else 1
    method = bw.Method(name=name, generate=bw.Sample(k=width, whole=True), evaluate=Scores(scores), search=search)
    with tempfile.TemporaryDirectory() as folder:
        budget = bw.Budget(nodes=nodes, calls=10 * nodes, seconds=limit)
        begun = time.process_time()
        result = bw.solve_sync(Open(), method, Instant(), budget=budget, trace=Path(folder) / "t.jsonl", seed=1)
        return time.process_time() - begun, len(result.tree)


def theirs(name: str, scores: Sequence[float], limit: float) -> tuple[float, int]:
    """(seconds, nodes) of treequest's algorithm, stepped in place."""
    import treequest

    algorithm = treequest.StandardMCTS(samples_per_action=2) if name == "mcts" else treequest.ABMCTSA(dist_type="beta")
    rest = iter(scores)
    generate: dict[str, Callable[[object], tuple[str, float]]] = {"next": lambda parent: ("thought", next(rest))}
    random.seed(1)
    state, made, begun = algorithm.init_tree(), 0, time.process_time()
    while made < len(scores) and time.process_time() - begun < limit:
        state = algorithm.step(state, generate, inplace=True)
        made += 1
    return time.process_time() - begun, made


def compare(sizes: Sequence[int], limit: float) -> dict[str, object]:
    """Each pair at each size, in turn."""
    found: dict[str, dict[str, float]] = {"ours_us": {}, "treequest_us": {}, "ratios": {}}
    cut: list[str] = []
    for name in ("mcts", "adaptive"):
        for size in sizes:
            rng = random.Random(size)
            scores, key = [rng.random() for _ in range(size)], f"{name}_{size}"
            for who, run in (("ours_us", ours), ("treequest_us", theirs)):
                seconds, nodes = run(name, scores, limit)
                found[who][key] = seconds / max(1, nodes) * 1e6
                if nodes < size:
                    cut.append(f"{who[:-3]} {key}: {nodes} of {size} nodes in {limit:g} s of CPU")
            found["ratios"][key] = found["treequest_us"][key] / found["ours_us"][key]
            print(f"{key:15} ours {found['ours_us'][key]:9.1f} us/node   treequest {found['treequest_us'][key]:9.1f} us/node   "
                  f"ratio {found['ratios'][key]:7.2f}{'   (cut)' if any(key in c for c in cut) else ''}", file=sys.stderr)  # fmt: skip
    compared = "our full engine (tape on disk, budget, seeds) against treequest's bare algorithm (step in place)"
    return {**found, "cut": cut, "limit_s": limit, "compared": compared}


def main() -> None:
    """Read the flags and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout")
    parser.add_argument("--sizes", default="1000,10000", help="nodes, comma separated (default %(default)s)")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one measurement (default %(default)s)")
    args = parser.parse_args()
    asyncio.run(asyncio.sleep(0))
    report = compare([int(size) for size in args.sizes.split(",")], args.limit)
    print("compared: " + str(report["compared"]), file=sys.stderr)
    for line in report["cut"]:  # type: ignore[attr-defined]
        print("cut: " + line, file=sys.stderr)
    if args.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
