"""Answer keys: every gold of every public set reads as valid and equals itself as models write it; strange rows; overrides of a kind."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from branchwise.bench.golds import gold_of_text, own_golds, published_golds
from branchwise.bench.grade import grade
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.verdicts import Verdict
from branchwise.bench.keyring import GRADED, checker_of, key_of
from branchwise.data.sets import DATASETS
from branchwise.tasks import TASKS
from support.data import shared
from support.pace import within

INVALID: dict[str, dict[str, str]] = {}
"""Set to id to the reason: golds that cannot be read. There is none now."""
NOT_AS_A_SENTENCE = {"odyssey": {"Problem_7"}}
"""An answer that ends in a factorial loses its sign at the end of a sentence; in a box it does not."""

WRAPS = {
    "box": "So it is.\n\\boxed{{{}}}",
    "hope": "Therefore, the final answer is: $\\boxed{{{}}}$. I hope it is correct.",
    "line": "We get it.\nAnswer: ${}$",
    "sentence": "The answer is {}.",
}
PLAIN_WRAPS = {"sentence": "The answer is {}.", "hashes": "#### {}", "bold": "Answer: **{}**"}
SETS = [name for name in GRADED if name not in ("game24", "crosswords", "writing")]


@pytest.mark.parametrize("name", SETS)
def test_every_gold_of_a_public_set_is_valid_and_equals_itself(worker: Worker, name: str) -> None:
    path = shared(DATASETS[name].file)
    checker, golds = checker_of(name, worker), published_golds(name, path)
    assert len(golds) == DATASETS[name].items
    invalid = {key: checker.invalid(gold) for key, gold in golds.items() if checker.invalid(gold)}
    assert invalid == INVALID.get(name, {})
    wraps = PLAIN_WRAPS if name in ("gsm8k", "gsm_hard", "svamp", "strategyqa") else WRAPS
    for kind, wrap in wraps.items():
        for key, gold in golds.items():
            if key in invalid or (kind == "sentence" and key in NOT_AS_A_SENTENCE.get(name, ())):
                continue
            text = gold.text.replace("\\$", "").replace("$", "").strip()
            found = checker.grade(wrap.format(text), gold, "")
            assert found.verdict is Verdict.CORRECT, (name, key, kind, gold, found)


@pytest.mark.parametrize("name", SETS)
def test_no_gold_of_a_public_set_equals_a_neighbour_that_reads_otherwise(worker: Worker, name: str) -> None:
    golds = list(published_golds(name, shared(DATASETS[name].file)).values())
    checker = checker_of(name, worker)
    wrong = 0
    for gold, other in pairwise(golds):
        text = other.text.replace("\\$", "").replace("$", "").strip()
        wrong += checker.grade(f"\\boxed{{{text}}}" if name not in PLAIN_SETS else f"Answer: {text}", gold, "").verdict is Verdict.WRONG
    assert wrong >= 0.4 * len(golds) if name in ("strategyqa", "odyssey") else wrong >= 0.85 * len(golds) - 2


PLAIN_SETS = ("gsm8k", "gsm_hard", "svamp", "strategyqa")


def test_the_facts_of_the_sets() -> None:
    gsm8k = published_golds("gsm8k", shared("gsm8k/test.jsonl"))
    assert sum("," in gold.text for gold in gsm8k.values()) == 14
    assert sum(gold.text.startswith("-") for gold in gsm8k.values()) == 2
    hard = published_golds("gsm_hard", shared("gsm_hard/gsmhardv2.jsonl"))
    assert hard["1"].text == "-9867630"
    assert sum("." in gold.text for gold in hard.values()) == 303
    assert sum(gold.text.startswith("-") for gold in hard.values()) == 146
    said = [gold.text for gold in published_golds("strategyqa", shared("strategyqa/dev.json")).values()]
    assert (said.count("no"), said.count("yes")) == (122, 107)
    assert all(
        not gold.text.startswith("0") or gold.text == "0" for gold in published_golds("aime24", shared("aime24/test.jsonl")).values()
    )
    assert published_golds("amc23", shared("aime24/amc23.jsonl"))["3"].text == "3159"
    olympiad = published_golds("olympiadbench", shared("olympiadbench/test.jsonl")).values()
    assert sum(gold.listing for gold in olympiad) == 94
    assert sum(bool(gold.unit) for gold in olympiad) == 8
    assert [gold.tolerance for gold in olympiad if gold.tolerance] == [Fraction(1, 10)]
    odyssey = published_golds("odyssey", shared("odyssey_math/final-odyssey-math-with-levels.jsonl"))
    assert not any("noindent" in gold.text or "\\\\" in gold.text for gold in odyssey.values())


@pytest.mark.parametrize("name", SETS)
def test_every_gold_of_our_own_is_valid_and_has_its_item(worker: Worker, name: str) -> None:
    key, checker = key_of(TASKS[name], None), checker_of(name, worker)
    assert [item.id for item in key.items] == list(own_golds(name))
    assert len(key.items) == 30
    for gold in key.golds.values():
        assert not checker.invalid(gold)
        assert (
            checker.grade(
                f"So the answer is \\boxed{{{gold.text}}}" if "\\" in gold.text else f"The answer is {gold.text}", gold, ""
            ).verdict
            is Verdict.CORRECT
        )


def test_a_gold_that_is_a_solution_gives_its_box_and_says_so() -> None:
    found = gold_of_text("We have a long way to go before we come to the end of it, which is \\boxed{1.6} \\mathrm{~cm}")
    assert found.text == "1.6"
    assert "box" in found.note
    assert gold_of_text("x" * 70 + "\n#### 18").text == "18"
    assert gold_of_text("\\frac{1}{2}").note == ""


def test_a_row_without_an_answer_takes_the_box_of_its_solution(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"problem": "p", "solution": "so \\boxed{1.6} \\mathrm{~cm}"},
        {"problem": "q", "solution": "no box"},
        {"problem": "r", "answer": "5"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    golds = published_golds("math500", path)
    assert [gold.text for gold in golds.values()] == ["1.6", "", "5"]
    assert "box" in golds["1"].note


def test_thirteen_hundred_word_problems_in_two_seconds(worker: Worker) -> None:
    key = key_of(TASKS["gsm8k"], shared("gsm8k/test.jsonl"))
    lines = [json.dumps({"id": item.id, "output": f"We add.\n{item.input}\n#### {key.golds[item.id].text}"}) for item in key.items]
    with within(2):
        report = grade(lines, checker_of("gsm8k", worker), key)
    assert report.summary()["correct"] == 1319
    assert "the registered version" in report.source


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("So it is \\boxed{1.6}.", "1.6"),
        ("The radius is $r = \\boxed{1.6} \\mathrm{~cm}$", "1.6"),
        ("She has 16+2=18\n#### 18", "18"),
        ("1.6", "1.6"),
        ("\\boxed{1}, \\boxed{2}", "\\boxed{1}, \\boxed{2}"),
    ],
)
def test_a_short_worked_solution_is_read_as_a_long_one(text: str, gold: str) -> None:
    """Case 36. Two boxes in a short one are a list, not a solution."""
    assert gold_of_text(text).text == gold
