"""Checkers of numbers, of yes and no, and of hands: cases 4, 5, 15, 21, 23, 35."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from branchwise.bench.grading.simple import Hands, Numbers, YesNo, close
from branchwise.bench.grading.verdicts import Gold, Verdict
from support.pace import slowness

C, W, N = Verdict.CORRECT, Verdict.WRONG, Verdict.NO_ANSWER

NUMBERS = [
    ("The answer is $29.00.", "29", C), ("29.0 dollars", "29", C), ("Answer: $70,000.", "70,000", C), ("70000", "70,000", C),
    ("<think>Answer: 5? no.</think> The answer is 72.", "72", C), ("#### 18\n\nQuestion: Tom\nAnswer: #### 7", "18", C),
    ("#### 025", "25", C), ("Answer: 12:00", "12", W), ("no idea", "12", N), ("Answer: about", "12", W), ("Answer: 25%", "0.25", C),
    ("Answer: 25%", "25", C), ("Answer: 0.25", "25", W),
    ("Answer: 70 000", "70000", C), ("Answer: 70 000", "70", W), ("Answer: 1 234 567", "1", W), ("The answer is 70\u2009000.", "70,000", C),
    ("The answer is 19, 46 and 82", "19", W), ("Answer: 5 or 7", "5", W), ("#### 5, 7", "5", W), ("Answer: 5 or 7", "7", W),
    ("It may be 5 or 7.", "7", N), ("Answer: 5 apples, 3 of them red", "5", C),
    ("Answer: 14053029.67", "14053029.666666666", C),
    ("Answer: 14053030", "14053029.666666666", W),
    ("Answer: 9867631", "9867630", W), ("Answer: -5", "5", W), ("Answer: 1/3", "0.333333", C), ("Answer: 0.0000001", "0.0000002", W),
]  # fmt: skip


@pytest.mark.parametrize(("output", "gold", "verdict"), NUMBERS)
def test_numbers(output: str, gold: str, verdict: Verdict) -> None:
    assert Numbers().grade(output, Gold(gold), "").verdict is verdict


def test_a_gold_without_a_number_is_invalid_and_nothing_is_right_then() -> None:
    for text in ("", "see figure", "12:00", "x"):
        assert Numbers().invalid(Gold(text))
    assert not Numbers().invalid(Gold("-9,867,630.0"))


def test_whole_numbers_are_never_taken_for_rounded_ones() -> None:
    assert not close(Fraction(10**12), Fraction(10**12 + 1))
    assert close(Fraction(1, 3), Fraction("0.333333"))
    assert not close(Fraction(1, 10**7), Fraction(2, 10**7))


YES_NO = {
    "I do not know.": None, "Not really, so yes.": "yes", "Nobody would. So the answer is no.": "no", "Yes, but no.": None, "**No**.": "no",
    "The answer is: false": "no", "The answer is yes": "yes", "So the answer is NO.": "no",
}  # fmt: skip


@pytest.mark.parametrize("output", YES_NO)
def test_yes_and_no(output: str) -> None:
    found = YesNo().grade(output, Gold("yes"), "")
    assert found.extracted == YES_NO[output]
    assert found.verdict is {None: N, "yes": C, "no": W}[YES_NO[output]]


HANDS = {
    "Answer: (6 + 3) * 4 / 2 = 24": W, "Answer: 6 * 4 = 24": W, "Answer: 2 * 3 * 4 + 6 - 6 = 24": W, "Answer: 24 = 24": W, "Answer: 4!": W,
    "Answer: 6*4*(3-2) = 24 = 24": C, "Answer: Not possible": N, "Let me think about it": N,
    "Answer: __import__('os').system('touch pwned') = 24": W,
}  # fmt: skip


@pytest.mark.parametrize("output", HANDS)
def test_hands(output: str) -> None:
    assert Hands().grade(output, Gold("2 3 4 6"), "").verdict is HANDS[output]


def test_ten_thousand_hands_in_five_seconds() -> None:
    outputs = [
        "Steps:\n8 - 1 = 7 (left: 4 7 8)\nAnswer: (8 - 1 - 4) * 8 = 24",
        "Answer: 8 * 4 - 8 * 1 = 24",
        "I cannot find one.",
        "Answer: None",
    ] * 2500
    began = time.process_time()
    for output in outputs:
        Hands().grade(output, Gold("1 4 8 8"), "")
    assert time.process_time() - began < 5 * slowness()
