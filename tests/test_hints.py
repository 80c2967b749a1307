"""What a run says about itself at its end: confidence, over-pruning, low confidence with two adjustments; and before its start: explosion."""

from __future__ import annotations

from typing import Any

import pytest

from branchwise import METHODS, BestFirst, Budget, Method, Node, Result, best_path, dead, estimate, preset, solve
from branchwise.hints import _adjustments, confidence
from branchwise.problem import OPEN
from branchwise.tree import Node as TreeNode
from support.models import FakeModel, Known, Listed, silent
from support.worlds import Drawn


def path(*values: float | None) -> Node:
    """The end of a path whose thoughts have these values."""
    node = TreeNode(0, None, 0, "", OPEN)
    for number, value in enumerate(values, 1):
        node = TreeNode(number, node, 0, f"z{number}", OPEN)
        if value is not None:
            node.mean, node.count = value, 1
    return node


async def run(drawn: Drawn, **settings: Any) -> Result:
    settings = {"depth": 3, "prune_below": 0.3, "max_nodes": None, **settings}
    method = Method(generate=Listed(k=3), evaluate=Known(), search=BestFirst(**settings), pick=best_path)
    return await solve(drawn, method, FakeModel(silent))


def test_confidence_is_the_mean_value_of_the_thoughts_the_root_left_out() -> None:
    assert confidence(path(0.75, 0.82)) == pytest.approx(0.785)
    assert confidence(path(0.4)) == 0.4
    assert confidence(path(0.4, None, 0.6)) == pytest.approx(0.5)


def test_a_length_penalty_divides_by_one_and_a_tenth_a_thought() -> None:
    assert confidence(path(0.75, 0.82), length_penalty=True) == pytest.approx(0.785 / 1.2)


def test_where_nothing_was_generated_it_is_zero() -> None:
    assert confidence(None) == 0.0
    assert confidence(path()) == 0.0
    assert confidence(path(None)) == 0.0


def explosion(k: int, **settings: Any) -> tuple[int, int, tuple[str, ...]]:
    method = Method(generate=Listed(k=k), evaluate=Known(), search=BestFirst(depth=3, **settings), pick=best_path)
    found = estimate(Drawn({}), method)
    return found.states, found.judged, found.warnings


def test_the_worst_case_is_the_sum_of_all_levels() -> None:
    """3 + 9 + 27 = 39 and 5 + 25 + 125 = 155, the leaves 27 and 125."""
    assert explosion(3, max_nodes=None)[:2] == (39, 39)
    assert explosion(5, max_nodes=None)[:2] == (155, 155)


def test_leaves_and_all_levels_are_told_and_branch_explosion_where_no_budget_bounds_them() -> None:
    method = Method(generate=Listed(k=5), evaluate=Known(), search=BestFirst(depth=3, max_nodes=None), pick=best_path)
    found = estimate(Drawn({}), method)
    assert found.formula[0] == "the whole tree: 5^3 = 125 leaves, 155 thoughts on all levels"
    assert found.warnings[0].startswith("branch explosion: up to 155 states")
    assert not found.bounded
    for budget in (Budget(calls=9), Budget(nodes=9), Budget(seconds=9)):
        assert estimate(Drawn({}), method, budget=budget).warnings == ()
    assert explosion(3, max_nodes=15)[2] == ()


async def test_over_pruning_is_told() -> None:
    drawn = Drawn(
        {(): ["a", "b", "c"], ("a",): ["d", "e"], ("a", "d"): ["f"]},
        {("a",): 0.9, ("b",): 0.1, ("c",): 0.2, ("a", "d"): 0.8, ("a", "e"): 0.1, ("a", "d", "f"): 0.7},
    )
    result = await run(drawn)
    assert any(warning.startswith("over-pruning: the threshold left one path") for warning in result.warnings)
    assert result.path == ["a", "d", "f"]
    assert not any("over-pruning" in warning for warning in (await run(drawn, prune_below=0.0)).warnings)


async def test_low_confidence_comes_with_two_concrete_adjustments() -> None:
    drawn = Drawn({(): ["a", "b"]}, {("a",): 0.4, ("b",): 0.35})
    result = await run(drawn)
    assert result.confidence == 0.4
    advice = next(warning for warning in result.warnings if "confidence is low" in warning)
    assert advice == "the confidence is low (0.40): raise k from 3 to 5, or lower the pruning threshold from 0.3 to 0.15"
    sure = await run(Drawn({(): ["a", "b"]}, {("a",): 0.9, ("b",): 0.35}))
    assert not any("confidence is low" in warning for warning in sure.warnings)


async def test_a_dead_end_is_never_the_answer_whatever_its_value() -> None:
    drawn = Drawn({(): ["a", "b"]}, {("a",): 1.0, ("b",): 0.4}, {("a",): dead("a pit")})
    result = await run(drawn)
    assert result.path == ["b"]
    assert next(iter(result.tree)).value == 0.0
    nothing = await run(Drawn({(): ["a"]}, {("a",): 1.0}, {("a",): dead("a pit")}))
    assert nothing.node is None
    assert nothing.confidence == 0.0


async def test_backtracking_expands_the_three_best_open_nodes_when_confidence_is_low() -> None:
    """k = 3, ten places, nine of them for going back. a is best and leads to 0.31: the path's confidence is 0.4 or less all along."""
    children = {(): ["a", "b", "c"], **{(name,): [f"{name}{n}" for n in range(3)] for name in "abc"}}
    values = {("a",): 0.42, ("b",): 0.41, ("c",): 0.40} | {(n, f"{n}{i}"): 0.31 for n in "abc" for i in range(3)}
    result = await run(Drawn(children, values), depth=2, max_nodes=12, backtrack=True)
    expanded = {node.thought for node in result.tree if node.children}
    assert {"a", "b", "c"} >= expanded >= {"b", "c"}


def test_what_is_advised_is_a_setting_of_the_method() -> None:
    for name in ("best_of_n", "tot_bfs", "mcts"):
        method = preset(name).make()
        advice = _adjustments(method, 0.0)
        told = {"breadth": "raise the breadth", "rollouts": "raise the rollouts", "k": "raise k"}
        for setting, words in told.items():
            assert words not in advice or setting in METHODS[name].settings, (name, advice)
