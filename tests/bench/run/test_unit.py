"""Units: solved without the key, marked with it, told as rows; what fails is a row too."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from branchwise.bench.golds import own_golds
from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.purse import Purse
from branchwise.bench.rows import TRACES
from branchwise.bench.traces import read_traced
from branchwise.budget import Budget, Price
from branchwise.errors import PermanentError, TransientError
from branchwise.model.base import Request
from branchwise.model.scripted import Scripted
from branchwise.solve import Stop
from branchwise.tasks import task
from branchwise.trace import Call, read_trace
from support.bench_grid import by_unit, grid, noisy, run

OWN = {item.id: item.input for item in task("gsm8k").items(None)}
FIRST = next(iter(OWN))


def says(*replies: str) -> Scripted:
    return Scripted([{"replies": list(replies)}])


def test_a_row_says_what_came_of_it_and_what_it_cost(tmp_path: Path) -> None:
    gold = own_golds("gsm8k")[FIRST].text
    (row,) = run(grid(tasks=[{"task": "gsm8k", "items": "1"}], methods=["cot_sc?k=4"]), tmp_path, says(f"The answer is {gold}.", "The answer is 0."))
    assert (row.status, row.verdict, row.score, row.oracle_score, row.answer) == ("ok", "correct", 1.0, 1.0, gold)
    assert (row.samples, row.votes, row.repeats, row.stop_reason) == ([1.0], [gold], 1, "max_depth")
    assert row.usage["calls"] == 4
    assert row.usage == row.by_role["generate"] == row.paid
    assert row.model_reported == "script"
    assert len(row.data) == 16
    assert [path.name for path in (tmp_path / TRACES).iterdir()] == [f"{row.unit}.jsonl"]
    assert row.trace == [f"{TRACES}/{row.unit}.jsonl"]


def test_the_oracle_is_the_best_in_the_tree_and_never_the_score(tmp_path: Path) -> None:
    gold = own_golds("gsm8k")[FIRST].text
    model = says("The answer is 0.", "The answer is 0.", f"The answer is {gold}.")
    (row,) = run(grid(tasks=[{"task": "gsm8k", "items": "1"}], methods=["cot_sc?k=3"]), tmp_path, model)
    assert (row.verdict, row.score, row.oracle_score) == ("wrong", 0.0, 1.0)


def test_samples_of_an_item_give_mean_at_k_and_pass_at_k(tmp_path: Path) -> None:
    """Case 39: two items, four samples each, one of the first item's right: mean@k 12.5 %, pass@k 50 %, and the first one counts as chosen."""
    gold = own_golds("gsm8k")[FIRST].text
    seen: dict[str, int] = {}

    def answer(request: Request, index: int) -> str:
        prompt = request.messages[-1].content
        seen[prompt] = seen.get(prompt, 0) + 1
        return f"The answer is {gold}." if OWN[FIRST] in prompt and seen[prompt] == 3 else "The answer is 0."

    rows = run(grid(methods=[{"method": "io", "samples": 4}]), tmp_path, Scripted(answer))
    samples = {row.item: list(row.samples) for row in rows}
    assert sorted(sum(found) for found in samples.values()) == [0.0, 1.0]
    assert sum(map(sum, samples.values())) / 8 == 0.125
    assert sum(1.0 in found for found in samples.values()) / 2 == 0.5
    assert samples[FIRST] == [0.0, 0.0, 1.0, 0.0]
    assert all((row.verdict, row.score, row.repeats) == ("wrong", 0.0, 1 * 4) for row in rows)


def test_the_search_never_sees_the_gold(tmp_path: Path) -> None:
    """Case 45: neither a request nor a trace holds the key, and a right answer ends nothing early where no program can tell."""
    secret = "987654321"
    model = says(f"The answer is {secret}.", "The answer is 1.")
    made = grid(methods=["tot_bfs", "refine", "cot_sc?k=3"], overrides={"gsm8k": {item: Gold(secret, note="a test") for item in OWN}})
    asked: list[str] = []
    plain = model._answer

    def answer(request: Request, index: int) -> Any:
        asked.append("".join(message.content for message in request.messages if message.role == "user" and "answer is" not in message.content))
        return plain(request, index)

    model._answer = answer
    rows = run(made, tmp_path, model)
    assert not any(secret in text for text in asked)
    for path in (tmp_path / TRACES).iterdir():
        for line in path.read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "started":
                assert secret not in line
            if event["event"] == "stopped":
                assert event["solved"] is not True
                assert event["reason"] != "solved"
    assert {row.verdict for row in rows if row.answer == secret} == {"correct"}
    assert any(row.answer == secret for row in rows)


def test_an_item_that_fails_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    def answer(request: Request, index: int) -> str:
        if OWN[FIRST] in request.messages[-1].content:
            raise PermanentError("this prompt is refused")
        return "The answer is 1."

    rows = run(grid(methods=["io", "tot_bfs"]), tmp_path, Scripted(answer))
    failed = [row for row in rows if row.status == "failed"]
    assert [row.item for row in failed] == [FIRST, FIRST]
    assert all((row.verdict, row.score, row.answer) == ("failed", 0.0, None) for row in failed)
    assert all("this prompt is refused" in str(row.error) for row in failed)
    assert all(row.usage["calls"] for row in failed), "an attempt is a call"
    assert len([row for row in rows if row.status == "ok"]) == 2


def test_an_item_that_cannot_be_read_is_a_row(tmp_path: Path) -> None:
    data = tmp_path / "24.csv"
    data.write_text("Rank,Puzzles\n1,1 1 4 6\n2,1 1 4\n")
    made = grid(data=data, tasks=[{"task": "game24", "items": "1:2"}])
    rows = {row.item: row for row in run(made, tmp_path / "out", says("Answer: (1 + 1) * 4 * 6 = 24"))}
    assert {row.status for row in rows.values()} == {"ok", "failed"}


def test_a_gold_that_cannot_be_read_is_invalid_and_not_wrong(tmp_path: Path) -> None:
    rows = run(grid(overrides={"gsm8k": {FIRST: Gold("many", note="a test")}}), tmp_path, says("The answer is 1."))
    assert {row.item == FIRST: row.verdict for row in rows} == {True: "invalid_gold", False: "wrong"}


def test_one_failing_call_keeps_its_siblings(tmp_path: Path) -> None:
    """Case 95: of five evaluations at once the third raises: four are kept, and all that was paid for is in the row."""
    calls = 0

    def answer(request: Request, index: int) -> str:
        nonlocal calls
        calls += 1
        prompt = request.messages[-1].content
        if request.role == "evaluate":
            if "way 2" in prompt:
                raise TransientError("the third was cut off")
            return "likely"
        return "The answer is 7." if "way" in prompt else f"Strategy: way {index}"

    made = grid(tasks=[{"task": "gsm8k", "items": "1"}], methods=["tot_bfs?evaluate=value&samples=1&generate=sample&k=5&depth=2&breadth=5"])
    (row,) = run(made, tmp_path, Scripted(answer))
    tree = read_traced(tmp_path / row.trace[0]).tree
    judged = {node.thought: node.count for node in tree if node.depth == 1}
    assert judged == {f"Strategy: way {n}": int(n != 2) for n in range(5)}
    assert (row.status, row.answer) == ("ok", "7")
    assert row.usage["calls"] == calls


def test_when_rows_cannot_be_written_what_runs_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 95: on a real abort the others are cancelled and awaited, and nothing goes on spending."""
    from branchwise.bench import desk as desks

    running: set[str] = set()

    async def latency(request: Request) -> None:
        running.add(str(request.id))
        try:
            await asyncio.sleep(0.02 if len(running) > 1 else 0)
        finally:
            running.discard(str(request.id))

    model = Scripted([{"replies": ["The answer is 1."]}], latency=latency)

    def full(self: Any, row: Any) -> bool:
        raise desks.BranchwiseError("no space left")

    monkeypatch.setattr(desks.Desk, "append", full)
    with pytest.raises(desks.BranchwiseError, match="no space left"):
        run(grid(tasks=[{"task": "gsm8k", "items": "1:8"}]), tmp_path, model)
    assert not running


def test_a_row_can_be_replayed_offline(tmp_path: Path) -> None:
    """Case 92: the trace of a unit is a tape, and gives the run again with the same seed, method and settings, without a model."""
    from click.testing import CliRunner

    from branchwise.cli.main import cli

    made = grid(tasks=[{"task": "gsm8k", "items": "1"}], methods=["tot_bfs?breadth=2", "cot_sc?k=3"], seeds=[5], temperature=0.3, max_tokens=200)
    for row in run(made, tmp_path, noisy(0.5)):
        said = CliRunner().invoke(cli, ["solve", "--model", f"tape:{tmp_path / row.trace[0]}", "--trace", "none", "--json", "--quiet"])
        told = json.loads(said.stdout)
        assert said.exit_code == 0
        assert (told["answer"], told["seed"], told["usage"]["calls"]) == (row.answer, 5, row.usage["calls"])


def test_equal_units_can_be_replayed_too(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from branchwise.cli.main import cli

    made = grid(tasks=[{"task": "gsm8k", "items": "1"}], methods=["io", "cot_sc"], equal={"by": "calls", "amount": 7})
    for row in run(made, tmp_path, noisy(0.5)):
        for trace, vote in zip(row.trace, row.votes, strict=True):
            said = CliRunner().invoke(cli, ["solve", "--model", f"tape:{tmp_path / trace}", "--trace", "none", "--json", "--quiet"])
            assert json.loads(said.stdout)["answer"] == vote


def test_what_was_stopped_has_no_row_and_goes_on_without_paying_twice(tmp_path: Path) -> None:
    stop = Stop()
    model = noisy(0.5)
    plain, count = model._answer, 0

    def answer(request: Request, index: int) -> Any:
        nonlocal count
        count += 1
        if count == 6:
            stop.now()
        return plain(request, index)

    model._answer = answer
    made = grid(methods=["tot_bfs", "refine?rounds=3"])
    first = run(made, tmp_path / "a", model, stop=stop)
    assert len(first) < 4
    rows = run(made, tmp_path / "a", model)
    whole = run(made, tmp_path / "b", noisy(0.5))
    assert by_unit(rows) == by_unit(whole)
    paid = sum(len(event.samples) for path in (tmp_path / "a" / TRACES).iterdir() for event in read_trace(path) if isinstance(event, Call))
    assert paid == sum(row.usage["calls"] for row in whole)


def test_a_budget_of_the_whole_holds_over_starts(tmp_path: Path) -> None:
    made = grid(methods=["cot_sc?k=3", "io"], tasks=[{"task": "gsm8k", "items": "1:5"}])
    calls = 0

    def answer(request: Request, index: int) -> str:
        nonlocal calls
        calls += 1
        return "The answer is 1."

    from branchwise.bench.desk import Desk

    for cap in (7, 12, 100):
        with Desk(made, tmp_path) as desk:
            assert desk.spent().calls == calls
        rows = run(made, tmp_path, Scripted(answer), jobs=3, limits=Budget(calls=cap))
        assert calls <= cap
    assert calls == 20
    assert len(rows) == 10


def test_units_that_their_time_cuts_off_count_at_their_worst_in_this_start_and_the_next(tmp_path: Path) -> None:
    """The server never answers, and bills all that it may. Each unit is cut after 0.05 s: a limit of tokens that holds two requests allows two, in
    all starts together."""
    from branchwise.bench.desk import Desk
    from branchwise.model.layers.metered import request_bound

    made = grid(methods=["io"], tasks=[{"task": "gsm8k", "items": "1:5"}], budget={"seconds": 0.05})
    billed: list[int] = []

    async def forever(request: Request) -> None:
        billed.append(request_bound(request).tokens)
        await asyncio.sleep(60)

    run(made, tmp_path / "whole", Scripted(lambda request, index: "never", latency=forever), jobs=1)
    assert len(billed) == 5
    room, counted = sum(billed[:2]), sum(billed)
    with Desk(made, tmp_path / "whole") as desk:
        assert (desk.spent().calls, desk.spent().tokens) == (5, counted)
    billed.clear()
    for _ in range(3):
        rows = run(made, tmp_path / "limited", Scripted(lambda request, index: "never", latency=forever), jobs=1, limits=Budget(tokens=room))
        assert len(rows) == len(billed) == 2
        assert sum(billed) == room
    assert sum(row.paid["prompt_tokens"] for row in rows) < room / 4, "the rows have an estimate of the prompts"


def test_costs_are_in_the_row_and_a_limit_in_dollars_holds(tmp_path: Path) -> None:
    price = Price(1000.0, 2000.0)
    made = grid(methods=["cot_sc?k=5"], tasks=[{"task": "gsm8k", "items": "1:4"}])
    rows = run(made, tmp_path / "a", noisy(0.5), price=price)
    cost = sum(row.usage["cost_usd"] for row in rows)
    assert cost == pytest.approx(sum(row.usage["prompt_tokens"] * 1e-3 + row.usage["completion_tokens"] * 2e-3 for row in rows), abs=1e-4)
    purse = Purse(Budget(cost=cost / 2))
    some = run(made, tmp_path / "b", noisy(0.5), price=price, purse=purse, jobs=1)
    assert len(some) < 4
    assert purse.spent.cost <= cost / 2 * 1e6
    assert purse.empty == "cost"
