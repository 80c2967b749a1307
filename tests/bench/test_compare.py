"""Two runs item by item: what changed, what cannot be compared, what is matched with what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from branchwise.bench.compare import compare
from branchwise.errors import UnknownName, UsageError
from support.bench_rows import noisy, row, usage, write


def test_items_that_changed_are_listed_with_both_verdicts(tmp_path: Path) -> None:
    before = [row("gsm8k", str(n), "cot", score=float(n < 3)) for n in range(6)]
    after = [row("gsm8k", str(n), "cot", score=float(n in (1, 2, 3, 4))) for n in range(7)]
    found = compare(write(tmp_path / "a", before), write(tmp_path / "b", after))
    assert found.comparable
    [one] = found.pairs
    assert [change.item for change in one.gained] == ["3", "4"]
    assert [(change.item, change.before, change.after) for change in one.lost] == [("0", "correct (42)", "wrong (41)")]
    assert (one.pair.wins, one.pair.losses, one.pair.ties, one.pair.items, one.pair.left_out) == (2, 1, 3, 6, 1)
    assert one.pair.p == 1.0
    assert one.pair.difference == pytest.approx(1 / 6)


def test_a_planted_change_is_found_and_an_absent_one_is_not(tmp_path: Path) -> None:
    a = write(tmp_path / "a", noisy({"cot": 0.3, "io": 0.5}, 80, 1))
    b = write(tmp_path / "b", noisy({"cot": 0.8, "io": 0.5}, 80, 2))
    by_method = {one.first.method: one.pair for one in compare(a, b).pairs}
    assert by_method["cot"].found
    assert not by_method["io"].found
    assert by_method["cot"].together == 2
    [only] = compare(a, b, "cot").pairs
    assert only.pair.p_holm == only.pair.p


def test_a_run_against_itself_has_no_change(tmp_path: Path) -> None:
    a = write(tmp_path / "a", noisy({"cot": 0.3}, 30, 1))
    [one] = compare(a, a).pairs
    assert (one.gained, one.lost, one.moved, one.pair.p, one.pair.difference) == ([], [], [], 1.0, 0.0)


def test_other_data_cannot_be_compared(tmp_path: Path) -> None:
    """Case 37: golds are corrected later, and then two numbers are not of one thing."""
    a = write(tmp_path / "a", noisy({"cot": 0.3}, 30, 1))
    b = write(tmp_path / "b", noisy({"cot": 0.3}, 30, 1), data={"gsm8k": {"source": "test.jsonl", "sha256": "e" * 64}})
    found = compare(a, b)
    assert not found.comparable
    assert found.title.startswith("NOT COMPARABLE: the data of gsm8k is not the same (SHA-256 d and eeeeeeeeeeee)")


def test_another_model_is_matched_where_there_is_only_one(tmp_path: Path) -> None:
    a = noisy({"cot": 0.3}, 30, 1, model="small")
    b = noisy({"cot": 0.9}, 30, 1, model="large") + noisy({"io": 0.9}, 30, 1, model="large")
    found = compare(write(tmp_path / "a", a), write(tmp_path / "b", b))
    assert [one.name for one in found.pairs] == ["gsm8k, cot, small → large"]
    assert found.pairs[0].gained
    assert any(note == "only in the second run: gsm8k, io, large" for note in found.notes)


def test_graded_scores_and_seeds_move(tmp_path: Path) -> None:
    a = [row("crosswords", "1", "tot_dfs", score=score, seed=seed) for seed, score in enumerate((0.2, 0.4))]
    b = [replace(one, score=0.5, verdict="wrong") for one in a]
    [one] = compare(write(tmp_path / "a", a), write(tmp_path / "b", b)).pairs
    assert [(change.item, round(change.points, 6)) for change in one.moved] == [("1", 0.2)]
    assert one.moved[0].before == "wrong (41), wrong (41)"


def test_other_prompts_costs_and_versions_are_told(tmp_path: Path) -> None:
    a = write(tmp_path / "a", noisy({"cot": 0.3}, 5, 1), prompts={"gsm8k": "1"}, versions={"python": "3.11"})
    dear = [replace(one, usage=usage(reply=5000)) for one in noisy({"cot": 0.3}, 5, 1)]
    b = write(tmp_path / "b", dear, prompts={"gsm8k": "2"}, versions={"python": "3.12"})
    notes = compare(a, b).notes
    assert notes == ["other prompts: gsm8k", "other versions: python", "gsm8k, cot: unequal costs, 150 and 5,100 tokens a unit"]


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", noisy({"cot": 0.3}, 5, 1)), write(tmp_path / "b", noisy({"io": 0.3}, 5, 1))
    with pytest.raises(UsageError, match="have no task and method in common"):
        compare(a, b)
    with pytest.raises(UnknownName, match="unknown method of both runs 'tot'"):
        compare(a, a, "tot")
