"""The mathematical checker: which answers are the same one. Cases 26, 27, 29, 30, 32, 35, 94, 99 and their kinds."""

from __future__ import annotations

import time
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.bench.grading.maths import Maths, equivalent
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.verdicts import Gold, Verdict
from support.math_pairs import DIFFERENT, SAME
from support.pace import slowness


@pytest.mark.parametrize(("gold", "answer"), SAME)
def test_the_same_answer(worker: Worker, gold: str, answer: str) -> None:
    assert equivalent(gold, answer, worker)


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_another_answer(worker: Worker, gold: str, answer: str) -> None:
    assert not equivalent(gold, answer, worker)


SHAPES = [
    "(0, 12.5)",
    "0 < x < 12.5",
    "[0, 12.5)",
    r"x \ge 2",
    r"[2,\infty)",
    "1, 2",
    r"\{2, 1\}",
    "x=5",
    "5",
    r"\frac{1}{2}",
    "0.5",
    "(1,2)",
    "1",
]


@pytest.mark.parametrize("one", SHAPES)
@pytest.mark.parametrize("other", SHAPES)
def test_the_rule_does_not_depend_on_which_of_the_two_is_the_gold(worker: Worker, one: str, other: str) -> None:
    assert equivalent(one, other, worker) == equivalent(other, one, worker)


C, W, N = Verdict.CORRECT, Verdict.WRONG, Verdict.NO_ANSWER
OUTPUTS = [
    (r"\boxed{\frac{1}{2}}", r"\frac{1}{3}", W),
    (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", C),
    (r"\boxed{2}. Wait, no: \boxed{3}", "3", C),
    (r"\boxed{2}. Wait, no: \boxed{3}", "2", W),
    (r"\boxed{\{1,2\}}", r"\{1,2\}", C),
    (r"so \boxed{7", "7", N),
    (r"$x=\boxed{1}$ and $y=\boxed{2}$", "1,2", C),
    (r"It is \boxed{1}. So \boxed{1}.", "1", C),
    (r"The roots are \boxed{1}, \boxed{2} and \boxed{3}.", "3,2,1", C),
    ("The final answer is $12$. I hope it is correct.", "12", C),
    ("Answer:\n\\[\n\\frac{1}{2}\n\\]", r"\frac12", C),
    ("We get $a = 3$ first.\nThe answer is $x = 5$.", "5", C),
    ("I do not know.", "5", N),
    ("Answer: unknown", "5", N),
    ("<think>\\boxed{5}</think>It cannot be said.", "5", N),
    ("42", "42", C),
    (r"It is \boxed{44}. We may check our answer: $17 \cdot 44 = 748$.", "44", C),
    (r"\boxed{3} is not it. The answer is 4.", "4", C),
    (r"It is \boxed{44}. We check: $17 \cdot 44 = 748$, so our answer is correct.", "44", C),
    ("The answer is 44, I think. No, the answer is wrong: the answer is 43.", "43", C),
    (r"\boxed{().__class__}", "5", W),
    (r"\boxed{__import__('os').system('touch pwned')}", "5", W),
    (r"\boxed{[x for x in (1).__class__.__mro__]}", "5", W),
    (r"the total is $\boxed{\$1{,}234.50}$.", "1234.5", C),
]


@pytest.mark.parametrize(("output", "gold", "verdict"), OUTPUTS)
def test_outputs(worker: Worker, output: str, gold: str, verdict: Verdict) -> None:
    assert Maths(worker).grade(output, Gold(gold), "").verdict is verdict


@pytest.mark.parametrize(
    "gold", ["", "  ", "see figure", "See the solution above", "$$", "graph", "N/A", r"\frac{1}{2", "the sum of both sides"]
)
def test_a_gold_that_cannot_be_read_is_invalid(worker: Worker, gold: str) -> None:
    assert Maths(worker).invalid(Gold(gold))


def test_the_tolerance_of_a_data_set_is_used_where_it_states_one(worker: Worker) -> None:
    assert equivalent("4.2", "4.25", worker, tolerance=Fraction(1, 10))
    assert not equivalent("4.2", "4.25", worker)
    assert not equivalent("4.2", "4.31", worker, tolerance=Fraction(1, 10))


def test_several_answers_with_thousands_are_read_as_the_data_says(worker: Worker) -> None:
    assert equivalent("100,200", "200, 100", worker, listing=True)
    assert equivalent("58,500", "58500", worker)


class Never:
    """Formulas that need no math-verify are never sent to it."""

    def equal(self, gold: str, pred: str) -> bool:
        """Fails."""
        raise AssertionError(f"asked for {gold} and {pred}")


@settings(deadline=None, max_examples=60)
@given(st.integers(-999, 999), st.integers(1, 99))
def test_a_fraction_equals_its_rewritings_and_no_other(above: int, below: int) -> None:
    value, never = Fraction(above, below), Never()
    written = [
        f"{above}/{below}",
        rf"\frac{{{above}}}{{{below}}}",
        rf"\dfrac{{{2 * above}}}{{{2 * below}}}",
        f"x = {above}/{below}",
        f"${above}/{below}$",
    ]
    written += [rf"-\frac{{{-above}}}{{{below}}}", rf"\text{{{above}/{below}}}", rf"\left({above}\right)/{below}"]
    for text in written:
        assert equivalent(str(value), text, never)
        assert not equivalent(str(value + 1), text, never)
        assert not equivalent(str(value + Fraction(1, 10**9)), text, never)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-999, 999), min_size=2, max_size=6, unique=True), st.integers(0, 99))
def test_several_answers_are_the_same_in_every_order_and_a_tuple_is_not(numbers: list[int], seed: int) -> None:
    shuffled = Random(seed).sample(numbers, len(numbers))
    gold, never = ", ".join(map(str, numbers)), Never()
    for text in (", ".join(map(str, shuffled)), " and ".join(map(str, shuffled)), rf"\{{{', '.join(map(str, shuffled))}\}}"):
        assert equivalent(gold, text, never, listing=True)
        assert not equivalent(gold, f"{text}, 5000".replace(r"\}, 5000", r", 5000\}"), never, listing=True)
    point = f"({', '.join(map(str, numbers))})"
    assert equivalent(point, rf"\left( {' , '.join(map(str, numbers))} \right)", never)
    assert not equivalent(point, f"({', '.join(map(str, [*numbers[1:], numbers[0]]))})", never)


def test_five_hundred_answers_in_a_minute(worker: Worker) -> None:
    began = time.perf_counter()
    for number in range(500):
        gold = (rf"{number + 2}\sqrt{{3}} + x^{{{number % 7}}}", str(number), rf"\frac{{{number}}}{{7}}")[number % 3]
        output = (rf"\boxed{{x^{{{number % 7}}} + {number + 2}\sqrt{{3}}}}", rf"\boxed{{{number}}}", rf"\boxed{{{number}/7}}")[number % 3]
        assert Maths(worker).grade(output, Gold(gold), "").verdict is C
    assert time.perf_counter() - began < 60 * slowness()
