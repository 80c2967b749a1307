"""Grading of files: metrics by name (case 39), broken lines, indexes, overrides, long golds."""

from __future__ import annotations

import json
import re
from typing import Any

from branchwise.bench.grade import Key, Report, grade
from branchwise.bench.grading.simple import Hands, Numbers
from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.keyring import key_of
from branchwise.tasks import TASKS
from branchwise.tasks.base import Item

KEY = Key([Item("a", "p"), Item("b", "q"), Item("c", "r")], {"a": Gold("1"), "b": Gold("2"), "c": Gold("see figure")}, "here")


def graded(*lines: Any, **settings: Any) -> Report:
    return grade([line if isinstance(line, str) else json.dumps(line) for line in lines], Numbers(), KEY, **settings)


def test_mean_pass_and_majority_are_three_numbers() -> None:
    four = ["#### 1", "#### 5", "#### 5", "nothing"]
    summary = graded({"id": "a", "outputs": four}, {"id": "b", "outputs": ["#### 7", "#### 8", "#### 9", "#### 1"]}).summary()
    assert (summary["items"], summary["outputs"], summary["k"]) == (2, 8, 4)
    assert (summary["mean_at_k"], summary["pass_at_k"], summary["majority_at_k"]) == (0.125, 0.5, 0.0)
    assert (summary["correct"], summary["wrong"], summary["no_answer"]) == (1, 6, 1)


def test_votes_are_normalised_and_ties_go_to_the_first() -> None:
    summary = graded(
        {"id": "a", "outputs": ["#### 5", "#### 1", "Answer: $1.00", "no"]}, {"id": "b", "outputs": ["#### 2", "#### 3"]}
    ).summary()
    assert summary["majority_at_k"] == 1.0
    assert summary["k"] is None


def test_lines_of_one_id_are_samples_of_one_item() -> None:
    report = graded({"id": "a", "output": "#### 1"}, {"id": "a", "output": "#### 2"})
    assert [row.sample for row in report.rows] == [1, 2]
    assert report.summary()["mean_at_k"] == 0.5


def test_an_unreadable_gold_is_in_no_share_and_is_listed() -> None:
    report = graded({"id": "a", "output": "#### 1"}, {"id": "c", "output": "#### 7"}, {"id": "x", "gold": "", "output": "#### 7"})
    summary = report.summary()
    assert (summary["correct"], summary["invalid_gold"], summary["mean_at_k"]) == (1, 2, 1.0)
    assert "cannot be read" in report.rows[1].reason


def test_a_broken_line_is_a_failed_row_with_its_reason() -> None:
    lines = ["{", "[]", "5", {"output": "x"}, {"id": "a"}, {"id": "zz", "output": "x"}, {"id": "a", "output": 5}, {"id": "a", "outputs": []},
             {"index": 9, "output": "x"}, {"index": "one", "output": "x"}, {"id": "a", "output": None}, "\x00", "[" * 100_000]  # fmt: skip
    report = graded(*lines, {"id": "a", "output": "#### 1"})
    assert [row.verdict for row in report.rows] == ["failed"] * len(lines) + ["correct"]
    assert all(row.reason for row in report.rows[:-1])


def test_an_index_counts_from_one_unless_one_is_zero() -> None:
    assert [row.id for row in graded({"index": 1, "output": "1"}, {"index": 2, "output": "1"}).rows] == ["a", "b"]
    report = graded({"index": 1, "output": "1"}, {"index": 0, "output": "1"})
    assert [row.id for row in report.rows] == ["b", "a"]
    assert "counted from 0" in report.notes[0]


def test_a_line_may_bring_its_gold_and_an_override_goes_first() -> None:
    report = graded(
        {"id": "a", "output": "#### 9", "gold": 9},
        {"id": "b", "output": "#### 8"},
        overrides={"b": Gold("8", note="overridden: a misprint")},
    )
    assert report.summary()["correct"] == 2
    assert "misprint" in report.notes[0]


def test_golds_that_are_all_long_are_told_of() -> None:
    report = grade([json.dumps({"output": "x", "gold": "1" + "0" * 70})], Numbers(), KEY)
    assert "solutions" in report.notes[0]


def test_hands_come_from_the_line() -> None:
    key = Key([Item("1", "4 5 6 10", 1)], {"1": Gold("4 5 6 10")}, "", ("gold", "hand", "input"))
    lines = [
        {"index": 1, "output": "Answer: (10 - 6) * 5 + 4 = 24"},
        {"hand": "1 1 1 1", "output": "Answer: 1 + 1 = 24"},
        {"hand": "x", "output": "x"},
    ]
    report = grade(map(json.dumps, lines), Hands(), key)
    assert [row.verdict for row in report.rows] == ["correct", "wrong", "invalid_gold"]


def test_our_own_list_is_named_with_a_hash_of_its_items_and_golds() -> None:
    sources = {name: key_of(TASKS[name], None).source for name in ("gsm8k", "game24", "crosswords", "writing")}
    for name, source in sources.items():
        assert re.fullmatch(rf"our own list of {name} \(SHA-256 [0-9a-f]{{16}}\.\.\.\)", source)
    assert len({source[-21:] for source in sources.values()}) == 4
