"""Word problems and questions: plans, answers, every method with a scripted model, and the zero-shot protocol (k=5, five votes, b=1, T=2)."""

from __future__ import annotations

import pytest

from branchwise import Kind, Outcome, Rejected, Request, Scripted, UsageError, estimate, solve
from branchwise.model.base import Sample as Said
from branchwise.tasks import TASKS
from branchwise.tasks.numeric.task import word_problem
from branchwise.tasks.plans import PLANNED
from branchwise.tasks.strategyqa.task import question
from support.models import Says

PLANS = ("gsm8k", "gsm_hard", "svamp", "strategyqa")
TEXT = {"numeric": "Ana has 3 boxes of 12 eggs and breaks 5. How many eggs are left?", "yes_no": "Would a pear sink in water?"}


def kind(name: str) -> str:
    return "yes_no" if name == "strategyqa" else "numeric"


def replies(name: str) -> Scripted:
    """A model that plans, solves, votes for the first, and grades; the third sample of a solution is wrong."""

    def reply(request: Request, index: int) -> str:
        text = request.messages[-1].content
        if request.role == "evaluate":
            if "best choice" in text:
                return "All plans are fine.\nThe best choice is 1"
            return (
                '{"reason": "fine", "score": 0.8}'
                if "JSON" in text
                else "It is good.\nScore: 70"
                if "-100" in text
                else "It is good.\nlikely"
            )
        if "Do not solve" in text or "Do not answer the question yet" in text:
            return f"Strategy: plan number {index}: first the product, then the difference.\nAnswer: it would be 99"
        if "critique" in text and "Write a short critique" in text:
            return "The last step is not explained."
        right, wrong = ("31", "30") if kind(name) == "numeric" else ("no", "yes")
        return f"Answer: we go on step by step, way {index}. So the answer is {wrong if index == 2 else right}"

    return Scripted(reply)


@pytest.mark.parametrize("method", PLANNED)
@pytest.mark.parametrize("name", PLANS[2:])
async def test_every_method_solves_with_a_model_that_follows_the_format(name: str, method: str) -> None:
    model = replies(name)
    problem = TASKS[name].problem(TEXT[kind(name)])
    chosen = TASKS[name].method(method)
    result = await solve(problem, chosen, model)
    assert result.answer == ("31" if kind(name) == "numeric" else "no"), (method, result.answer, [n.state for n in result.tree])
    worst = estimate(problem, chosen)
    assert result.usage.calls <= worst.calls
    assert result.to_json()["unparsed"] in (0, {})


async def test_the_zero_shot_protocol_is_k_5_votes_5_b_1_and_two_levels() -> None:
    problem = TASKS["gsm8k"].problem(TEXT["numeric"])
    model = replies("gsm8k")
    result = await solve(problem, TASKS["gsm8k"].method(), model)
    assert result.usage.calls == 20
    levels = [node.depth for node in result.tree if node.depth]
    assert (levels.count(1), levels.count(2)) == (5, 5)
    assert all("Answer" not in node.state[0] for node in result.tree if node.depth == 1)


def test_a_plan_is_cut_before_its_answer_and_is_never_complete() -> None:
    problem = word_problem("How many?")
    plan = problem.read((), "**Strategy:** multiply, then the answer is 5.\n\nAnswer: 3 * 4 = 12. The answer is 12")
    assert plan == "Strategy: multiply, then the answer is 5."
    assert problem.status((plan,)).kind is Kind.OPEN
    assert problem.answer((plan,)) is None
    assert problem.read((), "multiply") == "Strategy: multiply"
    answer = problem.read((plan,), "Strategy: multiply.\nAnswer: 3 * 4 = 12. The answer is $12.00")
    assert answer.startswith("Answer:")
    assert problem.answer((plan, answer)) == "12"
    assert problem.status((plan, answer)).kind is Kind.COMPLETE
    whole = "Strategy: multiply.\nAnswer: 3 * 4 = 12. The answer is 12"
    assert problem.answer((problem.whole((), whole),)) == "12"


def test_what_is_no_plan_and_no_answer_is_rejected_with_a_reason() -> None:
    problem = word_problem("How many?")
    for state, text in (
        ((), "Answer: 12"),
        ((), "<think>long"),
        (("Strategy: a",), "Strategy: another plan"),
        (("Strategy: a",), ""),
        (("Strategy: a", "Answer: the answer is 5"), "Answer: 6"),
    ):
        with pytest.raises(Rejected):
            problem.read(state, text)
    with pytest.raises(Rejected):
        problem.whole((), "<think>only thoughts</think>")


def test_answers_are_normalised_so_that_they_can_be_counted() -> None:
    problem = word_problem("How many?")
    said = ["The answer is $70,000.", "#### 70000", "Answer: 70000.00 dollars", "\\boxed{70{,}000}"]
    assert {problem.answer((text,)) for text in said} == {"70000"}
    asked = question("Is it?")
    assert [asked.answer((text,)) for text in ("Not really, so yes.", "I do not know.", "The answer is: false")] == ["yes", None, "no"]


def test_an_empty_problem_is_refused_with_an_example() -> None:
    for name in PLANS:
        with pytest.raises(UsageError, match="for example"):
            TASKS[name].problem("  ")


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("method", ["io", "cot", "cot_sc", "best_of_n"])
async def test_few_shot_is_the_default_and_zero_shot_can_be_asked_for(name: str, method: str) -> None:
    for settings, examples in (({}, 5), ({"shots": 0}, 0)):
        seen: list[list[str]] = []

        def reply(request: Request, index: int, seen: list[list[str]] = seen) -> str:
            seen.append([message.role for message in request.messages])
            return '{"reason": "x", "score": 1}' if request.role == "evaluate" else "the answer is 31, yes"

        await solve(TASKS[name].problem(TEXT[kind(name)]), TASKS[name].method(method, settings), Scripted(reply))
        assert seen[0] == ["system", "user", *["assistant", "user"] * examples]


@pytest.mark.parametrize("method", ["io", "cot", "cot_sc", "best_of_n", "refine"])
async def test_a_reply_that_was_cut_off_before_its_answer_is_no_answer(method: str) -> None:
    """Case 50: "so 16 - 3 = 13", cut off at its limit, is a step on the way. Behind the answer a cut does no harm."""
    problem = TASKS["gsm8k"].problem("Janet's ducks lay 16 eggs. She eats 3 and sells the rest for 2 dollars each. What does she make?")
    for text, answer in (("She eats 3, so 16 - 3 = 13", None), ("Answer: 13 * 2 = 26. The answer is 26.\nAnd now", "26")):
        model = Says(*[Said(text, Outcome.LENGTH)] * 60)
        result = await solve(problem, TASKS["gsm8k"].method(method), model)
        assert result.answer == answer, (text, [node.state for node in result.tree])
    result = await solve(problem, TASKS["gsm8k"].method("cot"), Says(Said("so 16 - 3 = 13", Outcome.LENGTH)))
    assert [reason for _, _, reason in result.tree.dropped] == ["cut off at its limit before the answer; give it more tokens (--max-tokens)"]
