"""DFS visits in order, prunes at or below the threshold, comes back; against Algorithm 2 on random trees, and without any engine."""

from __future__ import annotations

from random import Random

import pytest

from branchwise import COMPLETE, SOLVED, DepthFirst, Fate, Method, UsageError, dead, deepest, solve
from support.frontiers import Driver
from support.models import FakeModel, Known, Listed, silent
from support.reference import tot_dfs
from support.worlds import Drawn, random_tree


@pytest.mark.parametrize("at", [-1.0, 0.0, 0.25, 0.5])
async def test_dfs_is_algorithm_2(at: float) -> None:
    for seed in range(120):
        rng = Random(seed)
        problem = random_tree(rng, merge=bool(seed % 2))
        depth, steps = rng.randint(1, 4), rng.choice((1, 3, 8, 100))
        truth = tot_dfs(
            lambda s, p=problem: p.children.get(s, []), problem.values.get, problem.status, problem.key, depth=depth, at=at, max_steps=steps
        )
        search = DepthFirst(depth=depth, prune_at=at, max_steps=steps)
        result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=search, pick=deepest), FakeModel(silent))
        visited = sorted((node for node in result.tree if node.decided), key=lambda node: node.decided)
        assert [node.state for node in visited] == truth.valued
        assert [node.state for node in visited if node.fate is Fate.PRUNED] == truth.pruned
        assert [node.state for node in visited if node.fate is Fate.KEPT] == truth.kept
        assert [node.state for node in result.tree] == truth.born
        assert result.tree.counts().merged == truth.merged
        if truth.output is not None:
            assert result.path == list(truth.output)


def test_the_most_confident_child_comes_first_and_equals_keep_the_generators_order() -> None:
    driver = Driver(DepthFirst(depth=1))
    driver.expand(["a", "b", "c", "d", "e"], confidences=[None, 0.5, 1.2, 0.5, None])
    seen = []
    for _ in range(5):
        seen.append(driver.pending[0].nodes[0].thought)
        driver.judge([0.9])
    assert "".join(seen) == "cbdae"
    assert driver.pending == []
    assert driver.frontier.ended == "exhausted"


def test_a_child_is_valued_when_its_turn_comes_and_not_before() -> None:
    driver = Driver(DepthFirst(depth=2))
    driver.expand(["a", "b"])
    assert [node.thought for node in driver.pending[0].nodes] == ["a"]
    driver.judge([0.9])
    assert driver.pending_expansions()[0].node.thought == "a"
    driver.expand(["c"])
    driver.judge([0.0])
    assert [node.thought for node in driver.pruned] == ["c"]
    assert [node.thought for node in driver.pending[0].nodes] == ["b"], "it comes back"


@pytest.mark.parametrize(("value", "pruned"), [(0.2, True), (0.2000001, False), (0.0, True), (None, False), (1.0, False)])
def test_a_value_at_the_threshold_prunes_and_an_unknown_one_does_not(value: float | None, pruned: bool) -> None:
    driver = Driver(DepthFirst(depth=2, prune_at=0.2))
    driver.expand(["a"])
    driver.judge([value])
    assert bool(driver.pruned) == pruned
    assert bool(driver.kept) != pruned


def test_minus_one_never_prunes() -> None:
    driver = Driver(DepthFirst(depth=2, prune_at=-1))
    driver.expand(["a"])
    driver.judge([0.0])
    assert driver.kept


def test_a_failed_or_empty_expansion_goes_back() -> None:
    for failed in ("", "down"):
        driver = Driver(DepthFirst(depth=3))
        driver.expand(["a", "b"])
        driver.judge([0.9])
        driver.expand([], failed=failed)
        assert [node.thought for node in driver.pending[0].nodes] == ["b"]


def test_dead_children_are_never_visited() -> None:
    driver = Driver(DepthFirst(depth=2))
    driver.expand([("a", "dead"), "b", ("c", "dead")])
    driver.judge([0.9])
    driver.expand([("d", "dead")])
    assert driver.pending == []
    assert driver.frontier.ended == "exhausted"


async def test_a_proof_ends_the_search_before_anything_of_that_step_is_judged() -> None:
    problem = Drawn({(): ["a", "b"], ("a",): ["c", "goal"]}, {("a",): 0.5}, {("a", "goal"): SOLVED})
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=DepthFirst(), pick=deepest), FakeModel(silent))
    assert (result.stop_reason, result.answer, result.solved) == ("solved", "goal", True)
    assert [node.thought for node in result.tree if node.count] == ["a"]


async def test_complete_answers_are_visited_and_not_expanded() -> None:
    problem = Drawn(
        {(): ["end", "pit"], ("end",): ["more"], ("pit",): ["more"]}, {("end",): 0.5}, {("end",): COMPLETE, ("pit",): dead("x")}
    )
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=DepthFirst(), pick=deepest), FakeModel(silent))
    assert [(node.thought, node.fate) for node in result.tree] == [("end", "kept"), ("pit", "undecided")]
    assert result.answer == "end"


async def test_a_complete_answer_that_a_program_refutes_costs_no_call() -> None:
    problem = Drawn({(): ["wrong"]}, {("wrong",): 1.0}, {("wrong",): COMPLETE}, provable=True)
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=DepthFirst()), FakeModel(silent))
    assert result.tree.nodes[1].value == 0.0
    assert result.tree.nodes[1].fate is Fate.PRUNED


@pytest.mark.parametrize("bad", [{"depth": 0}, {"max_steps": 0}])
def test_bad_settings_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        DepthFirst(**bad)
