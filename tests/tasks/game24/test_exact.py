"""Arithmetic is exact and ours; the rule check of an answer agrees with the published log (cases 20, 21, 22, 99)."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.bench.oracles.game24 import expressions
from branchwise.tasks.game24 import Verdict, check
from branchwise.tasks.game24.exact import Expression, NotArithmetic, arithmetic, combine, number
from support.data import shared
from support.pace import within

HAND = (2, 3, 4, 6)


def test_a_fraction_on_the_way_is_exact() -> None:
    assert check((3, 3, 8, 8), "8 / (3 - 8 / 3) = 24").verdict is Verdict.CORRECT
    assert check((1, 5, 5, 5), "Answer: (5 - 1 / 5) * 5 = 24").verdict is Verdict.CORRECT


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(6 + 3) * 4 / 2 = 24", "(6 + 3) * 4 / 2 is 18, not 24"),
        ("6 * 4 = 24", "leaves out 2 3"),
        ("2 * 3 * 4 + 6 - 6 = 24", "uses 6 too often"),
        ("24 = 24", "uses 24 that the hand does not have, leaves out 2 3 4 6"),
        ("4!", "not an expression"),
        ("6 * 4 * (3 - 2) = 25", "the equation is false: 25 is not 24"),
        ("Answer: 6 * 4 * (3 - 2) = 24 = 23", "the equation is false"),
        ("Answer: 64 * 3 - 2", "uses 64"),
        ("Answer: 6 4 3 2", "where an operator should stand"),
        ("Answer: 6(4)(3 - 2)", "where an operator should stand"),
        ("Answer: 2 ** 3 * 6 / 4", "where a number should stand"),
        ("Answer: 6 / (3 - 3) * 4 * 2", "division by zero"),
        ("Answer: 4 * 6 = 24; the rest is not needed", "leaves out 2 3"),
        ("Answer: (6 * 4 * (3 - 2)", "not closed"),
    ],
)
def test_an_answer_that_breaks_a_rule_is_wrong_with_the_reason(text: str, reason: str) -> None:
    found = check(HAND, text)
    assert found.verdict is Verdict.WRONG
    assert reason in found.reason


@pytest.mark.parametrize(
    "text",
    [
        "6*4*(3-2) = 24 = 24",
        "Answer: 6 × 4 × (3 − 2) = 24",
        "**Answer:** `6 * 4 * (3 - 2) = 24`.",
        "Answer:\n6 * 4 / (3 - 2)",
        "Answer: \\(6 \\times 4 \\times (3 - 2) = 24\\)",
        "\\boxed{\\frac{6 \\cdot 4}{3 - 2} = 24}",
        "The answer is 6 x 4 x (3 - 2) = 24 (all numbers used)",
        "Answer: [6 * 4] * (3 - 2) = 24",
        "Answer: ６＊４＊（３－２）＝２４",
        "Answer: 24 = 6 * 4 * (3 - 2)",
        "Answer: 6 * 4 * (3 - 2) = 24 * 1 = 24",
        "Answer: -6 * 4 * (2 - 3)",
        "<think>Answer: 6 + 4 = 24</think>Answer: 6 * 4 * (3 - 2) = 24",
        "6 * 4 = 24 (left: 2 3 24)\n3 - 2 = 1\nAnswer: 6 * 4 * (3 - 2) = 24\nInput: 1 1 1 1\nAnswer: 1 + 1 = 2",
    ],
)
def test_a_right_answer_is_right_in_any_usual_dress(text: str) -> None:
    assert check(HAND, text).verdict is Verdict.CORRECT


@pytest.mark.parametrize(
    "text",
    [
        "Answer: Not possible",
        "Answer: None",
        "Answer: no solution exists",
        "Answer:",
        "",
        "I don't know",
        "<think>Answer: 6*4",
        "\\boxed{6 * 4",
        "6 * 4 = 24 (left: 2 3 24)\n3 - 2 = 1 (left: 1 24)",
        "6 * 4 = 24 (left: 2 3 24)",
        "Answer: It is impossible to make 24",
    ],
)
def test_no_answer_is_not_a_wrong_one(text: str) -> None:
    found = check(HAND, text)
    assert (found.verdict, found.answer) == (Verdict.NO_ANSWER, None)


@pytest.mark.parametrize(
    "text",
    [
        "Answer: __import__('os').system('touch pwned') = 24",
        "__import__('os').system('touch pwned') = 24",
        "\\boxed{().__class__}",
        "Answer: [x for x in (1).__class__.__mro__]",
        "Answer: (lambda: 24)() * 1",
        "Answer: 6 if 4 else 3",
    ],
)
def test_code_is_not_an_expression_and_nothing_runs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = check(HAND, text)
    assert found.verdict is Verdict.WRONG
    assert "not an expression" in found.reason
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "body", ["(" * 20_000, "9" * 1_000_000, "9 * " * 100_000 + "9", "-" * 100_000 + "1", "((" * 60 + "1" + "))" * 60, "9" * 13 + " * 1"]
)
def test_size_is_guarded_before_anything_is_computed(body: str) -> None:
    with within(1):
        assert check(HAND, f"Answer: {body}").verdict is Verdict.WRONG
        with pytest.raises(NotArithmetic):
            arithmetic(body)


def test_the_answer_is_written_in_one_normal_form() -> None:
    assert check(HAND, "Answer: ((6*4))*(3-2)").answer == "6 * 4 * (3 - 2) = 24"
    assert check(HAND, "Answer: (6 + 3) * 4 / 2 = 24").answer == "(6 + 3) * 4 / 2 = 24"
    assert check(HAND, "Answer: 6 4 3 2").answer == "6 4 3 2"


def test_the_published_final_beams_are_judged_as_they_were() -> None:
    log = json.loads(shared("game24/gpt4_tot_log_900_1000.json").read_text("utf-8"))
    verdicts: Counter[str] = Counter()
    for item in log:
        hand = tuple(map(int, item["steps"][0]["x"].split()))
        for text, info in zip(item["ys"], item["infos"], strict=True):
            found = check(hand, text).verdict
            verdicts[found.value] += 1
            assert (found is Verdict.CORRECT) == bool(info["r"])
    assert verdicts == {"correct": 119, "wrong": 37, "no_answer": 344}


def test_every_solution_that_the_oracle_finds_is_correct() -> None:
    for hand in [(4, 9, 10, 13), (3, 3, 8, 8), (1, 3, 10, 11)]:
        found = expressions(hand)
        assert found
        assert all(check(hand, text).verdict is Verdict.CORRECT for text in found)


def _value(tree: Expression) -> Fraction:
    """The value of a tree, by Python's own operators."""
    if not tree.parts:
        return tree.value
    values = [_value(part) for part in tree.parts]
    return {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}[tree.op](*values)


def _combined(parts: tuple[str, Expression, Expression]) -> Expression:
    op, left, right = parts
    return combine("+" if op == "/" and right.value == 0 else op, left, right)


TREES = st.recursive(
    st.integers(0, 99).map(number), lambda inner: st.tuples(st.sampled_from("+-*/"), inner, inner).map(_combined), max_leaves=8
)


@settings(deadline=None)
@given(TREES)
def test_an_expression_survives_printing_and_reading_with_its_value_and_numbers(tree: Expression) -> None:
    read = arithmetic(str(tree))
    assert read.value == tree.value == _value(tree)
    assert read.numbers() == tree.numbers()
    assert len(str(read)) <= len(str(tree))


@settings(deadline=None)
@given(TREES)
def test_unicode_signs_and_spacing_change_nothing(tree: Expression) -> None:
    text = str(tree)
    assert arithmetic(text.replace("*", "×").replace("/", "÷").replace("-", "−")).value == tree.value
    assert arithmetic(text.replace(" ", "")).value == tree.value


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("0123456789+-*/().=! x×÷−abc_^%\\n"), max_size=60))
def test_any_text_gets_a_verdict(text: str) -> None:
    assert check(HAND, f"Answer: {text}").verdict in Verdict
    assert check(HAND, text).verdict in Verdict
