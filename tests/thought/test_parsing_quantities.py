"""Numbers as people write them: case 23 and its kind, exact, and never a fragment of something else."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.thought.parsing import final_number, plain_number, quantity, show_number
from support.pace import within

DRESSED = {
    "$29.00": 29, "29.0 dollars": 29, "$70,000.": 70000, "70000": 70000, "twelve": 12, "Twenty": 20, "007": 7, "25%": 25, "25 percent": 25,
    "2９": 29, "３．５": Fraction(7, 2), "−5": -5, "-$5": -5, "$-5": -5, "minus 5": -5, "1/2": Fraction(1, 2), "3 1/2": Fraction(7, 2),
    "$1.5 million": 1_500_000, "200k": 200_000, "\\$32,\\!348": 32348, "\\frac{3}{4}": Fraction(3, 4), "1\\frac{4}{5}": Fraction(9, 5),
    "18 cm^2": 18,
    ".5": Fraction(1, 2), "**42**": 42, "`42`": 42, "5 apples": 5, "45°": 45, "60 km/h": 60,
    "$18$": 18, "€3": 3, "US$ 4.50": Fraction(9, 2), "70 000": 70000, "1 234 567": 1234567, "$1 234.50": Fraction(2469, 2), "70'000": 70000,
    "70\u202f000 dollars": 70000, "1\u2009234\u2009567": 1234567, "−12\u00a0500": -12500, "70_000": 70000, "3 500/7": Fraction(521, 7),
    "5 or more": 5, "5 m2": 5, "2 quarter notes": 2,
}  # fmt: skip


@pytest.mark.parametrize("text", DRESSED)
def test_a_dressed_number_is_read_exactly(text: str) -> None:
    assert plain_number(text) == DRESSED[text]


@pytest.mark.parametrize(
    "text", ["12:00", "1.2.3", "3-4", "twenty-one", "x", "", "1/0", "9 * 2", "2 + 2 apples", "no one knows", "5x + 3", "1" * 3000, "5 or 7",
             "five or seven", "5 apples 3", "5 and a half", "two thousand five hundred", "19, 46"]
)
def test_what_is_no_number_gives_none(text: str) -> None:
    assert plain_number(text) is None


def test_a_part_of_a_sum_or_of_a_time_is_never_taken_for_the_answer() -> None:
    for text in ("9 * 2", "12:30 pm", "3-4", "at 6:00", "4 + 5", "2^10", "\\sqrt{2}", "\\dfrac{a+1}{b}"):
        assert quantity(text) is None


SEVERAL = [
    "19, 46 and 82", "5 or 7", "5, 7", "5; 7", "5 7", "5 & 7", "$5 or $7", "$5$, $7$", "5%, 7%", "5 or 7 apples", "5 apples or 7, as you like",
    "5 apples and 3 pears", "either 5 or 7", "between 5 and 7", "5 to 7", "x = 5 or x = 7", "x = 5, y = 7", "five or seven", "5 or seven",
    "1/2 or 1/3", "5 (or 7)", "5 hours and 30 minutes", "5 and 7 respectively", "1 234 and 5 678",
]  # fmt: skip


@pytest.mark.parametrize("text", SEVERAL)
def test_several_numbers_are_no_answer_to_a_question_for_one(text: str) -> None:
    assert quantity(text) is None
    for reply in (f"The answer is {text}.", f"#### {text}" if text[0].isdigit() else f"Answer: {text}", f"**Answer:** {text}\nOr 9 things more."):
        assert final_number(reply) is None


def test_numbers_that_say_more_of_the_first_leave_it_the_answer() -> None:
    for text in ("5 apples, 3 of them red", "5 apples (3 red, 2 green)", "5 apples, and 3 are red", "5, as 5 is the limit", "5 or 5.0"):
        assert quantity(text) == 5
    assert quantity("x + y = 5 or 7") is quantity("5 and a half") is None
    assert final_number("In all they have 5, 7 or 9") is final_number("It may be 5 or 7.") is None
    assert final_number("In all 70 000 people came.") == 70000


REPLIES = {
    "The answer is $18 every day.": 18,
    "Answer: First, 16-3 = 13.\n13*2 = 26\nSo she makes 26 dollars.": 26,
    "... #### 18\n\nQuestion: Tom has 3 pens.\nAnswer: ... #### 7": 18,
    "<think>Answer: 5? no.</think> The answer is 72.": 72,
    "So we get 18 dollars.": 18,
    "It is $\\boxed\\frac12$": Fraction(1, 2), "So $\\boxed 5$.": 5, "\\boxed 1{,}234": 1234,
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
    st.integers(-(10**15), 10**15), st.sampled_from(["{}", "${:,}", "{:_}", "{:,}", "{}.00", "{:,} dollars", "**{}**", "{}.", "${:,}.00 per day"])
)
def test_every_whole_number_is_read_in_every_dress(value: int, dress: str) -> None:
    text = dress.format(value)
    assert plain_number(text) == value
    assert final_number(f"We add them up. The answer is {text}") == value
    assert final_number(f"So it is done.\n#### {text}") == value


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=999))
def test_a_shown_number_is_read_again(value: Fraction) -> None:
    assert plain_number(show_number(value)) == value


UNITS = ["1", "1,", "9 ", "(", "1/", "- ", "5 or ", "5 a, ", "x = 1 or ", "1 000 ",
         "Answer: $", "#### ", "Question:\n", "\\frac{1}{"]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_is_read_in_linear_time(unit: str) -> None:
    text = unit * (10**6 // len(unit))
    with within(4):
        final_number(text)
        plain_number(text)


@pytest.mark.parametrize(
    "text",
    ["Answer: 29,5", "So 2,5 kg remain", "The answer is €2,50.", "Answer: 12,34,567", "Item 3 weighs 29,5", "Answer: 10^{6}", "In all we get 10^6",
     "After 5 steps it is 10^6", "Answer: 10**6", "It is 2 ^ 10"],
)  # fmt: skip
def test_a_part_of_a_decimal_comma_or_of_a_power_is_never_the_number(text: str) -> None:
    assert final_number(text) is None


def test_a_unit_with_a_power_is_not_the_number() -> None:
    assert final_number("It covers 25 m^2") == 25
    assert final_number("Then 2^10 = 1024") == 1024
    assert final_number("It is **18**") == 18
