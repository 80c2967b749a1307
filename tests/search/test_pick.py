"""Who answers: proven first, complete before unfinished, never a dead end; majority counts normalised answers."""

from __future__ import annotations

from branchwise import COMPLETE, SOLVED, Beam, Method, Node, best_value, dead, deepest, last, majority, solve
from branchwise.search.pick import Pick
from support.models import FakeModel, Known, Listed, silent
from support.worlds import Drawn


async def picked(problem: Drawn, pick: Pick, depth: int = 1) -> Node | None:
    method = Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=9, depth=depth), pick=pick, stop_when_solved=False)
    return (await solve(problem, method, FakeModel(silent))).node


class Votes(Drawn):
    """Answers are the first letter."""

    def answer(self, state: tuple[str, ...]) -> str | None:
        return None if not state or state[-1].startswith("?") else state[-1][0]


async def test_every_rule_puts_a_proof_first_and_leaves_dead_ends_out() -> None:
    for pick in (best_value, majority, last, deepest):
        problem = Drawn({(): ["a", "a2", "goal", "z"]}, {("a",): 1.0}, {("goal",): SOLVED, ("z",): dead("x"), ("a",): COMPLETE})
        node = await picked(problem, pick)
        assert node is not None
        assert node.thought == "goal"
        assert await picked(Drawn({(): ["z"]}, statuses={("z",): dead("x")}), pick) is None
        assert await picked(Drawn({}), pick) is None


async def test_majority_counts_answers_and_equal_counts_go_to_the_first() -> None:
    complete = {(word,): COMPLETE for word in ("x1", "y1", "y2", "x2", "?1", "?2", "?3")}
    node = await picked(Votes({(): ["x1", "?1", "y1", "?2", "y2", "?3"]}, statuses=complete), majority)
    assert node is not None
    assert node.thought == "y1", "states without an answer do not vote"
    node = await picked(Votes({(): ["x1", "y1", "y2", "x2"]}, statuses=complete), majority)
    assert node is not None
    assert node.thought == "x1"


async def test_merged_answers_are_votes() -> None:
    problem = Votes({(): ["x", "y", "y"]}, {}, {("x",): COMPLETE, ("y",): COMPLETE})
    node = await picked(problem, majority)
    assert node is not None
    assert (node.thought, node.arrivals) == ("y", 2)


async def test_best_value_looks_at_the_deepest_level_and_puts_unknown_last() -> None:
    problem = Drawn({(): ["a"], ("a",): ["b", "c", "d"]}, {("a",): 1.0, ("a", "c"): 0.1, ("a", "d"): 0.2})
    node = await picked(problem, best_value, depth=2)
    assert node is not None
    assert node.thought == "d"
