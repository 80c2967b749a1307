"""What must hold for every method by name, whichever there are: one tree for every latency, caps, resume, tape, estimate, a clean end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from branchwise import (
    METHODS,
    Budget,
    Check,
    Combine,
    Method,
    MethodError,
    Price,
    Stop,
    TapeModel,
    Tree,
    Value,
    estimate,
    preset,
    read_trace,
    solve,
)
from branchwise.cli.main import cli
from branchwise.errors import UsageError
from branchwise.methods import evaluator
from branchwise.thought.reward_model import RewardModel
from branchwise.thought.rollout import Rollout
from support.models import FakeModel, silent
from support.runs import TWICE, run
from support.trees import snapshot
from support.worlds import Toy

NAMES = list(METHODS)


def small(name: str) -> Method:
    """The preset, kept small where it has such settings."""
    found = preset(name)
    wanted = {"rollouts": 4, "max_nodes": 8, "k": 3, "breadth": 2, "rounds": 3, "max_steps": 10, "iterations": 5}
    return found.build(name, {key: value for key, value in wanted.items() if key in found.settings})


@pytest.mark.parametrize("name", NAMES)
async def test_one_tree_for_every_latency_and_parallelism(name: str) -> None:
    grown = 0
    for seed in range(4):
        toy = Toy(seed, solved=0.02 * (seed % 2))
        first, _ = await run(toy, small(name), parallel=1, jitter=0, seed=seed)
        grown += len(first.tree)
        for parallel in (4, 16):
            again, _ = await run(toy, small(name), parallel=parallel, jitter=parallel, seed=seed)
            assert snapshot(again.tree) == snapshot(first.tree)
            assert (again.stop_reason, again.answer) == (first.stop_reason, first.answer)
    assert grown


@pytest.mark.parametrize("name", NAMES)
async def test_caps_hold_and_a_capped_run_is_the_same_for_every_latency(name: str) -> None:
    for seed in range(6):
        toy = Toy(seed)
        for budget in (
            Budget(calls=1 + 2 * seed),
            Budget(tokens=600 + 700 * seed),
            Budget(cost=0.0004 * (1 + seed)),
            Budget(nodes=1 + seed),
        ):
            first, model = await run(toy, small(name), budget=budget, price=Price(0.3, 0.7), greedy=True, parallel=1, jitter=0)
            again, _ = await run(toy, small(name), budget=budget, price=Price(0.3, 0.7), greedy=True, parallel=8, jitter=seed)
            assert model.calls == first.usage.calls
            assert budget.calls is None or model.calls <= budget.calls
            assert budget.tokens is None or first.usage.tokens <= budget.tokens
            assert budget.cost is None or (first.usage.cost or 0) <= round(budget.cost * 1e6)
            assert budget.nodes is None or len(first.tree) <= budget.nodes
            assert snapshot(again.tree) == snapshot(first.tree), (seed, budget)
            assert again.stop_reason == first.stop_reason


@pytest.mark.parametrize("name", NAMES)
async def test_resume_tape_and_fold(name: str, tmp_path: Path) -> None:
    for seed in range(3):
        toy, trace = Toy(seed), tmp_path / f"{seed}.jsonl"
        whole, model = await run(toy, small(name), seed=seed)
        if not model.calls:
            continue
        first, one = await run(toy, small(name), seed=seed, trace=trace, budget=Budget(calls=1 + model.calls // 2), parallel=4)
        assert snapshot(Tree.fold(read_trace(trace))) == snapshot(first.tree)
        again, two = await run(toy, small(name), seed=seed, resume=trace, parallel=8)
        assert snapshot(again.tree) == snapshot(whole.tree)
        assert set(two.samples) == set(model.samples) - set(one.samples)
        replayed, _ = await run(toy, small(name), seed=seed, model=_still(TapeModel.open(trace)))
        assert snapshot(replayed.tree) == snapshot(whole.tree)
        third, none = await run(toy, small(name), seed=seed, resume=trace, model=FakeModel(silent))
        assert none.calls == 0
        assert snapshot(third.tree) == snapshot(whole.tree)


def _still(model: TapeModel) -> TapeModel:
    model.flying = 0  # type: ignore[attr-defined]
    return model


@pytest.mark.parametrize("name", NAMES)
async def test_the_estimate_is_never_exceeded(name: str) -> None:
    for seed in range(12):
        toy = Toy(seed, branching=8, dead=0.05 * (seed % 2), complete=0.05 * (seed % 3), malformed=0.1 * (seed % 2), merge=seed % 3 > 0)
        method = small(name) if seed % 2 else preset(name).make()
        worst = estimate(toy, method)
        result, _ = await run(toy, method, greedy=True, seed=seed)
        assert result.usage.calls <= worst.calls
        assert result.usage.prompt_tokens <= worst.prompt_tokens
        assert result.usage.completion_tokens <= worst.completion_tokens


@pytest.mark.parametrize("name", NAMES)
async def test_a_stop_at_any_moment_leaves_nothing_behind_and_can_be_resumed(name: str, tmp_path: Path) -> None:
    toy = Toy(1)
    whole, _ = await run(toy, small(name))
    for at in (1, 3, 7):
        stop, model, trace = Stop(), FakeModel(toy.reply, jitter=at, turns=20), tmp_path / f"{at}.jsonl"
        task = asyncio.create_task(solve(toy, small(name), model, stop=stop, trace=trace, retry=TWICE))
        while not task.done() and model.calls < at:  # noqa: ASYNC110
            await asyncio.sleep(0)
        stop.now()
        result = await task
        assert model.flying == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert result.usage.calls == model.calls
        again, _ = await run(toy, small(name), resume=trace)
        assert snapshot(again.tree) == snapshot(whole.tree)


def test_a_star_prunes_and_goes_back_where_asked() -> None:
    search = preset("a_star").build("a_star", {"prune_below": 0.2, "backtrack": True}).search
    assert (getattr(search, "prune_below", None), getattr(search, "backtrack", None)) == (0.2, True)
    usual = preset("a_star").make().search
    assert (getattr(usual, "prune_below", None), getattr(usual, "backtrack", None)) == (0.0, False)


async def test_evaluators_can_be_joined_by_name() -> None:
    joined = evaluator("check + value", 2)
    assert joined == Combine(Check(), Value(samples=2))
    assert evaluator("rollout", 3) == Rollout(samples=3)
    result, _ = await run(Toy(4, dead=0, complete=0, malformed=0, full=True, merge=False), preset("mcts").make(evaluate="check+value", rollouts=4))
    assert any(node.samples for node in result.tree)
    for name, why in (("value+value", "twice"), ("value+reward", "goes with check only"), ("value+", "unknown evaluator"), ("valu", "value")):
        with pytest.raises(UsageError, match=why):
            evaluator(name, 1)
    assert evaluator("check+reward", 1) == Combine(Check(), RewardModel())
    with pytest.raises(MethodError, match="vote × mcts"):
        preset("mcts").make(evaluate="vote+value")


def test_a_joined_evaluator_reaches_the_command_line() -> None:
    script = Path(__file__).parents[1] / "examples" / "game24_script.jsonl"
    words = ["solve", "4 9 10 13", "--task", "game24", "--model", f"script:{script}", "--trace", "none", "--evaluate"]
    done = CliRunner().invoke(cli, [*words, "check+value"])
    assert (done.exit_code, "(13 - 9) * (10 - 4) = 24" in done.output) == (0, True), done.output
    played = CliRunner().invoke(cli, [*words, "rollout"]).output
    assert "rollouts ended without a verdict" in " ".join(played.split()), played
    for wrong in ("value+nonsense", "value+", "+"):
        refused = CliRunner().invoke(cli, [*words, wrong])
        assert refused.exit_code == 2
        assert "rollout" in refused.output, "what there is is named"
    refused = CliRunner().invoke(cli, ["solve", "1 1 1 1", "--task", "game24", "--model", "local", "--evaluate", "check+reward"])
    assert "go together" in refused.output
