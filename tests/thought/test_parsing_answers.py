"""Final answers, boxes and JSON objects in model text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.thought.parsing import boxes, final_answer, json_object


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


@pytest.mark.parametrize(
    "text", ["", "no marker, 18", "\\boxed{7", "\\boxed{2}. Wait: \\boxed{3", "Answer:", "<think>Answer: 5", "#### Step one", "answering"]
)
def test_without_a_marker_there_is_no_answer(text: str) -> None:
    assert final_answer(text) is None


def test_boxes_are_balanced_and_a_box_cut_off_is_none() -> None:
    assert boxes("x = \\boxed{1} and \\boxed{\\frac{1}{2}} or \\boxed{a \\} b} then \\boxed{7") == ["1", "\\frac{1}{2}", "a \\} b", None]


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
