"""Final answers, boxes and JSON objects in model text."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.model import reasoning
from branchwise.thought.parsing import answers, boxes, final_answer, final_number, json_object
from support.pace import slowness


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>Answer: 5? no.</think> The answer is 72.", "72"),
        ("… #### 18\n\nQuestion: Tom has 3 pens…\nAnswer: … #### 7", "18"),
        ("16 - 3 = 13\n#### 18\n#### 7", "18"),
        ("Answer: 18\nQ: Tom has 3 pens\nAnswer: 7", "18"),
        ("Answer: 18<|im_end|>\nAnswer: 7", "18"),
        ("Question: How many?\nAnswer: 18", "18"),
        ("Answer: 3 * 4 = 12. The answer is 12.", "12"),
        ("Strategy: the answer is found by adding.\nAnswer: 12", "12"),
        ("**Answer:** 5\nmore words", "5"),
        ("**Answer**: 5", "5"),
        ("**Final Answer:** **5**", "5"),
        ("### Answer\n12", "12"),
        ("Answer:\n\n42", "42"),
        ("Answer: $1.50 each", "$1.50 each"),
        ("Answer: 10 dogs. They bark.", "10 dogs"),
        ("The answer is 3.5.", "3.5"),
        ("Answer: (10 - 4) * (13 - 9) = 24", "(10 - 4) * (13 - 9) = 24"),
        ("最终答案：12", "12"),
        ("정답: 12", "12"),
        ("So it is \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("The answer is $\\boxed{12}$ dollars.", "12"),
        ("\\boxed{2}. Wait, no: \\boxed{3}", "3"),
        ("\\boxed{\\{1,2\\}}", "\\{1,2\\}"),
        ("\\boxed{12}\nSo the answer is 13.", "13"),
        ("Answer: None", "None"),
    ],
)
def test_the_last_marker_before_a_run_on_has_the_answer(text: str, expected: str) -> None:
    assert final_answer(text) == expected


NEXT = [
    "### Instruction:", "### Instruction", "Instructions: add", "Question 2", "Question 2.", "Question 2. Tom has", "Problem #2", "Exercise 4:",
    "---\nQuestion", "---\n\n**Question**", "***\nProblem 2", "Next question:", "**Next problem**", "New question:", "New problem: Tom",
    "Another example:", "Here is another problem:", "Here’s a new question:", "Here are some more examples:", "Let's try another one.",
    "Let us do one more problem.", "Let's move on to the next question.", "Now, let's solve another problem.", "Okay, next question.",
    "Now solve this:", "Now solve this problem:", "Now try this one:", "Task:", "Task 2:", "Q2:", "[INST]", "<|user|>",
]  # fmt: skip


@pytest.mark.parametrize("head", NEXT)
def test_a_prose_answer_before_an_invented_next_problem_counts(head: str) -> None:
    after = f"\n\n{head}\nTom has 3 pens and 4 more.\nThe answer is 7."
    assert final_answer(f"We add.\nThe answer is 18.{after}") == "18"
    assert final_answer(f"So it is \\boxed{{18}}.{after}") == "18"
    assert final_number(f"We add 3 and 15, which is 18.{after.replace('The answer is', 'So it is')}") == 18


@pytest.mark.parametrize(
    "line",
    [
        "Let's try another approach: 9 + 9.", "Let's solve this problem step by step.", "The next one is 5 more.", "One more apple is 18.",
        "In another problem of this kind we add.", "Now we solve this equation: x = 18", "Now solve this equation:", "The question asks for more.",
        "Examples of this are many.", "Consider the next day: 9.", "---", "Tasks are many.", "So the task is done.", "Question 2 is another.",
    ],
)  # fmt: skip
def test_a_line_of_the_same_solution_does_not_end_it(line: str) -> None:
    assert final_answer(f"Answer:\nFirst we look.\n{line}\nThe answer is 18.") == "18"


@pytest.mark.parametrize("unit", ["now, let's a b ", "---\n", "Question ", "here is a more x ", " \n", "another one one ", "# "])
def test_a_megabyte_is_searched_for_a_next_problem_in_linear_time(unit: str) -> None:
    began = time.process_time()
    final_answer("Answer: 1 " + unit * (10**6 // len(unit)))
    assert time.process_time() - began < 4 * slowness()


@pytest.mark.parametrize(
    "text", ["", "no marker, 18", "\\boxed{7", "\\boxed{2}. Wait: \\boxed{3", "Answer:", "<think>Answer: 5", "#### Step one", "answering"]
)
def test_without_a_marker_there_is_no_answer(text: str) -> None:
    assert final_answer(text) is None


def test_boxes_are_balanced_and_a_box_cut_off_is_none() -> None:
    assert boxes("x = \\boxed{1} and \\boxed{\\frac{1}{2}} or \\boxed{a \\} b} then \\boxed{7") == ["1", "\\frac{1}{2}", "a \\} b", None]


BARE = {
    "\\boxed 5": "5", "$\\boxed 5$": "5", "\\boxed5": "5", "So \\boxed -3.5.": "-3.5", "\\boxed 12 apples": "12", "\\boxed 1,234.": "1,234",
    "\\boxed\\frac12": "\\frac12", "$\\boxed\\frac{1}{2}$": "\\frac{1}{2}", "\\boxed\\dfrac{a_{1}}{b}": "\\dfrac{a_{1}}{b}", "\\boxed 1/2": "1/2",
    "\\boxed\\sqrt{2}": "\\sqrt{2}", "\\boxed\\text{Monday}": "\\text{Monday}", "\\boxed\\pi": "\\pi", "\\boxed A.": "A", "\\fbox 7": "7",
    "\\boxed (3, 4)": "(3, 4)", "**\\boxed 5**": "5", "\\boxed\\$5": "\\$5", "\\boxed{2}. No: \\boxed 3": "3", "\\boxed 5 \\text{ cm}": "5",
}  # fmt: skip


@pytest.mark.parametrize("text", BARE)
def test_a_box_may_have_no_braces(text: str) -> None:
    assert final_answer(text) == boxes(text)[-1] == BARE[text]


@pytest.mark.parametrize("text", ["\\boxed", "\\boxed 5x + 1", "\\boxed 55x", "\\boxed 5 + 2", "\\boxed 5 * 2", "\\boxed 3\\sqrt2", "\\boxed answer"])
def test_the_beginning_of_a_formula_is_no_box(text: str) -> None:
    assert final_answer(text) is None
    assert boxes(text) == []
    assert final_number(text) is None


@pytest.mark.parametrize("unit", ["\\boxed\\frac{", "\\boxed\\frac{1}{ ", "\\boxed\\frac{" + "{}" * 50, "\\boxed 1", "\\boxed ", "\\boxed ("])
def test_a_megabyte_of_boxes_is_read_in_linear_time(unit: str) -> None:
    began = time.process_time()
    final_answer(unit * (10**6 // len(unit)))
    boxes(unit * (10**6 // len(unit)))
    assert time.process_time() - began < 4 * slowness()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"score": 0.5}', {"score": 0.5}),
        ('Sure!\n```json\n{"score": 0.5, "reason": "a {b} \\"c\\""}\n```\nBye', {"score": 0.5, "reason": 'a {b} "c"'}),
        ('{not json} {"a": 1} {"a": 2}', {"a": 1}),
        ('\\frac{1}{2} {} {"b": {"c": []}}', {"b": {"c": []}}),
        ('<think>{"a": 1}</think>{"a": 2}', {"a": 2}),
        ('{"a": NaN} {"c": 1}', {"c": 1}),
    ],
)
def test_the_first_well_formed_object_is_found(text: str, expected: dict[str, object]) -> None:
    assert json_object(text) == expected


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"a": ', "{'a': 1}", '{"a": ' + "9" * 10_000 + "}"])
def test_what_is_no_object_is_none(text: str) -> None:
    assert json_object(text) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)


@settings(deadline=None)
@given(
    st.dictionaries(st.text(max_size=6), VALUES, min_size=1, max_size=4), st.sampled_from(["{}", "text {{x}} {}", "```json\n{}\n``` {{"])
)
def test_any_object_comes_back_from_its_wrapping(value: dict[str, object], wrapping: str) -> None:
    assert json_object(wrapping.format(json.dumps(value))) == value


PIECES = ["ANSWER", "anſwer", "Answer", "final ", ": ", " is ", "\n", "#", "##", "####", " ", "7", "**"]
PIECES += ["\\", "boxed", "BOXED", "\\fbox", "{", "}", "答案", "답", ":"]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_a_text_that_is_not_searched_for_a_marker_holds_none(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert answers._might_answer(text) or answers._MARKER.search(text) is None


MARKS = ["<", "<think>", "</think>", "think", "◁think▷", "◁/think▷", "[THINK]", "[think]", "[/THINK]", "<|", "channel|>final<|message|>", " ", "a"]


@given(st.lists(st.sampled_from(MARKS), max_size=8))
def test_a_text_that_is_not_searched_for_reasoning_holds_no_mark_of_it(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert any(begin in text for begin in reasoning._BEGINS) or reasoning._MARK.search(text) is None
