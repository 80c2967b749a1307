"""Numbers as people write them: case 23 and its kind, exact, and never a fragment of something else."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.thought.parsing import final_number, plain_number, quantity, show_number

DRESSED = {
    "$29.00": 29, "29.0 dollars": 29, "$70,000.": 70000, "70000": 70000, "twelve": 12, "Twenty": 20, "007": 7, "25%": 25, "25 percent": 25,
    "2９": 29, "３．５": Fraction(7, 2), "−5": -5, "-$5": -5, "$-5": -5, "minus 5": -5, "1/2": Fraction(1, 2), "3 1/2": Fraction(7, 2),
    "$1.5 million": 1_500_000, "200k": 200_000, "\\$32,\\!348": 32348, "\\frac{3}{4}": Fraction(3, 4), "1\\frac{4}{5}": Fraction(9, 5),
    "18 cm^2": 18,
    ".5": Fraction(1, 2), "**42**": 42, "`42`": 42, "5 apples": 5, "45°": 45, "60 km/h": 60,
    "$18$": 18, "€3": 3, "US$ 4.50": Fraction(9, 2),
}  # fmt: skip


@pytest.mark.parametrize("text", DRESSED)
def test_a_dressed_number_is_read_exactly(text: str) -> None:
    assert plain_number(text) == DRESSED[text]


@pytest.mark.parametrize(
    "text", ["12:00", "1.2.3", "3-4", "twenty-one", "x", "", "1/0", "9 * 2", "2 + 2 apples", "no one knows", "5x + 3", "1" * 3000]
)
def test_what_is_no_number_gives_none(text: str) -> None:
    assert plain_number(text) is None


def test_a_part_of_a_sum_or_of_a_time_is_never_taken_for_the_answer() -> None:
    for text in ("9 * 2", "12:30 pm", "3-4", "at 6:00", "4 + 5", "2^10"):
        assert quantity(text) is None


REPLIES = {
    "The answer is $18 every day.": 18,
    "Answer: First, 16-3 = 13.\n13*2 = 26\nSo she makes 26 dollars.": 26,
    "... #### 18\n\nQuestion: Tom has 3 pens.\nAnswer: ... #### 7": 18,
    "<think>Answer: 5? no.</think> The answer is 72.": 72,
    "So we get 18 dollars.": 18,
    "So \\boxed{1{,}234}": 1234,
    "**Answer:** 1,234": 1234,
    "Answer: 9 * 2 = $18 per day": 18,
    "Strategy: add 3 and 4.\nAnswer: 3 + 4 = 7. So the answer is 7": 7,
    "The answer is twelve.": 12,
    "The answer is 12. Let us check: 3 * 4 = 12, so the answer is correct.": 12,
    "First 3 boxes.\nThen 4 more.\nIn all 7 boxes.\n\nQuestion: How many are 9 and 9?\n18": 7,
}


@pytest.mark.parametrize("text", REPLIES)
def test_the_final_number_of_a_reply(text: str) -> None:
    assert final_number(text) == REPLIES[text]


@pytest.mark.parametrize("text", ["", "I have no idea", "it is \\boxed{7", "<think>it is 5", "The total is at 12:30."])
def test_a_reply_without_a_number_has_none(text: str) -> None:
    assert final_number(text) is None


@given(
    st.integers(-(10**15), 10**15), st.sampled_from(["{}", "${:,}", "{:,}", "{}.00", "{:,} dollars", "**{}**", "{}.", "${:,}.00 per day"])
)
def test_every_whole_number_is_read_in_every_dress(value: int, dress: str) -> None:
    text = dress.format(value)
    assert plain_number(text) == value
    assert final_number(f"We add them up. The answer is {text}") == value
    assert final_number(f"So it is done.\n#### {text}") == value


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=999))
def test_a_shown_number_is_read_again(value: Fraction) -> None:
    assert plain_number(show_number(value)) == value


@pytest.mark.parametrize("unit", ["1", "1,", "9 ", "(", "1/", "- ", "Answer: $", "#### ", "Question:\n", "\\frac{1}{"])
def test_a_megabyte_is_read_in_linear_time(unit: str) -> None:
    text = unit * (10**6 // len(unit))
    began = time.process_time()
    final_number(text)
    plain_number(text)
    assert time.process_time() - began < 4
