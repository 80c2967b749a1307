"""An unknown value is no number, in every search and pick (case 9); and the single samples of MCTSr's Q. Worked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchwise import (
    AStar,
    Mcts,
    Method,
    Node,
    Scripted,
    SelfRefine,
    SelfRefineSearch,
    SelfReward,
    Tree,
    best_refined,
    most_visited,
    read_trace,
    solve,
)
from branchwise.search.pick import refined_values
from branchwise.search.self_refine import quality
from branchwise.trace import Birth, Expanded, Judged, Judgement
from search.test_golden_by_value import drawn, searched
from support.frontiers import Driver
from support.refining import Answers, find, refined, unit
from support.worlds import PROMPTS


async def test_a_rewrite_whose_grade_cannot_be_read_takes_nothing_from_its_father() -> None:
    """r 80 → 0.9, its rewrite a is unknown: Q'(r) = Q(r) = 0.9, not ½ (0.9 + 0). c = 0, so that UCT is Q': a has its father's, r is older.

    Roll-out 1: r again (80), a. Roll-out 2: r again, b 10 → 0.55: Q'(r) = ½ (0.9 + 0.55) = 0.725, above b and s (-90 → 0.05).
    """
    rewards: dict[str, list[float | None]] = {"r": [80], "s": [-90], "a": [None], "b": [10]}
    settings: dict[str, Any] = {"exploration": 0}
    for rollouts, expected in ((1, {"r": 0.9, "s": 0.05, "a": None}), (2, {"r": 0.725, "s": 0.05, "a": None, "b": 0.55})):
        result, rewritten = await refined(["r", "s"], {"r": ["a", "b"]}, rewards, rollouts=rollouts, **settings)
        assert rewritten == ["r"] * rollouts
        values = refined_values(result.tree)
        found = {node.thought: values[node.birth] for node in result.tree}
        assert found == {name: None if value is None else pytest.approx(value) for name, value in expected.items()}
        assert result.answer == "r"
    assert any(warning.startswith("1 of 6 judgements could not be read, which left 1 of 4 thoughts") for warning in result.warnings)


async def test_one_grade_less_is_said_too_where_the_answer_has_another() -> None:
    """r is graded 50 at its birth; the grade of its visit cannot be read: Q(r) = ½ (0.75 + 0.75), and 1 of 3 grades is missing."""
    result, _ = await refined(["r"], {"r": ["a"]}, {"r": [50, None], "a": [0]}, rollouts=1)
    assert quality(find(result, "r")) == 0.75
    assert any(warning.startswith("1 of 3 judgements could not be read;") for warning in result.warnings)


async def test_an_answer_without_a_grade_answers_only_where_no_other_has_one() -> None:
    """c = 0. u has no grade and nothing above it: 0.5 stands in, more than s (-90 → 0.05). So u is graded again, in vain, and rewritten: b 60.

    Q'(u) = Q'(b) = 0.8, but u itself has no grade: b answers. Where b has none either, s does. Where nothing has one, the first does.
    """
    for grade, other, answer in ((60, -90, "b"), (None, -90, "s"), (None, None, "u")):
        rewards: dict[str, list[float | None]] = {"u": [None], "s": [other], "b": [grade]}
        result, rewritten = await refined(["u", "s"], {"u": ["b"]}, rewards, rollouts=1, exploration=0)
        assert rewritten == ["u"]
        assert refined_values(result.tree)[1] == (None if grade is None else pytest.approx(0.8))
        assert result.answer == answer
    assert any(warning.startswith("none of the 4 judgements could be read") for warning in result.warnings)


async def test_most_visited_counts_visits_and_takes_the_known_of_equals() -> None:
    """s, u and the rewrite b of u (c = 0, 0.5 for u): u is visited twice, and wins; by one visit each, b 60 beats s -90, and both an unknown."""
    rewards: dict[str, list[float | None]] = {"u": [None], "s": [-90], "b": [60]}
    result, _ = await refined(["u", "s"], {"u": ["b"]}, rewards, rollouts=1, exploration=0, pick=most_visited)
    assert result.answer == "u"
    tree = result.tree
    tree.nodes[1].unknown = 1
    assert most_visited(tree, Answers()) is find(result, "b")


def test_what_stands_in_for_an_unknown_q_is_the_nearest_one_above_as_it_is_now() -> None:
    """c = 0. r 40 → 0.7; its rewrite a unknown: UCT(a) = 0.7. r again 0 → Q(r) = ½ (0.5 + 0.6) = 0.55: UCT(a) = 0.55 too.

    Now a is graded 80 → 0.9: UCT(a) = 0.9, Q'(r) = ½ (0.55 + 0.9) = 0.725.
    """
    driver = Driver(SelfRefineSearch(roots=1, exploration=0, rollouts=1))
    frontier: Any = driver.frontier

    def grade(birth: int, reward: float | None) -> None:
        driver.frontier.tell(driver.tree.apply(Judged(1, [Judgement(birth, None if reward is None else unit(reward))])))  # type: ignore[arg-type]

    driver._tell(Expanded(1, 0, [Birth(1, 0, "r", "complete")], judgements=[Judgement(1, unit(40))]))
    driver._tell(Expanded(1, 1, [Birth(2, 0, "a", "complete")], judgements=[Judgement(2, None, (None,))]))
    r, a = driver.tree.nodes[1:]
    assert (frontier._current(r), frontier._current(a)) == (pytest.approx(0.7), pytest.approx(0.7))
    grade(1, 0)
    assert (frontier._current(r), frontier._current(a)) == (pytest.approx(0.55), pytest.approx(0.55))
    grade(2, 80)
    assert (frontier._current(r), frontier._current(a)) == (pytest.approx(0.725), pytest.approx(0.9))


async def test_q_is_over_all_single_samples_also_of_a_trace_and_a_resumed_run(tmp_path: Path) -> None:
    """80, 20, 20 at each of two visits: min 20, mean 40: Q = ½ (20 + 40) = 30, not ½ (40 + 40). The rewrite has one visit: 30 as well."""

    class Task(Answers):
        prompts = PROMPTS

    def reply(request: Any, i: int) -> str:
        return f"Score: {(80, 20, 20)[i % 3]}" if request.role == "evaluate" else f"answer {request.seeds[i]}"

    search = SelfRefineSearch(roots=1, rollouts=1, patience=0)
    method = Method(generate=SelfRefine(roots="naive"), evaluate=SelfReward(samples=3), search=search, pick=best_refined)
    trace = tmp_path / "t.jsonl"
    first = await solve(Task(), method, Scripted(reply), trace=trace)
    again = await solve(Task(), method, Scripted(reply), resume=trace)
    for tree in (first.tree, again.tree, Tree.fold(read_trace(trace))):
        assert [(node.count, node.singles) for node in tree] == [(2, 6), (1, 3)]
        assert [quality(node) for node in tree] == [pytest.approx(unit(30))] * 2


def judged(*judgements: tuple[float | None, tuple[float | None, ...]]) -> Node:
    tree = Tree()
    tree.apply(Expanded(1, 0, [Birth(1, 0, "a")]))
    for value, samples in judgements:
        tree.apply(Judged(1, [Judgement(1, value, samples)]))
    return tree.nodes[1]


def test_samples_that_could_not_be_read_are_left_out_and_visits_weigh_by_their_samples() -> None:
    """(0.9, unread) and (0.6, 0.6): the samples are 0.9, 0.6, 0.6: mean 0.7, min 0.6, Q 0.65. By the visit it would be mean 0.75."""
    node = judged((0.9, (0.9, None)), (0.6, (0.6, 0.6)), (None, (None, None)))
    assert (node.mean, node.minimum, node.singles) == (pytest.approx(0.7), 0.6, 3)
    assert (node.count, node.unknown) == (2, 1), "visits are counted as before"
    assert quality(node) == pytest.approx(0.65)


def test_a_value_that_is_not_the_mean_of_its_samples_is_one_sample() -> None:
    """A weighted combination 0.3 of (0.2, 0.9), then 0.5 by itself: the samples are 0.3 and 0.5."""
    node = judged((0.3, (0.2, 0.9)), (0.5, ()))
    assert (node.mean, node.minimum, node.singles) == (pytest.approx(0.4), 0.3, 2)
    assert judged((0.55, (0.2, 0.9))).value == 0.55, "one judgement keeps its value to the last bit"


async def test_mcts_leaves_a_rollout_without_a_value_out_of_q() -> None:
    """c = 0. x gives a unknown and b 0.3: b first; bm 0.1, so Q(b) = 0.1; then a, whose am is unknown too: its rollout has no value.

    Q(x) = ½ (0.3 + 0.1) = 0.2 stands in for Q(a): the next is am, below a, and not bm (0.1). As a 0 it would have been bm.
    """
    values: dict[str, float | None] = {"a": None, "b": 0.3, "am": None, "bm": 0.1, "amx": 0.1, "bmx": 0.1}
    _, expanded = await searched(drawn(values), Mcts(rollouts=4, depth=3, exploration=0.0))
    assert expanded == ["", "b", "a", "am"]


async def test_puct_takes_the_mean_of_the_known_priors_for_one_that_is_not_known() -> None:
    """c = 1. x gives a unknown, b 0.6, c 0.2: Q(x) = 0.4; the prior of a is 0.4; of 1.2 in all a has 1/3, b ½, c 1/6.

    1  N(x) = 1: a 0.4 + 1/3 = 0.733; b 0.6 + 0.5 = 1.1; c 0.2 + 0.167: b, which gives 0.0
    2  N(x) = 2, Q(x) = ½ (0.4 + 0) = 0.2: a 0.2 + 1.414/3 = 0.671; b 0 + 1.414·½/2 = 0.354; c 0.2 + 1.414/6 = 0.436: a. As a 0 it would be c.
    """
    values: dict[str, float | None] = {"a": None, "b": 0.6, "c": 0.2, "bm": 0.0, "am": 0.1, "cm": 0.1}
    _, expanded = await searched(drawn(values), Mcts(rollouts=3, depth=3, puct=True))
    assert expanded == ["", "b", "a"]


@pytest.mark.parametrize("cost", ["unit", "log"])
async def test_a_star_expands_an_unknown_value_after_every_known_one(cost: Any) -> None:
    """u unknown was born before z 0.0; f(z) is as high as can be, and still a number."""
    _, expanded = await searched(drawn({"u": None, "z": 0.0, "uu": 0.5, "zz": 0.0}), AStar(depth=2, cost_model=cost))
    assert expanded == ["", "z", "u"]


def test_an_unknown_step_costs_as_the_known_one_above_it() -> None:
    """Log cost, below a 0.5 with g = 0.693: the step of u is 0.693 too, so g(u) = 1.386; below an unknown first thought it is nothing."""
    driver = Driver(AStar(depth=3, cost_model="log"))
    driver._tell(Expanded(1, 0, [Birth(1, 0, "a"), Birth(2, 1, "v")], judgements=[Judgement(1, 0.5)]))
    driver._tell(Expanded(1, 1, [Birth(3, 0, "u")]))
    search = AStar(depth=3, cost_model="log")
    assert search.cost(driver.tree.nodes[3], 0.693147) == (float("inf"), pytest.approx(1.386294))
    assert search.cost(driver.tree.nodes[2], 0.0) == (float("inf"), 0.0)
