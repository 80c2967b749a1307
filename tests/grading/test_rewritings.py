"""Every gold of every public set equals its usual rewritings: how models dress formulas, numbers, yes and no."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from branchwise.bench.golds import published_golds
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.verdicts import Gold, Verdict
from branchwise.bench.keyring import checker_of
from branchwise.data.sets import DATASETS
from support.data import shared

Rewriting = Callable[[str], str]
MATHS = ("math500", "aime24", "amc23", "olympiadbench", "odyssey")


def grouped(text: str) -> str:
    """Whole numbers of five digits and more with thousands separators."""
    return re.sub(r"(?<![\d.,{])\d{5,}(?![\d.,}])", lambda found: f"{int(found[0]):,}" if found[0][0] != "0" else found[0], text)


FORMULAS: dict[str, Rewriting] = {
    "display fractions": lambda text: text.replace("\\frac", "\\dfrac"),
    "sized brackets": lambda text: text.replace("\\left", "").replace("\\right", "").replace("(", "\\left(").replace(")", "\\right)"),
    "bare brackets": lambda text: text.replace("\\left", "").replace("\\right", ""),
    "dollars inside": lambda text: f"${text}$",
    "wide": lambda text: text.replace(",", ", ").replace("+", " + ").replace("=", " = "),
    "thin spaces": lambda text: text.replace("+", "\\,+\\,").replace("=", "\\;=\\;"),
    "slash": lambda text: re.sub(r"\\[dt]?frac\{(\d+)\}\{(\d+)\}", r"{\1/\2}", text),
    "letters of Greek": lambda text: re.sub(r"\\pi(?![a-z])", "π", text),
    "signs": lambda text: re.sub(r"\\infty(?![a-z])", "∞", text).replace("\\le ", "\\leq ").replace("\\cdot ", "\\times "),
    "root of a digit": lambda text: re.sub(r"\\sqrt\{(\d)\}", r"\\sqrt\1", text),
    "degrees": lambda text: text.replace("^\\circ", "°").replace("^{\\circ}", "°"),
    "percent": lambda text: text.replace("\\%", "%"),
    "grouped": grouped,
    "full stop": lambda text: f"{text}.",
}
NUMBERS: dict[str, Rewriting] = {
    "dollars": lambda text: f"${text}" if not text.startswith("-") else f"-${text[1:]}",
    "unit": lambda text: f"{text} apples",
    "decimals": lambda text: f"{text}.00" if "." not in text else f"{text}00",
    "bold": lambda text: f"**{text}**",
    "grouped": grouped,
    "full width": lambda text: text.translate({48 + digit: 0xFF10 + digit for digit in range(10)}),
    "leading zero": lambda text: re.sub(r"^(-?)", r"\g<1>0", text) if "," not in text else text,
}
VERDICTS: dict[str, Rewriting] = {
    "capital": str.capitalize,
    "loud": str.upper,
    "bold": lambda text: f"**{text}**",
    "truth": lambda text: {"yes": "true", "no": "false"}[text],
    "reason behind": lambda text: f"{text}, because the facts say so",
}
NOT_SO: dict[tuple[str, str], set[str]] = {}
"""Set and rewriting to ids for which the rewriting says something else."""


def reordered(gold: Gold) -> str | None:
    """Several answers that are parted by commas outside of brackets, the last one first."""
    parts, depth = [""], 0
    for letter in gold.text.replace("$", ""):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return ", ".join([parts[-1].strip(), *parts[:-1]]) if gold.listing and len(parts) > 1 and not depth else None


def missed(worker: Worker, name: str, kind: str, rewrite: Rewriting, wrap: str) -> dict[str, tuple[str, Gold, str]]:
    checker, found = checker_of(name, worker), {}
    for key, gold in published_golds(name, shared(DATASETS[name].file)).items():
        output = wrap.format(rewrite(gold.text.replace("\\$", "").replace("$", "").strip()))
        graded = checker.grade(output, gold, "")
        if graded.verdict is not Verdict.CORRECT and key not in NOT_SO.get((name, kind), ()):
            found[key] = (output, gold, graded.reason)
    return found


@pytest.mark.parametrize("kind", FORMULAS)
@pytest.mark.parametrize("name", MATHS)
def test_a_formula_in_another_dress_is_the_same(worker: Worker, name: str, kind: str) -> None:
    assert not missed(worker, name, kind, FORMULAS[kind], "So it is \\boxed{{{}}}")


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", ["gsm8k", "gsm_hard", "svamp"])
def test_a_number_in_another_dress_is_the_same(worker: Worker, name: str, kind: str) -> None:
    assert not missed(worker, name, kind, NUMBERS[kind], "We add 3 and 4. The answer is {}")


@pytest.mark.parametrize("kind", VERDICTS)
def test_yes_and_no_in_another_dress_are_the_same(worker: Worker, kind: str) -> None:
    assert not missed(worker, "strategyqa", kind, VERDICTS[kind], "Some say so, and not all agree. The answer is {}")


def test_several_answers_in_another_order_are_the_same(worker: Worker) -> None:
    checker, seen = checker_of("olympiadbench", worker), 0
    for key, gold in published_golds("olympiadbench", shared(DATASETS["olympiadbench"].file)).items():
        if (text := reordered(gold)) is not None:
            seen += 1
            assert checker.grade(f"\\boxed{{{text}}}", gold, "").verdict is Verdict.CORRECT, (key, gold, text)
    assert seen > 50


def test_each_rewriting_changes_some_gold() -> None:
    texts = [gold.text for name in MATHS for gold in published_golds(name, shared(DATASETS[name].file)).values()]
    for kind, rewrite in FORMULAS.items():
        assert any(rewrite(text) != text for text in texts), kind
