"""Reports on runs of the real bench with a noisy scripted model: rows and traces of the one are what the other reads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from branchwise.bench.funnel import Game24Truth, funnel
from branchwise.bench.report.document import build
from branchwise.bench.report.gather import FACTS
from branchwise.bench.report.html import page
from branchwise.bench.traces import read_traced
from branchwise.model.scripted import Scripted
from support.bench_grid import grid, noisy, run

METHODS = ["io", "cot", {"label": "cot_sc", "method": "cot_sc", "settings": {"k": 10}}]


def test_a_planted_difference_is_found_and_an_absent_one_is_not(tmp_path: Path) -> None:
    """io and cot are right in 40 %; the majority of ten is right as soon as two agree, as wrong answers differ: 95 %."""
    made = grid(tasks=[{"task": "gsm8k", "items": "1:30"}], methods=METHODS)
    run(made, tmp_path, noisy(0.4))
    report = build(tmp_path)
    assert [cell.method for cell in report.cells] == ["io", "cot", "cot_sc"]
    found = {pair.method: pair for pair in report.pairs}
    assert found["cot_sc"].found
    assert found["cot_sc"].difference > 0.3
    assert not found["io"].found
    true = {"io": 0.4, "cot": 0.4, "cot_sc": 0.954}
    for cell in report.cells:
        assert cell.interval.low <= true[cell.method] <= cell.interval.high, cell.method
    assert "UNEQUAL COSTS" in report.title
    [words] = report.baseline
    assert "Better beyond chance: cot_sc" in words


def test_the_funnel_of_answers_agrees_with_the_rows(tmp_path: Path) -> None:
    run(grid(tasks=[{"task": "gsm8k", "items": "1:20"}], methods=METHODS), tmp_path, noisy(0.3))
    report = build(tmp_path)
    for cell in report.cells:
        found = report.trees[cell.key].funnel
        assert found is not None
        assert found.chosen == cell.verdicts["correct"]
        assert found.generated == round(cell.oracle * cell.items)
        assert sum(found.lost.values()) == found.items - found.chosen
    lost = report.trees["gsm8k", "cot_sc", "m"].funnel
    assert lost is not None
    assert set(lost.lost) <= {"pick: a right final state was not chosen", "generator: no right answer was generated"}


def test_the_report_is_the_same_bytes_however_many_units_ran_at_once(tmp_path: Path) -> None:
    """Case 92: settings, data, prompts and versions are in it, and nothing of the folder, the hour or the order."""
    made = grid(tasks=[{"task": "gsm8k", "items": "1:10"}], methods=METHODS, seeds=[0, 1])
    pages = []
    for jobs in (1, 8):
        folder = tmp_path / str(jobs)
        run(made, folder, noisy(0.4), jobs=jobs)
        report = build(folder)
        pages.append((page(report), json.dumps(report.to_json())))
        (folder / FACTS).unlink()
        assert page(build(folder)) == pages[-1][0]
    assert pages[0] == pages[1]
    about = json.loads(pages[0][1])["run"]
    assert {"settings_hash", "data", "prompts", "versions", "spec"} <= set(about)
    assert about["data"]["gsm8k"]["sha256"]


def test_a_copy_of_a_folder_gives_the_same_report(tmp_path: Path) -> None:
    run(grid(tasks=[{"task": "gsm8k", "items": "1:4"}], methods=METHODS), tmp_path / "a", noisy(0.4))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert page(build(tmp_path / "a")) == page(build(tmp_path / "b"))


def test_equal_budgets_are_within_five_percent_and_the_title_says_so(tmp_path: Path) -> None:
    made = grid(tasks=[{"task": "gsm8k", "items": "1:30"}], methods=METHODS, equal={"by": "tokens", "amount": 3000})
    run(made, tmp_path, noisy(0.4))
    report = build(tmp_path)
    [one] = report.spending
    assert one.promised
    assert report.fair, report.title
    assert one.spread is not None
    assert one.spread <= 0.05
    assert "equal tokens, within 5 %" in report.title
    assert any("none had" in report.lost(cell) or "all 30 items" in report.lost(cell) for cell in report.cells)
    assert all(cell.repeated is not None and cell.repeated.most > 1 for cell in report.cells if cell.method != "cot_sc")


SCRIPT = [
    {"role": "generate", "contains": ["10 13"], "replies": ["13 - 9 = 4 (left: 4 4 10)\n9 * 13 = 117 (left: 4 10 117)"]},
    {"role": "generate", "replies": ["10 - 4 = 6 (left: 4 6)\n4 * 6 = 24 (left: 24)\n10 + 4 = 14 (left: 4 14)"]},
    {"role": "evaluate", "replies": ["likely", "sure", "impossible", "I cannot say"]},
    {"replies": ["Answer: (13 - 9) * (10 - 4) = 24"]},
]


def test_the_funnel_of_trees_is_that_of_the_traces(tmp_path: Path) -> None:
    made = grid(tasks=[{"task": "game24", "items": "900:905"}], methods=["tot_bfs", "io"])
    rows = run(made, tmp_path, Scripted(SCRIPT, name="script:game24"))
    report = build(tmp_path)
    traced = [read_traced(tmp_path / name) for row in rows if row.method == "tot_bfs" for name in row.trace]
    cell = next(cell for cell in report.cells if cell.method == "tot_bfs")
    assert report.trees[cell.key].funnel == funnel(traced, Game24Truth())
    assert cell.judgements == sum(row.replies for row in rows)
    assert cell.unparsed == sum(run.tree.unparsed for run in traced)
