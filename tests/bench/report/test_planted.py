"""The real bench on planted differences: a noisy model of known accuracy through runner, marker, rows and report, over many seeds.

30 seeds, each a run of 150 units and its report: some 2 s of processor time a seed on a slow machine. BRANCHWISE_BENCH_SEEDS=200 takes more of
them. What the rates must be is summed exactly (`support.binomial`); the bounds are those of the binomial law for 30, all but one in ten thousand:

| count | expected | bounds |
|---|---|---|
| intervals of io and of cot (40 % right) that cover | 94.1 % | 22 to 30 |
| intervals of the vote of five (71.5 % right) that cover | 95.9 % | 23 to 30 |
| the planted difference (71.5 against 40 %) is found | 84.5 % | 16 to 30 |
| the absent one (40 against 40 %) is found | 2.9 % | 0 to 6 |
| intervals of either difference that cover | 95 % | 22 to 30 |
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from branchwise.bench.grid import Grid
from branchwise.bench.report.document import Report, build
from branchwise.model.base import Request
from branchwise.model.scripted import Scripted
from support.bench_grid import draw, grid, run
from support.binomial import N, coverage, power, within

SEEDS = int(os.environ.get("BRANCHWISE_BENCH_SEEDS", "30"))
RIGHT = 0.4
"""How often one reply is right, whatever the prompt."""
VOTES = 5
METHODS = ["io", "cot", {"label": "vote", "method": "cot_sc", "settings": {"k": VOTES}}]


def accuracy_of_vote(p: float, k: int) -> float:
    """Wrong answers all differ: two right ones are the majority, and one alone is chosen as often as any other of `k` single ones."""
    one = k * p * (1 - p) ** (k - 1)
    return 1 - (1 - p) ** k - one + one / k


TRUE = {"io": RIGHT, "cot": RIGHT, "vote": accuracy_of_vote(RIGHT, VOTES)}


def noisy(salt: int) -> Scripted:
    """Adds the two numbers of the question rightly in 40 % of its replies, each drawn for itself; no two wrong answers agree."""

    def answer(request: Request, index: int) -> str:
        prompt = request.messages[-1].content
        seed = request.seeds[index - request.first] if request.seeds else index
        gold = 100 + int(re.findall(r"How much are (\d+) and 100", prompt)[-1])
        words = (salt, prompt, seed, request.n)  # n: else the first vote would be the very reply of cot, and the two methods would not be independent
        wrong = 1000 + int(10**9 * draw("wrong", *words))
        return f"The answer is {gold if draw(*words) < RIGHT else wrong}."

    return Scripted(answer, name="script:noisy")


@pytest.fixture
def made(tmp_path: Path) -> Grid:
    """Three methods and fifty items from a file in the format of GSM8K."""
    rows = [{"question": f"How much are {n} and 100?", "answer": f"Add. #### {n + 100}"} for n in range(1, N + 1)]
    file = tmp_path / "test.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return grid(file, tasks=[{"task": "gsm8k", "items": f"1:{N}"}], methods=METHODS)


def counted(report: Report, counts: Counter[str]) -> None:
    """What one seed found, added to `counts`."""
    for cell in report.cells:
        assert (cell.items, cell.units, cell.verdicts["failed"]) == (N, N, 0)
        counts[f"right {cell.method}"] += cell.verdicts["correct"]
        counts[f"covered {cell.method}"] += cell.interval.low <= TRUE[cell.method] <= cell.interval.high
    pairs = {pair.method: pair for pair in report.pairs}
    assert {pair.baseline for pair in report.pairs} == {"cot"}
    for name in ("io", "vote"):
        pair = pairs[name]
        counts[f"found {name}"] += pair.p < 0.05
        counts[f"corrected {name}"] += pair.found
        counts[f"difference {name}"] += pair.interval.low <= TRUE[name] - TRUE["cot"] <= pair.interval.high


@pytest.mark.timeout(1800)
def test_a_planted_difference_is_found_and_an_absent_one_is_not_over_many_runs(tmp_path: Path, made: Grid) -> None:
    counts: Counter[str] = Counter()
    for seed in range(SEEDS):
        folder = tmp_path / "run"
        run(made, folder, noisy(seed))
        counted(build(folder, traces=False), counts)
        shutil.rmtree(folder)
    for name, share in TRUE.items():
        assert within(counts[f"right {name}"], SEEDS * N, share), (name, counts)
        assert within(counts[f"covered {name}"], SEEDS, coverage(share)), (name, counts)
    assert within(counts["found vote"], SEEDS, power(TRUE["vote"], RIGHT)), counts
    assert within(counts["found io"], SEEDS, power(RIGHT, RIGHT)), counts
    assert counts["corrected io"] <= counts["found io"]
    assert counts["corrected vote"] <= counts["found vote"]
    assert all(within(counts[f"difference {name}"], SEEDS, 0.95) for name in ("io", "vote")), counts


def test_the_bounds_that_are_stated_are_those_of_the_binomial_law() -> None:
    assert [round(share, 3) for share in TRUE.values()] == [0.4, 0.4, 0.715]
    rates = [coverage(RIGHT), coverage(TRUE["vote"]), power(TRUE["vote"], RIGHT), power(RIGHT, RIGHT), 0.95]
    assert [round(100 * rate, 1) for rate in rates] == [94.1, 95.9, 84.5, 2.9, 95.0]
    bounds = [[count for count in range(31) if within(count, 30, rate)] for rate in rates]
    assert [(found[0], found[-1]) for found in bounds] == [(22, 30), (23, 30), (16, 30), (0, 6), (22, 30)]
