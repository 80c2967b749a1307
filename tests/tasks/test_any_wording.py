"""Case 11: no prompt looks for a question in the problem; whatever its wording, the model is shown all of it."""

import pytest

from branchwise import Budget, Scripted, preset, solve
from branchwise.model.base import Request
from branchwise.tasks import task

WORDINGS = [
    "Tom has 3 apples and eats one. Determine the number of apples left.",
    "12 apples, 4 eaten",
    "apples",
    "What? How? Find it!",
    "Let A = {1; 2; 3}. $\\sum_{i=1}^{n} \\frac{1}{i}$ {{x}} {0} %s",
    "三个苹果",
]


@pytest.mark.parametrize("name", ["gsm8k", "svamp", "strategyqa", "math500", "open"])
@pytest.mark.parametrize("text", WORDINGS)
@pytest.mark.parametrize("method", ["io", "cot", "tot_bfs"])
async def test_the_whole_problem_is_in_every_first_prompt(name: str, text: str, method: str) -> None:
    seen: list[str] = []

    def answer(request: Request, index: int) -> str:
        seen.append("".join(message.content for message in request.messages))
        return "The best choice is 1. The answer is 2."

    await solve(task(name).problem(text), preset(method).make(), Scripted(answer), budget=Budget(calls=12))
    assert seen
    assert all(text in prompt for prompt in seen)
