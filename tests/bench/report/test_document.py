"""The report on made-up runs: what each number is, by hand; the same bytes in any order; unequal costs fail; planted differences are found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from branchwise.bench.report.cells import cells, ordered
from branchwise.bench.report.document import build
from branchwise.bench.report.html import page
from branchwise.bench.report.spending import spending
from branchwise.errors import UsageError
from support.bench_rows import noisy, row, usage, write
from support.binomial import N, coverage, power, within


def test_mean_pass_and_majority_are_three_numbers_with_names(tmp_path: Path) -> None:
    """Case 39: two items of four samples, one right sample in the first."""
    rows = [
        row("gsm8k", "1", "cot", score=0.0, oracle_score=1.0, samples=[0.0, 1.0, 0.0, 0.0], votes=["5", "42", "5", None]),
        row("gsm8k", "2", "cot", score=0.0, oracle_score=0.0, samples=[0.0] * 4, votes=["1", "2", "3", "3"]),
    ]
    [cell] = build(write(tmp_path / "a", rows), traces=False).to_json()["cells"]
    assert cell["answers"] == {"k": 4, "k_least": 4, "k_most": 4, "mean_at_k": 0.125, "pass_at_k_oracle": 0.5, "majority_at_k": 0.0}
    assert (cell["accuracy"], cell["oracle"]) == (0.0, 0.5)


def test_seeds_of_an_item_are_pooled_and_an_item_counts_once(tmp_path: Path) -> None:
    rows = [row("gsm8k", "1", "io", score=float(seed < 3), seed=seed) for seed in range(4)]
    rows += [row("gsm8k", "2", "io", score=0.0, seed=seed) for seed in range(4)]
    [cell] = build(write(tmp_path / "a", rows), traces=False).to_json()["cells"]
    assert cell["answers"] == {"k": 4, "k_least": 4, "k_most": 4, "mean_at_k": 0.375, "pass_at_k_oracle": 0.5, "majority_at_k": 0.5}
    assert (cell["accuracy"], cell["items"], cell["seeds"], cell["interval_kind"]) == (0.375, 2, 4, "bootstrap")


def test_five_verdicts_are_five_things(tmp_path: Path) -> None:
    rows = [row("gsm8k", str(n), "io", score=float(n < 2)) for n in range(4)]
    rows += [row("gsm8k", "4", "io", score=0.0, verdict="invalid_gold"), row("gsm8k", "5", "io", score=0.0, verdict="no_answer", answer=None)]
    rows += [row("gsm8k", "6", "io", score=0.0, verdict="failed", status="failed", error="<b>the server is gone</b>")]
    report = build(write(tmp_path / "a", rows), traces=False)
    [cell] = report.to_json()["cells"]
    assert cell["verdicts"] == {"correct": 2, "wrong": 2, "no_answer": 1, "invalid_gold": 1, "failed": 1}
    assert (cell["items"], cell["accuracy"]) == (6, round(2 / 6, 6))
    assert report.invalid == [("gsm8k", "4")]
    assert report.failed == [("gsm8k", "6", "io", "<b>the server is gone</b>")]


def test_graded_answers_have_a_score_and_a_share_that_is_right_in_full(tmp_path: Path) -> None:
    rows = [row("crosswords", "1", "tot_dfs", score=0.5), row("crosswords", "2", "tot_dfs", score=1.0)]
    [cell] = build(write(tmp_path / "a", rows), traces=False).to_json()["cells"]
    assert (cell["score"], cell["right_in_full"]) == (0.75, 0.5)
    assert "accuracy" not in cell


def test_the_bytes_do_not_depend_on_the_order_of_rows_nor_on_the_folder(tmp_path: Path) -> None:
    rows = noisy({"cot": 0.4, "io": 0.3, "tot_bfs": 0.6}, 40, 1)
    mixed = [replace(one, seconds=9.9) for one in rows]
    Random(5).shuffle(mixed)
    a = build(write(tmp_path / "a", rows, ["io", "cot", "tot_bfs"]), traces=False, clock=False)
    b = build(write(tmp_path / "elsewhere", mixed, ["io", "cot", "tot_bfs"], commands=["bench run"], started="2026"), traces=False, clock=False)
    assert json.dumps(a.to_json()) == json.dumps(b.to_json())
    assert page(a) == page(b)
    assert b"seconds" not in page(a)
    assert [cell.method for cell in a.cells] == ["io", "cot", "tot_bfs"]


def test_the_second_row_of_a_unit_and_a_cut_line_do_not_count(tmp_path: Path) -> None:
    """Case 84."""
    rows = noisy({"cot": 0.4}, 10, 1)
    folder = write(tmp_path / "a", [*rows, replace(rows[0], score=1 - rows[0].score)])
    with open(folder / "rows.jsonl", "ab") as file:
        file.write(b'{"unit": "half')
    told: list[str] = []
    report = build(folder, traces=False, notice=told.append)
    assert report.cells[0].scores["0"] == rows[0].score
    assert report.cells[0].units == 10
    assert "cut" in told[0]


def test_unequal_costs_are_in_the_title_and_fail_where_equality_was_promised(tmp_path: Path) -> None:
    def rows(dear: int) -> list[object]:
        return [row("gsm8k", str(n), m, usage=usage(prompt=0, reply=r)) for n in range(5) for m, r in (("io", 1000), ("cot", dear))]

    equal = {"by": "tokens", "amount": 1000, "tolerance": 0.05}
    fine = build(write(tmp_path / "a", rows(1049), equal=equal), traces=False)  # type: ignore[arg-type]
    assert fine.fair
    assert "equal tokens, within 5 %" in fine.title
    broken = build(write(tmp_path / "b", rows(1051), equal=equal), traces=False)  # type: ignore[arg-type]
    assert not broken.fair
    assert broken.title.startswith("COMPARISON FAILED: budgets were to be equal")
    assert b'<h1 class="failed">COMPARISON FAILED' in page(broken)
    free = build(write(tmp_path / "c", rows(3000)), traces=False)  # type: ignore[arg-type]
    assert free.fair
    assert "UNEQUAL COSTS: the dearest method of gsm8k spent 3.0 times the tokens of the cheapest" in free.title


def test_unknown_prices_are_not_equal() -> None:
    rows = [row("gsm8k", "1", "io", usage=usage(cost=None)), row("gsm8k", "1", "cot", usage=usage(cost=5))]
    [one] = spending(cells(ordered(rows)), {"by": "cost", "tolerance": 0.05})
    assert (one.equal, one.broken, one.spread) == (False, True, None)


def test_the_plain_baseline_may_win_and_the_report_says_so(tmp_path: Path) -> None:
    report = build(write(tmp_path / "a", noisy({"cot": 0.9, "tot_bfs": 0.3}, 60, 3)), traces=False)
    [words] = report.baseline
    assert "The plain baseline wins, beyond chance, over tot_bfs" in words
    assert "No method was shown to be better than the plain baseline, and none was even ahead of it." in words
    with pytest.raises(UsageError, match="no method 'nothing' in this run; known: cot, tot_bfs"):
        build(tmp_path / "a", traces=False, baseline="nothing")
    other = build(tmp_path / "a", traces=False, baseline="tot_bfs")
    assert other.pairs[0].method == "cot"
    assert other.pairs[0].found


def test_only_items_that_both_have_are_paired(tmp_path: Path) -> None:
    rows = [one for one in noisy({"cot": 0.5, "tot_bfs": 0.5}, 20, 3) if one.method == "cot" or int(one.item) < 15]
    [pair] = build(write(tmp_path / "a", rows), traces=False).pairs
    assert (pair.items, pair.left_out, pair.wins + pair.losses + pair.ties) == (15, 5, 15)


def test_models_of_a_generator_by_evaluator_grid_are_compared_with_each_other(tmp_path: Path) -> None:
    rows = noisy({"strong + strong": 0.9}, 60, 1, model="strong") + noisy({"weak + weak": 0.2}, 60, 2, model="weak")
    report = build(write(tmp_path / "a", rows), traces=False)
    [family] = report.families()
    assert family.model == "model against model"
    assert report.pairs[0].found


def test_intervals_cover_and_the_planted_difference_is_found_and_not_the_absent_one(tmp_path: Path) -> None:
    """Three methods of known accuracy on 50 items, through the whole report, over 200 seeds. The expected rates are summed exactly."""
    true, seeds = {"cot": 0.4, "same": 0.4, "better": 0.7}, 200
    found, of_nothing, false_finds, covered = 0, 0, 0, dict.fromkeys(true, 0)
    for seed in range(seeds):
        report = build(write(tmp_path / str(seed), noisy(true, N, 1000 + seed), list(true)), traces=False)
        by_method = {pair.method: pair for pair in report.pairs}
        found += by_method["better"].p < 0.05
        of_nothing += by_method["same"].p < 0.05
        false_finds += by_method["same"].found
        for cell in report.cells:
            covered[cell.method] += cell.interval.low <= true[cell.method] <= cell.interval.high
    assert within(found, seeds, power(0.7, 0.4)), found / seeds
    assert power(0.7, 0.4) > 0.8
    assert within(of_nothing, seeds, power(0.4, 0.4)), of_nothing / seeds
    assert false_finds <= of_nothing
    for method, share in true.items():
        assert within(covered[method], seeds, coverage(share)), (method, covered[method] / seeds)


def test_an_unfinished_run_says_so_and_an_empty_one_is_refused(tmp_path: Path) -> None:
    assert "unfinished: 10 of 30 units" in build(write(tmp_path / "a", noisy({"cot": 0.4}, 10, 1), units=30), traces=False).notes[0]
    with pytest.raises(UsageError, match="holds no finished unit yet"):
        build(write(tmp_path / "b", []), traces=False)
    with pytest.raises(UsageError, match="the folder of a bench run"):
        build(tmp_path / "nowhere", traces=False)


def test_rows_of_two_versions_of_the_data_do_not_pass_unseen(tmp_path: Path) -> None:
    """Case 37."""
    rows = [replace(one, data="a" if int(one.item) < 5 else "b") for one in noisy({"cot": 0.4}, 40, 1)]
    [note] = build(write(tmp_path / "a", rows), traces=False).notes[:1]
    assert note.startswith("gsm8k: rows of 2 versions of the data are mixed")


def test_what_the_vote_of_repeats_lost_is_told(tmp_path: Path) -> None:
    votes = {"samples": [1.0, 0.0, 0.0], "votes": ["42", "5", "5"], "repeats": 3}
    rows = [row("gsm8k", "1", "io", score=0.0, **votes), row("gsm8k", "2", "io", score=0.0, samples=[0.0] * 3, votes=["1"] * 3, repeats=3)]
    [cell] = build(write(tmp_path / "a", rows), traces=False).to_json()["cells"]
    assert cell["where_lost"] == (
        "The repeats of an item vote: 2 of 2 items were not answered right; in 1 of them some repeat had the right answer and was outvoted, in 1 "
        "none had."
    )
