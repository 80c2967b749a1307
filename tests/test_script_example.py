"""The script that stands in for a model while one looks around: the prompts of the task itself, answered from a file, lead to a solution."""

import asyncio
from pathlib import Path

import pytest

from branchwise.model.scripted import Scripted
from branchwise.solve import solve
from branchwise.tasks import task

SCRIPT = Path(__file__).parent.parent / "examples/game24_script.jsonl"


@pytest.mark.parametrize("method", ["tot_bfs", "tot_dfs", "best_first", "a_star", "mcts"])
def test_tree_searches_find_the_solution(method: str) -> None:
    game24 = task("game24")
    result = asyncio.run(solve(game24.problem("4 9 10 13"), game24.method(method), Scripted.load(SCRIPT)))
    assert (result.answer, result.solved) == ("(13 - 9) * (10 - 4) = 24", True)


def test_the_tree_has_something_to_look_at() -> None:
    game24 = task("game24")
    result = asyncio.run(solve(game24.problem("4 9 10 13"), game24.method("tot_bfs"), Scripted.load(SCRIPT)))
    fates = {str(node.fate) for node in result.tree}
    assert {"kept", "pruned"} <= fates
    assert any(node.value not in (0.0, 1.0, None) for node in result.tree)


@pytest.mark.parametrize("hand", ["1 1 1 1", "3 6 9 12"])
def test_other_hands_end_without_an_answer(hand: str) -> None:
    game24 = task("game24")
    result = asyncio.run(solve(game24.problem(hand), game24.method("tot_bfs"), Scripted.load(SCRIPT)))
    assert result.solved is False
