"""The report on the published Game of 24 log, against a second, plainer program that reads the log itself."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from branchwise.bench.imported import import_log
from branchwise.bench.report.document import Report, build
from support.data import shared

LOG = "game24/gpt4_tot_log_900_1000.json"
NUMBER = r"\(?(-?\d+(?:\.\d+)?(?:/\d+)?)\.*\)?"
STEP = re.compile(rf"\s*{NUMBER}\s*([-+*/])\s*{NUMBER}\s*=")


@cache
def can_make_24(numbers: tuple[Fraction, ...]) -> bool:
    if len(numbers) == 1:
        return numbers[0] == 24
    for i, a in enumerate(numbers):
        for j, b in enumerate(numbers):
            if i != j:
                rest = [n for k, n in enumerate(numbers) if k not in (i, j)]
                made = [a + b, a - b, a * b] + ([a / b] if b else [])
                if any(can_make_24(tuple(sorted([*rest, value]))) for value in made):
                    return True
    return False


def take(left: list[Fraction], text: str) -> Fraction | None:
    """The number that `text` means: itself, or the one that it is a rounding of."""
    said = Fraction(text)
    near = [n for n in left if n == said] or [n for n in left if n.denominator > 1 and abs(n - said) < Fraction(1, 100)]
    if not near:
        return None
    left.remove(near[0])
    return near[0]


def left_after(hand: str, lines: list[str]) -> tuple[Fraction, ...] | None:
    """What is left after the steps by the rules; `None` where one breaks them."""
    left = [Fraction(n) for n in hand.split()]
    for line in lines:
        match = STEP.match(line)
        if match is None:
            return None
        a, b = take(left, match[1]), take(left, match[3])
        if a is None or b is None or (match[2] == "/" and b == 0):
            return None
        left.append({"+": a + b, "-": a - b, "*": a * b}[match[2]] if match[2] != "/" else a / b)
    return tuple(sorted(left))


def hopeful(hand: str, text: str) -> bool:
    lines = [line for line in text.strip().split("\n") if line.strip()]
    left = left_after(hand, lines)
    return left is not None and can_make_24(left)


@pytest.fixture(scope="module")
def log() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared(LOG).read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("log")
    import_log(shared(LOG), folder / "game24")
    return build(folder / "game24")


def test_the_funnel_is_that_of_the_log(log: list[dict[str, Any]], report: Report) -> None:
    [trees] = report.trees.values()
    found = trees.funnel
    assert found is not None
    assert (found.items, found.generated, found.kept, found.final, found.chosen) == (100, 76, 74, 69, 62)
    # final and chosen: the authors' own marks of the final states
    assert found.final == sum(any(info["r"] == 1 for info in item["infos"]) for item in log)
    assert found.chosen == sum(item["infos"][0]["r"] == 1 for item in log)
    # steps 1 to 3: what was proposed and selected, replayed with fractions
    for step in (0, 1, 2):
        generated = sum(any(hopeful(item["steps"][0]["x"], y) for y in item["steps"][step]["new_ys"]) for item in log)
        kept = sum(any(hopeful(item["steps"][0]["x"], y) for y in item["steps"][step]["select_new_ys"]) for item in log)
        assert (found.levels[step].generated, found.levels[step].kept) == (generated, kept), step + 1
    assert [(level.generated, level.kept) for level in found.levels] == [(96, 84), (76, 76), (76, 74), (76, 74)]


def test_the_step_at_which_all_five_thoughts_failed(log: list[dict[str, Any]], report: Report) -> None:
    [trees] = report.trees.values()
    failures = trees.failures
    assert failures is not None
    counts = [0, 0, 0, 0]
    for item in log:
        hand = item["steps"][0]["x"]
        if item["infos"][0]["r"] == 1:
            continue
        bad = [not any(hopeful(hand, y) for y in item["steps"][step]["select_new_ys"]) for step in (0, 1, 2)]
        counts[bad.index(True) if True in bad else 3] += 1
    assert (failures.chains, failures.count, failures.right, list(failures.steps)) == (False, 100, 62, counts)
    assert counts == [16, 8, 2, 12]


def test_values_against_truth_by_counting_pairs(log: list[dict[str, Any]], report: Report) -> None:
    """How often a good first step was valued above a bad one, over all pairs of first steps."""
    good, bad = [], []
    for item in log:
        step = item["steps"][0]
        for y, value in zip(step["new_ys"], step["values"], strict=True):
            (good if hopeful(step["x"], y) else bad).append(value)
    above = sum((g > b) + (g == b) / 2 for g in good for b in bad) / (len(good) * len(bad))
    [trees] = report.trees.values()
    assert trees.calibration is not None
    assert trees.calibration.steps[1] == pytest.approx(above, abs=1e-9)
    assert above == pytest.approx(0.7485, abs=1e-4)
    assert trees.calibration.states == sum(len(step["values"]) for item in log for step in item["steps"])


def test_the_paragraph_names_the_weakest_part_first(report: Report) -> None:
    [trees] = report.trees.values()
    assert trees.lost.startswith("38 of 100 runs did not choose a right answer. They were lost by the evaluator (it was proposed")
    assert "14 of 38 (37 %); by the generator" in trees.lost
    assert "The largest single loss is at step 1, evaluator: generated and pruned (12)." in trees.lost


def test_published_figures_stand_beside_with_model_and_items(report: Report) -> None:
    found = {(one.reference.label, one.reference.measure): one for one in report.published}
    one = found["ToT b=5", "any final state right (oracle)"]
    assert (one.reference.value, one.reference.model, one.reference.n, one.items) == (74, "GPT-4", 100, "901:1000")
    assert one.ours == ()  # the log does not say its breadth, and the protocol has five of them


def test_crosswords_have_letters_words_and_games(tmp_path: Path) -> None:
    """Case 39: three numbers for the output, three for the best state."""
    import_log(shared("crosswords/infoss_dfs_prune.json"), tmp_path / "out", data=shared("crosswords/mini0505.json"))
    document = build(tmp_path / "out", data={"crosswords": shared("crosswords/mini0505.json")}).to_json()
    [cell] = document["cells"]
    parts = cell["traces"]["crosswords"]
    assert {name: round(100 * value, 1) for name, value in parts["output"].items()} == {"letters": 78.0, "words": 60.0, "games": 20.0}
    assert {n: round(100 * v, 1) for n, v in parts["best_state_oracle"].items()} == {"letters": 82.4, "words": 67.5, "games": 35.0}
    assert (cell["score"], cell["oracle"], cell["right_in_full"]) == (0.6, 0.675, 0.2)
    beside = {one["label"]: one["ours"] for one in document["published"]}
    assert [(one["method"], one["differs"]) for one in beside["ToT"]] == [("tot_dfs", None)]  # its settings are not recorded
    assert beside["ToT - prune"] == []


def test_without_the_key_there_is_no_score_and_a_note(tmp_path: Path) -> None:
    import_log(shared("crosswords/infoss_dfs_prune.json"), tmp_path / "out", data=shared("crosswords/mini0505.json"))
    report = build(tmp_path / "out", data={"crosswords": None})
    assert report.cells[0].items == 0
    assert any("answer key" in note for note in report.notes)
