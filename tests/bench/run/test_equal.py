"""Equal budgets: every method spends the same for each item, whatever its steps cost; repeats vote."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from branchwise.bench.equal import _kept, fill, first_chains, seed_of, vote
from branchwise.bench.rows import Row
from branchwise.bench.traces import read_traced
from branchwise.budget import Usage
from branchwise.model.base import Request
from branchwise.model.scripted import Scripted
from branchwise.problem import COMPLETE
from branchwise.search.pick import best_value, majority
from branchwise.solve import Stop
from branchwise.trace import Judged
from branchwise.tree import Node
from support.bench_grid import draw, grid, noisy, run

METHODS = ["io", "cot", "cot_sc", "refine?rounds=3", "tot_bfs", "mctsr_4", "best_of_n?k=4&evaluate=score"]


def means(rows: list[Row], by: str = "tokens") -> dict[str, float]:
    """Mean of what was spent, by method."""
    found: dict[str, list[float]] = {}
    for row in rows:
        spent = row.spent
        found.setdefault(row.method, []).append({"tokens": spent.tokens, "calls": spent.calls, "cost": (spent.cost or 0) / 1e6}[by])
    return {method: sum(costs) / len(costs) for method, costs in found.items()}


@pytest.mark.parametrize("amount", [1500, 4000])
def test_every_method_spends_the_same_within_five_percent(tmp_path: Path, amount: int) -> None:
    made = grid(tasks=[{"task": "gsm8k", "items": "1:30"}], methods=METHODS, equal={"by": "tokens", "amount": amount})
    rows = run(made, tmp_path, noisy(0.5))
    spent = means(rows)
    assert len(rows) == 30 * len(METHODS)
    assert all(abs(mean / amount - 1) <= 0.05 for mean in spent.values()), spent
    assert max(spent.values()) / min(spent.values()) <= 1.05, spent
    assert all(row.overshoot == pytest.approx(row.spent.tokens / amount) for row in rows)


def test_calls_can_be_equal_and_are_so_exactly_where_a_step_is_a_call(tmp_path: Path) -> None:
    made = grid(tasks=[{"task": "gsm8k", "items": "1:10"}], methods=["io", "cot_sc?k=4", "refine?rounds=3"], equal={"by": "calls", "amount": 11})
    for row in run(made, tmp_path, noisy(0.5)):
        assert row.spent.calls == 11
        assert row.overshoot == 1.0


def test_without_an_amount_it_is_what_the_dearest_method_takes(tmp_path: Path) -> None:
    said: list[str] = []
    made = grid(tasks=[{"task": "gsm8k", "items": "1:20"}], methods=["io", "cot_sc?k=3", "refine?rounds=3"], equal="tokens")
    rows = run(made, tmp_path, noisy(0.5), said=said)
    alone = run(grid(tasks=[{"task": "gsm8k", "items": "1:20"}], methods=["refine?rounds=3"]), tmp_path / "alone", noisy(0.5))
    amount = means(alone)["refine?rounds=3"]
    spent = means(rows)
    assert any("as refine?rounds=3 takes on the mean" in text for text in said)
    assert all(abs(mean / amount - 1) <= 0.05 for mean in spent.values()), (amount, spent)
    again = run(made, tmp_path, noisy(0.5))
    assert again == rows


def test_rows_do_not_depend_on_how_many_run_at_once(tmp_path: Path) -> None:
    made = grid(tasks=[{"task": "gsm8k", "items": "1:4"}], methods=METHODS, equal={"by": "tokens", "amount": 2500})
    one, many = (run(made, tmp_path / str(jobs), noisy(0.5), jobs=jobs) for jobs in (1, 16))
    assert sorted(one, key=lambda row: row.unit) == sorted(many, key=lambda row: row.unit)


def test_repeats_have_seeds_of_their_own_and_vote(tmp_path: Path) -> None:
    made = grid(tasks=[{"task": "gsm8k", "items": "1:20"}], equal={"by": "calls", "amount": 15})
    rows = run(made, tmp_path, noisy(0.6))
    assert all(row.repeats == len(row.samples) == len(row.trace) == 15 for row in rows)
    assert sum(row.score for row in rows) / 20 > sum(sum(row.samples) for row in rows) / 300 + 0.1, "a majority of 15 beats one"
    for row in rows:
        most = max(row.votes, key=list(row.votes).count)
        assert row.answer == most
    seeds = {read_traced(tmp_path / trace).about["settings"]["seed"] for trace in rows[0].trace}
    assert len(seeds) == 15


def test_a_cut_search_gives_its_best_answer_so_far(tmp_path: Path) -> None:
    made = grid(tasks=[{"task": "gsm8k", "items": "1:10"}], methods=["tot_bfs"], equal={"by": "tokens", "amount": 900})
    rows = run(made, tmp_path, noisy(1.0))
    assert all(row.status == "ok" for row in rows)
    assert {row.stop_reason for row in rows} <= {"budget:tokens", "max_depth"}
    assert any(row.stop_reason == "budget:tokens" for row in rows)
    for row in rows:
        tree = read_traced(tmp_path / row.trace[-1])
        assert tree.stop_reason == row.stop_reason, "the trace ends as the row does"


def test_a_failing_repeat_ends_the_repeats_and_is_told(tmp_path: Path) -> None:
    from branchwise.errors import PermanentError

    calls = 0

    def answer(request: Request, index: int) -> str:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise PermanentError("no more")
        return "The answer is 5."

    (row,) = run(grid(tasks=[{"task": "gsm8k", "items": "1"}], equal={"by": "calls", "amount": 9}), tmp_path, Scripted(answer))
    assert (row.status, row.answer, row.repeats) == ("ok", "5", 3)
    assert row.overshoot == pytest.approx(3 / 9)
    assert "repeat 4 failed" in str(row.error)
    assert "no more" in str(row.error)


def test_the_amount_may_be_less_than_a_call(tmp_path: Path) -> None:
    (row,) = run(grid(tasks=[{"task": "gsm8k", "items": "1"}], equal={"by": "tokens", "amount": 10}), tmp_path, noisy(0.5))
    assert row.repeats == 1
    assert row.overshoot is not None
    assert row.overshoot > 5


def node(text: str, arrivals: int = 1) -> Node:
    made = Node(1, Node(0, None, 0, "", COMPLETE), 0, text, COMPLETE)
    made.arrivals = arrivals
    return made


class Plain:
    """A problem whose answer is the last thought."""

    prompt = "x"

    def answer(self, state: tuple[str, ...]) -> str | None:
        return state[-1] if state and state[-1] else None


def result(*answers: str | None, solved: bool | None = None) -> Any:
    nodes = [node(answer or "") for answer in answers]
    return SimpleNamespace(answer=answers[0], node=nodes[0], solved=solved, tree=nodes)


def ballot(pick: Any, *results: Any) -> tuple[str | None, int]:
    answer, _, number = vote(cast(Any, Plain()), pick, results)
    return answer, number


def test_votes() -> None:
    a, b, none = result("a"), result("b"), result(None)
    assert ballot(best_value, a, b, b) == ("b", 1)
    assert ballot(best_value, a, b) == ("a", 0)
    assert ballot(best_value, none, b) == ("b", 1)
    assert ballot(best_value, none) == (None, 0)
    assert ballot(best_value, a, a, result("c", solved=True)) == ("c", 2)
    assert ballot(majority, result("a", "b"), result("c", "b")) == ("b", 0), "chains have a vote each where the method takes a majority"
    assert ballot(best_value, result("a", "b"), result("c", "b")) == ("a", 0)


def test_the_last_step_is_drawn_so_that_the_mean_is_the_amount() -> None:
    costs, room = [100.0, 250.0, 700.0, 900.0], 600.0
    for answer in (0.0, 50.0):
        ends = {steps: cost + answer for steps, cost in enumerate(costs, 1)}
        kept = [ends[_kept(costs, 900.0 + answer, room, (place + 0.5) / 1000, False)] for place in range(1000)]
        assert sum(kept) / 1000 == pytest.approx(room, rel=0.002)
        assert set(kept) == {250.0 + answer, 700.0 + answer}
    assert _kept(costs, 900.0, 900.0, 0.5, False) == 4
    assert _kept(costs, 900.0, 50.0, 0.99, False) == 1, "the first repeat is never dropped"
    assert {_kept(costs, 900.0, 50.0, u, True) for u in (0.2, 0.8)} == {0, 1}


def test_many_steps_of_any_size_are_within_five_percent_over_items() -> None:
    """Fill simulated: repeats of random steps, of which some cost more than the whole amount."""

    async def mean(kind: int, amount: float) -> float:
        total = 0.0
        for item in range(60):

            async def repeat(number: int, count: int | None, meter: Any, item: int = item) -> Any:
                spent = 0.0
                ended: list[str] = []
                run_ = SimpleNamespace(ledger=SimpleNamespace(spent=Usage()), method=SimpleNamespace(answer=None), interrupt=ended.append)
                meter.add(run_)
                for step in range(1 + kind * 2):
                    spent += round(amount * (0.05 + 0.4 * draw(kind, item, number, step)))
                    run_.ledger.spent = Usage(calls=step + 1, completion_tokens=int(spent))
                    meter.on_event(Judged(step))
                    if ended:
                        break
                meter.remove(run_)
                return SimpleNamespace(usage=run_.ledger.spent, by_role={}, stop_reason="x", error="")

            filled = await fill(amount, "tokens", repeat, Stop(), draw=(0.37 + item * 0.618034) % 1.0)
            total += sum(one.usage.tokens for one in filled.kept)
        return total / 60

    for kind in range(4):
        for amount in (1000.0, 5000.0):
            assert asyncio.run(mean(kind, amount)) == pytest.approx(amount, rel=0.05)


def test_seeds_of_repeats_differ_and_the_first_is_the_units_own() -> None:
    assert seed_of(7, 0) == 7
    assert len({seed_of(seed, repeat) for seed in range(50) for repeat in range(50)}) == 2500


def test_the_first_repeat_takes_no_more_chains_than_are_likely_to_fit() -> None:
    worst = cast(Any, SimpleNamespace(tokens=40_000, calls=10, cost_usd=0.04))
    assert [first_chains(10, amount, "tokens", worst) for amount in (500, 1000, 4000, 10_000, 1e6)] == [1, 1, 4, 10, 10]
    assert first_chains(10, 3, "calls", worst) == 3
    assert first_chains(10, 0.005, "cost", worst) == 5
