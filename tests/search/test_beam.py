"""Beam keeps exactly the best b of a level, ties by birth, unknown last; against Algorithm 1 on random trees, and without any engine."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise import COMPLETE, SOLVED, Beam, Fate, Method, MethodError, Sample, UsageError, Value, dead, solve
from branchwise.problem import State
from support.frontiers import Driver
from support.models import FakeModel, Known, Listed, silent
from support.reference import tot_bfs
from support.worlds import Drawn, random_tree


@pytest.mark.parametrize("below", [0.0, 0.3])
async def test_beam_is_algorithm_1(below: float) -> None:
    for seed in range(150):
        rng = Random(seed)
        problem = random_tree(rng, merge=bool(seed % 2))
        breadth, depth = rng.randint(1, 4), rng.randint(1, 4)
        truth = tot_bfs(
            lambda s, p=problem: p.children.get(s, []),
            problem.values.get,
            problem.status,
            problem.key,
            depth=depth,
            breadth=breadth,
            below=below,
        )
        search = Beam(breadth=breadth, depth=depth, prune_below=below)
        result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=search), FakeModel(silent))
        assert [node.state for node in result.tree] == truth.born
        by_decision = sorted((node for node in result.tree if node.decided), key=lambda node: node.decided)
        assert [node.state for node in by_decision if node.fate is Fate.KEPT] == truth.kept
        assert {node.state for node in by_decision if node.fate is Fate.PRUNED} == set(truth.pruned)
        assert [node.state for node in result.tree if node.count or node.unknown] == truth.valued
        assert result.tree.counts().merged == truth.merged


@given(st.lists(st.floats(0, 1) | st.none(), min_size=1, max_size=12), st.integers(1, 6), st.floats(0, 1))
def test_a_cut_keeps_the_best_in_order(values: list[float | None], breadth: int, below: float) -> None:
    driver = Driver(Beam(breadth=breadth, depth=2, prune_below=below))
    driver.expand([f"{n}" for n in range(len(values))])
    driver.judge(values)
    fit = [(value is None, -(value or 0.0), n) for n, value in enumerate(values) if value is None or value >= below]
    expected = [n for *_, n in sorted(fit)][:breadth]
    assert [node.index for node in driver.kept] == expected
    assert {node.index for node in driver.pruned} == set(range(len(values))) - set(expected)
    assert [step.node.index for step in driver.pending_expansions()] == expected


@pytest.mark.parametrize(("breadth", "states", "calls"), [(2, 21, 7), (3, 30, 10)])
async def test_k_3_and_depth_4_value_21_states_at_b_2_and_30_at_b_3(breadth: int, states: int, calls: int) -> None:
    children: dict[State, list[str]] = {}
    level: list[State] = [()]
    for _ in range(4):
        for state in level:
            children[state] = ["a", "b", "c"]
        level = [(*state, word) for state in level for word in "abc"]
    problem = Drawn(children, {state: 0.5 for parent in children for state in [(*parent, w) for w in "abc"]})
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=breadth, depth=4)), FakeModel(silent))
    assert sum(node.count for node in result.tree) == len(result.tree) == states
    assert sum(bool(node.children) for node in result.tree.nodes) == calls


async def test_six_states_of_five_samples_are_thirty_evaluation_calls() -> None:
    from support.worlds import Toy

    toy = Toy(1, branching=6, dead=0, complete=0, malformed=0, full=True)
    model = FakeModel(toy.reply)
    result = await solve(toy, Method(generate=Sample(k=6), evaluate=Value(samples=5), search=Beam(breadth=3, depth=1)), model)
    assert len(result.tree) == 6
    assert result.by_role["evaluate"].calls == 30


@pytest.mark.parametrize(("breadth", "solved"), [(2, False), (3, True)])
async def test_a_state_that_falls_out_of_the_beam_is_lost_for_ever(breadth: int, solved: bool) -> None:
    """A 0.9, B 0.8, C 0.4; only C can be finished."""
    problem = Drawn(
        {(): ["A", "B", "C"], ("A",): ["x"], ("B",): ["y"], ("C",): ["goal"]},
        {("A",): 0.9, ("B",): 0.8, ("C",): 0.4, ("A", "x"): 0.5, ("B", "y"): 0.5, ("C", "goal"): 0.1},
        {("C", "goal"): SOLVED},
    )
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=breadth, depth=2)), FakeModel(silent))
    assert (result.solved is True) == solved
    assert result.stop_reason == ("solved" if solved else "max_depth")


async def test_a_proof_is_found_whatever_the_judge_says_and_ends_the_search() -> None:
    """Case 51: finishing is decided by the task, not by the ranking."""
    problem = Drawn({(): ["go on", "finish"], ("go on",): ["go on"]}, {("go on",): 0.8}, {("finish",): SOLVED})
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=1, depth=9)), FakeModel(silent))
    assert (result.answer, result.stop_reason, len(result.tree)) == ("finish", "solved", 2)
    assert result.tree.nodes[1].count == 0, "nothing is judged after the proof"


async def test_equal_states_are_no_progress_and_the_search_ends() -> None:
    """Case 51: the same state again and again."""
    loop = {tuple(["again"] * depth): ["again"] for depth in range(50)}
    problem = Drawn(loop, dict.fromkeys(loop, 0.9), canon=lambda state: state[:1])
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=2, depth=50)), FakeModel(silent))
    assert (len(result.tree), result.tree.counts().merged, result.stop_reason) == (1, 1, "exhausted")


async def test_scores_stay_with_their_states_when_some_need_no_judge() -> None:
    """Case 42: [terminal, A, B] with scores for A and B only."""
    problem = Drawn({(): ["pit", "A", "end", "B"]}, {("A",): 0.1, ("B",): 0.9, ("end",): 0.3}, {("pit",): dead("x"), ("end",): COMPLETE})
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=4, depth=1)), FakeModel(silent))
    assert [(node.thought, node.value) for node in result.tree] == [("pit", 0.0), ("A", 0.1), ("end", 0.3), ("B", 0.9)]
    assert [node.thought for node in result.tree if node.count] == ["A", "end", "B"]


async def test_when_every_value_is_unknown_birth_decides() -> None:
    problem = Drawn({(): ["c", "a", "b"], ("c",): ["d"], ("a",): ["e"]})
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=2, depth=2)), FakeModel(silent))
    assert result.path == ["c", "d"]
    assert result.tree.unparsed == 5


async def test_complete_and_dead_states_are_not_expanded() -> None:
    """Case 22: a path that is done early is not spoiled by one more step."""
    statuses = {("done",): COMPLETE, ("pit",): dead("x")}
    problem = Drawn(
        {(): ["done", "pit", "on"], ("done",): ["more"], ("pit",): ["more"], ("on",): ["end"]}, {("done",): 0.9, ("on",): 0.5}, statuses
    )
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=3, depth=2)), FakeModel(silent))
    assert [node.state for node in result.tree if node.depth == 2] == [("on", "end")]
    assert result.answer == "done"


async def test_a_dead_end_below_the_last_complete_answer_ends_exhausted() -> None:
    problem = Drawn({(): ["done"]}, {("done",): 0.9}, {("done",): COMPLETE})
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=3, depth=5)), FakeModel(silent))
    assert (result.answer, result.stop_reason) == ("done", "exhausted")


def test_sampling_draws_in_proportion_to_value() -> None:
    first = [0, 0, 0]
    rng = Random(1)
    for _ in range(3000):
        driver = Driver(Beam(breadth=1, depth=2, select="sample"), rng)
        driver.expand(["a", "b", "c"])
        driver.judge([0.6, None, 0.2])
        first[driver.kept[0].index] += 1
    assert first[1] == 0, "unknown comes last"
    assert 0.7 < first[0] / 3000 < 0.8
    driver = Driver(Beam(breadth=3, depth=2, select="sample"), rng)
    driver.expand(["a", "b", "c"])
    driver.judge([0.0, None, 0.0])
    assert len(driver.kept) == 3, "without replacement, and all zero is uniform"


def test_sampling_draws_an_unknown_value_only_when_no_known_one_is_left() -> None:
    """Of a 0, b unknown and c 0 two are kept: a and c, though their values are 0 too; of three places one is b's."""
    for places, kept in ((2, {"a", "c"}), (3, {"a", "b", "c"})):
        for seed in range(20):
            driver = Driver(Beam(breadth=places, depth=2, select="sample"), Random(seed))
            driver.expand(["a", "b", "c"])
            driver.judge([0.0, None, 0.0])
            assert {node.thought for node in driver.kept} == kept


def test_the_frontier_waits_for_the_whole_level() -> None:
    driver = Driver(Beam(breadth=2, depth=2))
    assert driver.frontier.ask() is None, "the expansion of the root is out"
    driver.expand(["a", "b"])
    (judge,) = driver.pending
    assert [node.thought for node in judge.nodes] == ["a", "b"]
    driver.judge([0.5, 0.6])
    assert [step.node.thought for step in driver.pending_expansions()] == ["b", "a"]
    driver.expand([], failed="down")
    assert driver.frontier.ask() is None
    driver.expand(["c"])
    driver.judge([0.1])
    assert driver.frontier.ask() is None
    assert driver.frontier.ended == "max_depth"


def test_a_level_without_children_ends_the_search() -> None:
    driver = Driver(Beam(breadth=2, depth=3))
    driver.expand([])
    assert driver.frontier.ask() is None
    assert driver.frontier.ended == "exhausted"


@pytest.mark.parametrize("bad", [{"breadth": 0}, {"depth": 0}, {"breadth": -1}])
def test_bad_settings_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Beam(**bad)


def test_a_beam_of_several_levels_needs_a_judge() -> None:
    with pytest.raises(MethodError, match="evaluator"):
        Method(generate=Sample(), search=Beam(depth=2))
    Method(generate=Sample(), search=Beam(depth=1))
