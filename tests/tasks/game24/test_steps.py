"""Steps are read tolerantly and checked exactly (cases 17, 18, 19)."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.problem import Rejected
from branchwise.tasks.game24 import Game24
from branchwise.tasks.game24.exact import number
from branchwise.tasks.game24.steps import canonical, read_step
from support.data import shared


def step(left: str, text: str) -> str:
    return str(read_step([number(Fraction(part)) for part in left.split()], text))


@pytest.mark.parametrize(
    ("left", "text", "expected"),
    [
        ("3 4 7", "4 / 3 = 1.33 (left: 1.33 7) (if decimals are allowed)", "4 / 3 = 4/3 (left: 4/3 7)"),
        ("7 12", "12 / 7 = 1.71 (rounded, left: 1.71)", "12 / 7 = 12/7 (left: 12/7)"),
        ("8 17", "8 - 17 = -9 (negative number, not valid)", "8 - 17 = -9 (left: -9)"),
        ("-1 6 10", "6 + (-1) = 5 (left: 5 10)", "6 + (-1) = 5 (left: 5 10)"),
        ("-1 6 10", "6 + -1 = 5", "6 + (-1) = 5 (left: 5 10)"),
        ("6 9 10", "6 / 9 = 2/3 (left: 2/3 10)", "6 / 9 = 2/3 (left: 2/3 10)"),
        ("6 9 10", "6 / 9 ≈ 0.67", "6 / 9 = 2/3 (left: 2/3 10)"),
        ("6 9 10", "10 / 6 = 1.666 (left: 1.666 9)", "10 / 6 = 5/3 (left: 5/3 9)"),
        ("6 9 10", "10 / 6 = 1 2/3", "10 / 6 = 5/3 (left: 5/3 9)"),
        ("6 9 10", "10 / 6 = 1.67 approx. (left: 9)", "10 / 6 = 5/3 (left: 5/3 9)"),
        ("3 3 8 8", "8 / 3 = 2.67 (left: 2.67 3 8)", "8 / 3 = 8/3 (left: 8/3 3 8)"),
        ("8/3 3 8", "3 - 2.67 = 0.33", "3 - (8/3) = 1/3 (left: 1/3 8)"),
        ("1/3 8", "8 / 0.33 = 24.24", "8 / (1/3) = 24 (left: 24)"),
        ("2/3 15", "15 / 0.666 = 22.523", "15 / (2/3) = 45/2 (left: 45/2)"),
        ("13/3 9", "9 - ~4.33 = ~4.67 (left: ~4.67)", "9 - (13/3) = 14/3 (left: 14/3)"),
        ("2/3 10", "2/3 + 10 = 10.67", "(2/3) + 10 = 32/3 (left: 32/3)"),
        ("1/3 8", "8 / 1/3 = 24", "8 / (1/3) = 24 (left: 24)"),
        ("3 8", "8 / 3 (not possible, result is not an integer)", "8 / 3 = 8/3 (left: 8/3)"),
        ("4 5 6 10", "1. **10 - 4 = 6** (left: 5 6 6)", "10 - 4 = 6 (left: 5 6 6)"),
        ("4 5 6 10", "10 - 4 = 6", "10 - 4 = 6 (left: 5 6 6)"),
        ("4 5 6 10", "10 - 4", "10 - 4 = 6 (left: 5 6 6)"),
        ("4 5 6 10", "10 − 4 = 6 (left: 1 2)", "10 - 4 = 6 (left: 5 6 6)"),
        ("4 5 6 10", "Step 1: 10 - 4 = 6", "10 - 4 = 6 (left: 5 6 6)"),
        ("4 6", "\\( 4 \\times 6 = 24 \\)", "4 * 6 = 24 (left: 24)"),
        ("4 6", "Combine 4 and 6: 4 x 6 = 24!", "4 * 6 = 24 (left: 24)"),
        ("4 6", "(4 * 6) = 24", "4 * 6 = 24 (left: 24)"),
        ("4 6", "４×６＝２４", "4 * 6 = 24 (left: 24)"),
        ("4 6", "4 * 6 is 24", "4 * 6 = 24 (left: 24)"),
    ],
)
def test_a_step_is_read_as_it_was_meant_and_recomputed(left: str, text: str, expected: str) -> None:
    assert step(left, text) == expected


@pytest.mark.parametrize(
    ("left", "text", "reason"),
    [
        ("17", "17 + 2 = 19 (left: 8 8 14 19)", "only one number is left (17)"),
        ("4 9", "8 + 9 = 17", "8 is not left (left: 4 9)"),
        ("4 9", "9 - 9 = 0", "9 is left only once (left: 4 9)"),
        ("4 10", "4 - 10 = 6", "4 - 10 is -6, not 6"),
        ("4 10", "10 - 4 = 7 (left: 7)", "10 - 4 is 6, not 7"),
        ("2 7", "7 / 2 = 3", "7 / 2 is 7/2, not 3"),
        ("6 13", "13 / 6 = 2 (with a remainder of 1)", "13 / 6 is 13/6, not 2"),
        ("3/2 8", "3/2 + 8 = 17/2", "(3/2) + 8 is 19/2, not 17/2"),
        ("2 6 10", "2^6 * 10 = 640", "not one operation on two numbers"),
        ("3 14", "14 % 3 = 2", "not one operation on two numbers"),
        ("4 5 6", "4 + 5 + 6 = 15", "not one operation on two numbers"),
        ("4 5 6", "4! = 24", "not one operation on two numbers"),
        ("0 4", "4 / 0 = 0", "division by zero"),
        ("4 6", "I would multiply", "not an equation"),
        ("4 6", "", "not an equation"),
        ("4 6", "9" * 1_000_000, "longer than"),
        ("4 6", "9" * 20 + " + 4 = 5", "not one operation"),
    ],
)
def test_what_does_not_follow_from_the_parent_is_rejected_with_the_reason(left: str, text: str, reason: str) -> None:
    with pytest.raises(Rejected) as caught:
        step(left, text)
    assert reason in str(caught.value)


VALUES = st.fractions(min_value=-30, max_value=60, max_denominator=9)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=2, max_size=4), st.randoms(), st.sampled_from("+-*/"))
def test_a_canonical_step_reads_as_itself(values: list[Fraction], random: object, op: str) -> None:
    parts = [number(value) for value in sorted(values)]
    first, second = values[0], values[1]
    if op == "/" and second == 0:
        op = "*"
    shown = [f"({value})" if value < 0 or value.denominator > 1 else str(value) for value in (first, second)]
    made = {"+": first + second, "-": first - second, "*": first * second}.get(op)
    exact = first / second if made is None else made
    text = str(read_step(parts, f"{shown[0]} {op} {shown[1]}  =  {exact}"))
    assert text.startswith(f"{shown[0]} {op} {shown[1]} = {exact} (left: ")
    assert str(read_step(parts, text)) == text
    assert canonical(text) == (first, op, second)
    assert sorted([*values[2:], exact]) == [Fraction(part) for part in text.split("left: ")[1].rstrip(")").split()]


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("0123456789+-*/().=≈ ~left:x×÷−%^abc\\"), max_size=80))
def test_any_text_is_a_step_or_rejected(text: str) -> None:
    left = [number(value) for value in (4, 9, 10, 13)]
    try:
        found = read_step(left, text)
    except Rejected:
        return
    assert len(found.left) == 3
    assert canonical(str(found)) is not None


def test_the_published_proposals_are_read_or_rejected_for_a_reason() -> None:
    """8,397 distinct ones: steps that follow, those below a single number (about 1,850), and few others."""
    log = json.loads(shared("game24/gpt4_tot_log_900_1000.json").read_text("utf-8"))
    distinct = {(item["steps"][0]["x"], text) for item in log for one in item["steps"] for text in one["new_ys"]}
    assert len(distinct) == 8397
    reasons: Counter[str] = Counter()
    for hand, text in distinct:
        problem, state = Game24.parse(hand), ()
        *before, last = text.strip().split("\n")
        try:
            for line in before:
                state = (*state, problem.read(state, line))
        except Rejected:
            reasons["parent"] += 1
            continue
        try:
            problem.read(state, last)
            reasons["follows"] += 1
        except Rejected as reason:
            reasons["single" if "only one number" in str(reason) else "other"] += 1
    assert reasons["follows"] > 6000
    assert 1800 < reasons["single"] < 1900
    assert reasons["other"] < 200
