"""Small inputs that break programs of this kind, grouped by the number of their case; kinds that no other test holds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from branchwise import (
    AStar,
    Beam,
    BestFirst,
    DepthFirst,
    Mcts,
    Method,
    Propose,
    Reply,
    Request,
    RetryPolicy,
    Scripted,
    Value,
    preset,
    solve,
)
from branchwise.errors import ContextOverflow, PermanentError, UsageError
from branchwise.model.abilities import Abilities
from branchwise.model.base import Message
from branchwise.model.faults import retry_after, status_error
from branchwise.model.replies import read_reply
from branchwise.problem import Rejected
from branchwise.rows import Rows
from branchwise.tasks.game24 import Game24, Verdict, check
from branchwise.tasks.game24.exact import number
from branchwise.tasks.game24.steps import read_step
from branchwise.thought.parsing import final_answer, final_number, list_items
from branchwise.tree import Fate

HAND = Game24((4, 9, 10, 13))
STEPS = "13 - 9 = 4\n9 + 4 = 13\n10 - 4 = 6"
VALUED = Method(generate=Propose(k=5), evaluate=Value(samples=1), search=Beam(breadth=2, depth=1))


def by_role(generate: str, evaluate: dict[str, str] | str) -> Scripted:
    """Proposes the same lines everywhere; judges by the numbers that are left at the end of the prompt."""

    def say(request: Request, index: int) -> str:
        if request.role != "evaluate":
            return generate if request.role == "generate" else "Answer: none"
        if isinstance(evaluate, str):
            return evaluate
        prompt = request.messages[-1].content.rstrip()
        return next((reply for left, reply in evaluate.items() if prompt.endswith(left)), "likely")

    return Scripted(say)


# Case 5: a reply that runs on into an example of its own


@pytest.mark.parametrize(
    "run_on",
    [
        "\n\nQuestion: Tom has 3 pens.\nAnswer: 7", "\n\n### Problem 2\nTom has 3.\n\\boxed{7}", "\n\n## Question\nTom\nThe answer is 7",
        "\n[Question]\nTom has 3 pens.\nThe answer is 7", "\n[Q2] Tom\nAnswer: 7", "\nUser: And Tom?\nAssistant: The answer is 7",
        ". Question: Tom has 3 pens. Answer: 7",
    ],
)  # fmt: skip
@pytest.mark.parametrize("answer", ["The answer is 18", "\\boxed{18}", "Answer: **18**"])
def test_the_answer_before_an_invented_example_counts(answer: str, run_on: str) -> None:
    assert final_answer(answer + run_on) == "18"
    assert final_number(answer + run_on) == 18


@pytest.mark.parametrize("turn", ["\nHuman: And now?\nAssistant: 7 apples", "\n\nInput: 2 3\n7", "\n\n### Example 2\n7", "\n[Question]\n7 pens"])
def test_without_a_marker_the_last_number_before_an_invented_example_counts(turn: str) -> None:
    assert final_number("Question: How many?\nShe has 18 apples." + turn) == 18


def test_a_heading_inside_an_answer_begins_no_example() -> None:
    assert final_number("### Problem analysis\nThe answer is 3.\n### Example of a check\nSo the answer is 18.") == 18


# Case 9: judgements that cannot be read


async def test_three_judgements_of_which_none_can_be_read_are_said_and_counted() -> None:
    unreadable = {"4 4 10": "high", "10 13 13": "", "6 9 13": "I cannot judge"}
    result = await solve(HAND, VALUED, by_role(STEPS, unreadable))
    assert [node.value for node in result.tree] == [None, None, None]
    assert [node.fate for node in result.tree] == [Fate.KEPT, Fate.KEPT, Fate.PRUNED], "by birth, as stated"
    assert result.tree.unparsed == 3
    assert any("none of the 3 judgements could be read" in warning for warning in result.warnings)


async def test_an_honest_low_value_goes_before_an_unknown_one() -> None:
    readable = {"4 4 10": "high", "10 13 13": "impossible", "6 9 13": "I cannot judge"}
    method = Method(generate=Propose(k=5), evaluate=Value(samples=1), search=Beam(breadth=1, depth=1))
    result = await solve(HAND, method, by_role(STEPS, readable))
    assert [node.fate for node in result.tree] == [Fate.PRUNED, Fate.KEPT, Fate.PRUNED]
    assert result.tree.unparsed == 2


# Cases 12 and 17: what models write around a step


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("*8 / 4 = 2* (left: 2 6)", "8 / 4 = 2 (left: 2 6)"),
        ("**6 - 4** = 2", "6 - 4 = 2 (left: 2 8)"),
        ("| 4 + 8 = 12 | 6 12 |", "4 + 8 = 12 (left: 6 12)"),
        ("4 / 6 approx 0.67", "4 / 6 = 2/3 (left: 2/3 8)"),
        ("4 / 6 approx. 0.67 (left: 0.67 8)", "4 / 6 = 2/3 (left: 2/3 8)"),
        ("4 / 6 = approx. 0.667", "4 / 6 = 2/3 (left: 2/3 8)"),
    ],
)
def test_a_step_is_found_in_its_dress(line: str, step: str) -> None:
    left = [number(Fraction(n)) for n in (4, 6, 8)]
    assert str(read_step(left, line)) == step


def test_a_result_said_to_be_approximate_is_checked_too() -> None:
    with pytest.raises(Rejected, match="not"):
        read_step([number(Fraction(n)) for n in (4, 6)], "4 / 6 approx 0.9")


def test_chatter_carriage_returns_and_a_fence_in_the_middle_give_three_proposals() -> None:
    reply = "Sure! Here are the possible next steps:\n\n1. **4 + 8 = 12** (left: 6 12)\n- 8 / 4 = 2 (left: 2 6)\n```\n6 - 4 = 2 (left: 2 8)\n```"
    for text in (reply, reply.replace("\n", "\r\n"), reply.replace("Sure! ", "Based on the numbers, "), reply + "\nLet me know!"):
        assert list_items(text) == ["4 + 8 = 12 (left: 6 12)", "8 / 4 = 2 (left: 2 6)", "6 - 4 = 2 (left: 2 8)"]


# Case 18: numbers of the few-shot example


async def test_below_a_single_number_nothing_is_asked_and_numbers_of_the_example_are_dropped_and_counted() -> None:
    lines = "4 + 9 = 13\n10 + 13 = 23\n13 + 23 = 36\n17 + 2 = 19 (left: 8 8 14 19)"
    model = by_role(lines, "sure")
    method = Method(generate=Propose(k=5), evaluate=Value(samples=1), search=Beam(breadth=5, depth=6))
    result = await solve(HAND, method, model)
    left = [request.messages[-1].content.rstrip().splitlines()[-1] for request in model.requests if request.role == "generate"]
    assert left
    assert all(len(numbers.split()) > 1 for numbers in left)
    assert any(thought.startswith("17 + 2") for _, thought, _ in result.tree.dropped)
    assert result.tree.counts().dropped == len(result.tree.dropped)
    assert not any("19" in node.thought for node in result.tree)


# Case 21: an answer that says there is none


@pytest.mark.parametrize("said", ["No combination works", "There is no such expression", "no possible way", "It is impossible", "None."])
def test_saying_that_there_is_none_is_no_answer(said: str) -> None:
    assert check((2, 3, 4, 6), f"Answer: {said}").verdict is Verdict.NO_ANSWER


# Case 22: a path that is done early


@pytest.mark.parametrize(
    "search", [Beam(breadth=5, depth=3), DepthFirst(depth=3), BestFirst(depth=3), AStar(depth=3), Mcts(depth=3)], ids=lambda s: type(s).__name__
)
async def test_a_solution_in_the_middle_ends_the_search_and_the_last_level_needs_no_answer_line(search: Any) -> None:
    early = by_role(f"{STEPS}\nAnswer: (10 - 4) * (13 - 9) = 24", "sure")
    at_limit = by_role("10 - 4 = 6\n13 - 9 = 4\n4 * 6 = 24 (left: 24)", "sure")
    for model in (early, at_limit):
        result = await solve(HAND, Method(generate=Propose(k=5), evaluate=Value(samples=1), search=search), model)
        assert (result.solved, result.stop_reason) == (True, "solved")
        assert check(HAND.hand, f"Answer: {result.answer}").verdict is Verdict.CORRECT
        assert result.node is not None
        assert not result.node.children


# Case 61: replies that were paid for and could not be read


class Bodies:
    """A backend that gives these reply bodies, one after the other."""

    name = identity = "bodies"

    def __init__(self, *bodies: dict[str, Any]) -> None:
        self.bodies = list(bodies)

    async def sample(self, request: Request) -> Reply:
        return read_reply(self.bodies.pop(0), request, "bodies")


@pytest.mark.parametrize("choices", [None, [], [{"index": 0, "message": None}], [{"finish_reason": "error", "error": {"code": 502}}]])
async def test_two_replies_that_cannot_be_read_and_a_good_one_cost_three(choices: Any) -> None:
    usage = {"prompt_tokens": 60, "completion_tokens": 40}
    bad = {"choices": choices, "usage": usage}
    good = {"choices": [{"message": {"content": "Answer: (10 - 4) * (13 - 9) = 24"}, "finish_reason": "stop"}], "usage": usage}
    result = await solve(HAND, preset("io").make(), Bodies(bad, bad, good), retry=RetryPolicy(base=0))
    assert result.solved
    assert (result.usage.calls, result.usage.requests, result.usage.tokens) == (3, 3, 300)


# Case 64: servers that refuse n > 1 in their own words

REFUSALS: list[object] = [
    {"error": {"message": "Only one completion choice is allowed", "code": 400}},
    {"error": {"message": "'n' : number must be at most 1", "type": "invalid_request_error"}},
    {"detail": [{"type": "less_than_equal", "loc": ["body", "n"], "msg": "Input should be less than or equal to 1", "input": 3}]},
    {"error": {"message": "n must be 1", "param": None}},
    {"error": {"message": "Multiple candidates is not enabled for this model"}},
]


@pytest.mark.parametrize("body", REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
def test_a_refusal_of_several_samples_is_understood_in_any_words(status: int, body: object) -> None:
    able = Abilities("m")
    assert able.learn(status, body, {"n": 3, "messages": []})
    assert able.max_n == 1


@pytest.mark.parametrize("message", ["The model m is down", "messages must not be empty", "Input should be a valid string"])
def test_another_refusal_teaches_nothing_about_several_samples(message: str) -> None:
    able = Abilities("m")
    assert not able.learn(400, {"error": {"message": message}}, {"n": 3, "messages": []})
    assert able.max_n is None


# Cases 67, 72, 73: errors in other dresses


def test_an_error_object_without_an_error_key_is_an_error() -> None:
    with pytest.raises(PermanentError, match="bad key"):
        read_reply({"object": "error", "message": "bad key", "code": 401}, Request((Message("user", "x"),)), "m")


def test_a_request_that_is_too_large_closes_its_node_only() -> None:
    assert isinstance(status_error(413, {"error": {"message": "Request too large"}}, {}, "m"), ContextOverflow)


@pytest.mark.parametrize("value", ["inf", "nan", "-1", "1e300", "soon"])
def test_a_wait_in_milliseconds_that_makes_no_sense_is_none(value: str) -> None:
    assert retry_after({"retry-after-ms": value}) is None


# Case 84: a cut last line is ours, or it is not touched


@pytest.mark.parametrize("text", ['{"role": "generate", "replies": ["x"]}', "my notes", "[1, 2]", '{"a": 1}\n{"b": 2', "notes\nmore"])
def test_a_foreign_file_without_a_last_newline_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match="not a row of results"), Rows(path, {}):
        pass
    assert path.read_text() == text


@pytest.mark.parametrize("cut", ["{", '{"id": 7, "ans', '{"branchwise": "resu', '{"id": "7", "stop_reason": "solved"}'])
def test_a_row_that_was_cut_at_any_byte_is_dropped_with_a_notice(tmp_path: Path, cut: str) -> None:
    path, said = tmp_path / "rows.jsonl", list[str]()
    path.write_text(cut)
    with Rows(path, {}, notice=said.append) as rows:
        rows.append({"id": "7", "stop_reason": "solved"})
    assert "cut" in said[0]
    assert path.read_text().count("\n") == 2
