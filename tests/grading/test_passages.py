"""Grids by letters, words and games (case 39); passages by their constraint."""

from __future__ import annotations

import pytest

from branchwise.bench.crosswords import own_solutions, published_solutions
from branchwise.bench.grading.passages import Grids, Passages, grid_in
from branchwise.bench.grading.verdicts import Gold, Verdict
from branchwise.bench.keyring import key_of
from branchwise.tasks import TASKS
from branchwise.tasks.crosswords.grid import Letters, show
from support.data import shared

GRAND = "GRAND RENEW ALIVE CAMEL EXERT"
GOLD = Gold(GRAND)
WORDS = GRAND.split()
ENDS = "The bus never came.\nShe sang.\nNobody had a clock.\nThat was all."
KEPT = "\n\n".join(f"It began well enough. {end}" for end in ENDS.split("\n"))


@pytest.mark.parametrize(
    "output",
    [
        GRAND, f"Answer: {GRAND}.", "Rows: " + GRAND.lower(), "\n".join(WORDS), "\n".join(" ".join(word) for word in WORDS),
        "\n".join(f"h{n}. {word}" for n, word in enumerate(WORDS, 1)), "\n".join(f"**h{n}.** {word}" for n, word in enumerate(WORDS, 1)),
        "\n".join(f"h{n}. {WORDS[n - 1]}" for n in (2, 5, 1, 3, 4)), "<think>h1. WRONG</think>Here:\n```\n" + "\n".join(WORDS) + "\n```\nDone.",
        "h1. grand\nh2. renew\nv1. graze\nh3. alive\nv1. grace\nh4. camel\nh5. exert",
    ],
)  # fmt: skip
def test_a_whole_grid_is_read_however_it_is_set(output: str) -> None:
    found = Grids().grade(output, GOLD, "")
    assert (found.verdict, found.extracted, found.scores) == (Verdict.CORRECT, GRAND, {"letters": 1.0, "words": 1.0, "game": 1.0})


def test_letters_words_and_games_are_three_numbers() -> None:
    found = Grids().grade("h1. GRAND\nv1. GRACE\nh2. REPEL", GOLD, "")
    assert found.verdict is Verdict.WRONG
    assert found.extracted == "GRAND REPEL A____ C____ E____"
    assert found.scores == {"letters": pytest.approx(11 / 25), "words": pytest.approx(2 / 10), "game": 0.0}


@pytest.mark.parametrize("output", ["", "no idea", "There would never quite these words", "h1. GRANDS", "<think>h1. GRAND</think>"])
def test_no_grid_is_no_answer_and_scores_nothing(output: str) -> None:
    found = Grids().grade(output, GOLD, "")
    assert (found.verdict, found.extracted) == (Verdict.NO_ANSWER, None)
    assert set(found.scores.values()) == {0.0}


def test_lines_with_the_same_label_are_no_grid_of_five_rows() -> None:
    assert grid_in("h1. GRAND\nh1. GRAVE\nh1. GREAT\nh1. GREEN\nh1. GRASS") == tuple("GRASS" + "_" * 20)


@pytest.mark.parametrize("text", ["", "see figure", "GRAND RENEW", "GRAND RENEW ALIVE CAMEL EXER_"])
def test_a_solution_that_is_none_is_an_invalid_gold(text: str) -> None:
    assert Grids().invalid(Gold(text))


def scored(solutions: dict[str, Letters]) -> list[Verdict]:
    return [Grids().grade(show(grid), Gold(show(grid)), "").verdict for grid in solutions.values() if not Grids().invalid(Gold(show(grid)))]


def test_every_solution_is_valid_and_equals_itself() -> None:
    assert scored(own_solutions()) == [Verdict.CORRECT] * 12
    path = shared("crosswords/mini0505.json")
    assert scored(published_solutions(path)) == [Verdict.CORRECT] * 156
    key = key_of(TASKS["crosswords"], path)
    assert [item.id for item in key.items] == list(key.golds)
    assert "the registered version" in key.source


def test_a_passage_that_keeps_its_endings_is_correct() -> None:
    for output in (KEPT, f"Plan:\nfour parts\n\nPassage:\n{KEPT}", f"Answer: {KEPT}", f"<think>hm</think>\nPassage:\n{KEPT}"):
        found = Passages().grade(output, Gold(ENDS), "")
        assert (found.verdict, found.extracted, found.scores) == (Verdict.CORRECT, KEPT, {"constraint": 1.0})


def test_a_passage_that_breaks_them_is_wrong_and_says_where() -> None:
    found = Passages().grade(KEPT.replace("She sang.", "She sings."), Gold(ENDS), "")
    assert (found.verdict, found.scores) == (Verdict.WRONG, {"constraint": 0.0})
    assert "paragraph 2" in found.reason
    assert Passages().grade("<think>only this", Gold(ENDS), "").verdict is Verdict.NO_ANSWER
    assert Passages().grade("", Gold(ENDS), "").verdict is Verdict.NO_ANSWER
    assert Passages().invalid(Gold("One sentence."))


def test_every_input_of_the_published_list_is_a_valid_gold() -> None:
    for data in (None, shared("creative_writing/data_100_random_text.txt")):
        golds = key_of(TASKS["writing"], data).golds
        assert len(golds) == (20 if data is None else 100)
        assert not [name for name, gold in golds.items() if Passages().invalid(gold)]
