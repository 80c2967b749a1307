"""Reading mathematical answers: boxes and markers, shapes, exact values, units; nothing is evaluated and everything is linear."""

from __future__ import annotations

from fractions import Fraction

import pytest

from branchwise import Kind, MethodError, Request, Scripted, UsageError, solve
from branchwise.tasks import TASKS
from branchwise.tasks.math.exact import TooLarge, exact, guard
from branchwise.tasks.math.latex import clean
from branchwise.tasks.math.reading import final_formula, normal
from branchwise.tasks.math.units import same_unit, unit_of
from support.pace import within

EXACT = {
    r"\frac{1}{2^{99}}": Fraction(1, 2**99), "1\\frac{4}{5}": Fraction(9, 5), "137 \\frac{1}{2}": Fraction(275, 2), "10,\\!080": 10080, "-3 + 4": 1,
    r"2021 \cdot 505 \cdot 337": 2021 * 505 * 337, ".0000672": Fraction(672, 10**7), "10^{-2}": Fraction(1, 100), "2(3+4)": 14, "5!": 120,
    "1/3": Fraction(1, 3), r"3 \times 10^4": 30000, "1 000 000": 10**6, "-(-2)^3": 8, "2^{3^2}": 512,
}  # fmt: skip


@pytest.mark.parametrize("text", EXACT)
def test_exact_values(text: str) -> None:
    found = exact(clean(text))
    assert found is not None
    assert found.value == EXACT[text]


@pytest.mark.parametrize(
    "text", ["x", "1/0", "2 3", "1,2", "(1", "1)", "\\sqrt{4}", "2^{1/2}", "", "1..2", "5 apples", "2\\frac{3}{2}", "0^{-1}"]
)
def test_what_is_no_number_is_none(text: str) -> None:
    assert exact(clean(text)) is None


@pytest.mark.parametrize("text", ["5^{5^{5^{5^5}}}", "9999999!", "10^{10^{10}}", "(" * 900, "1" * 900, "2^{99999}", "((9^9999)^9)"])
def test_what_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(TooLarge):
        exact(text)
    with pytest.raises(TooLarge):
        guard(text.replace("9999999!", "x + 9999999!") if "^" not in text else text + "+x^{99999}")


@pytest.mark.parametrize("text", ["x^{10} + 2^{n}", "n! + 5!", "\\frac{x}{y^{2^3}}", "e^{-x^2}"])
def test_ordinary_formulas_pass_the_guard(text: str) -> None:
    guard(text)


FINAL = {
    r"so \boxed{\frac{1}{2}} it is": r"\frac{1}{2}", r"\boxed{2}. Wait, no: \boxed{3}": "3", r"\boxed{7": None, r"\boxed{}": None,
    r"x=\boxed{1} and y=\boxed{2}": "1, 2", r"It is \boxed{1}. So \boxed{1}.": "1", "The answer is $x = 5$ meters.": "x = 5",
    "Answer: $1$ and $2$": "1, 2", "Answer:\n\\[ x \\]": "x", "I do not know.": None, "Answer: ?": None, "42": "42", "": None,
    "The final answer is (C).": "(C)", r"\boxed{3} is not it. The answer is 4.": "4",
}  # fmt: skip


@pytest.mark.parametrize("text", FINAL)
def test_the_answer_of_a_reply(text: str) -> None:
    assert final_formula(text) == FINAL[text]


def test_one_spelling_for_votes() -> None:
    assert normal("0.50") == normal(r"\frac12") == normal("1/2") == normal("x = 1/2") == "0.5"
    assert normal("2, 1") == normal(r"1 \text{ and } 2")
    assert normal(r"\left( 3, \frac{\pi}{2} \right)") == r"(3,\frac{\pi}{2})"
    assert normal("(1,2)") != normal("[1,2]")
    assert normal("A = 5, B = 6") != normal("A = 6, B = 5")
    assert normal("x = 5, x = 6") == normal("6, 5")
    assert normal("90^\\circ") == "90"


UNITS = {
    r"5.4 \text{ cents}": ("5.4", "cents"), r"864 \text{ inches}^2": ("864", "inches^2"), "4ft": ("4", "ft"), "5 Robins": ("5", "Robins"),
    "62.5%": ("62.5", "%"), "2k": ("2k", ""), r"\sin x": (r"\sin x", ""), "13.45 years": ("13.45", "years"), "x^2": ("x^2", ""), "7": ("7", ""),
}  # fmt: skip


@pytest.mark.parametrize("text", UNITS)
def test_units(text: str) -> None:
    assert unit_of(text) == UNITS[text]


def test_only_known_units_that_differ_are_different() -> None:
    assert same_unit("ft", "feet")
    assert same_unit("cm^2", "square centimeters")
    assert same_unit("apples", "pears")
    assert not same_unit("ft", "inches")


@pytest.mark.parametrize("unit", ["\\boxed{", "\\boxed{1} and ", "$", "\\frac", "{", "Answer: \\[", "1,", "("])
def test_a_megabyte_is_read_in_linear_time(unit: str) -> None:
    text = unit * (10**6 // len(unit))
    with within(4):
        found = final_formula(text)
        if found is not None:
            normal(found)


MATHS = ("math500", "aime24", "amc23", "olympiadbench", "odyssey")


@pytest.mark.parametrize("name", MATHS)
async def test_every_method_of_mathematics_runs(name: str) -> None:
    def reply(request: Request, index: int) -> str:
        text = request.messages[-1].content
        if request.role == "evaluate":
            return '{"reason": "x", "score": 0.7}' if "JSON" in text else "A small gap.\nScore: 60"
        if "Write a short critique" in text:
            return "A step is missing."
        return rf"We go on. $x = 4$, so it is \boxed{{4}} (way {index})"

    for method in TASKS[name].methods:
        result = await solve(TASKS[name].problem("Find $x$ with $x + {1} = 5$."), TASKS[name].method(method), Scripted(reply))
        assert result.answer == "4", method
        assert result.to_json()["unparsed"] in (0, {})


def test_steps_are_refused_with_the_reason() -> None:
    for name in MATHS:
        for method in ("tot_bfs", "tot_dfs", "mcts", "adaptive", "best_first", "a_star", "tot_bfs_refine"):
            with pytest.raises(MethodError, match="a thought of this task is a whole answer"):
                TASKS[name].method(method)
        with pytest.raises(UsageError, match="for example"):
            TASKS[name].problem("")


def test_a_reply_without_an_answer_is_open() -> None:
    problem = TASKS["math500"].problem("Find $x$.")
    assert problem.status(("I do not see it yet.",)).kind is Kind.OPEN
    assert problem.status((r"\boxed{5}",)).kind is Kind.COMPLETE
