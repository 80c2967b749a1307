"""`branchwise import` and `branchwise published`: from a published log to the published figures (docs/published.md)."""

from __future__ import annotations

import json
from pathlib import Path

from support.data import shared
from support.program import Program


def test_a_log_is_imported_shown_and_scored(program: Program, tmp_path: Path) -> None:
    log = shared("game24/gpt4_tot_log_900_1000.json")
    done = program("import", log, "--out", tmp_path / "g")
    assert done.exit_code == 0, done.output
    assert "100 items of task game24 (beam log), 8,412 thoughts" in done.stdout
    shown = program("show", tmp_path / "g" / "results.traces" / "901.jsonl").stdout
    assert "Problem: 4 5 6 10 of task game24" in shown
    assert "model published log" in shown
    assert "not among the 5 that were selected" in shown
    assert "Solved: yes. Stopped: max_depth" in shown
    out = program("published", tmp_path / "g").stdout
    for line in (
        "first final state right          62.0 %",
        "any final state right (oracle)   69.0 %",
        "mean over the final states       23.8 %",
    ):
        assert line in out
    assert "500 final states: 119 correct, 344 no answer, 37 wrong" in out
    data = json.loads(program("published", tmp_path / "g", "--json").stdout)
    assert data["funnel"]["chosen"] == 62


def test_crosswords_need_their_answer_key(program: Program, tmp_path: Path) -> None:
    puzzles = shared("crosswords/mini0505.json")
    done = program("import", shared("crosswords/infoss_dfs_prune.json"), "--out", tmp_path / "c", "--data", puzzles, "--json")
    assert json.loads(done.stdout)["thoughts"] == 1856
    assert "h1. An agendum" in program("show", tmp_path / "c" / "results.traces" / "1.jsonl", "--json").stdout
    refused = program("published", tmp_path / "c")
    assert refused.exit_code == 2
    assert "--data mini0505.json" in refused.stderr
    out = program("published", tmp_path / "c", "--data", puzzles).stdout
    assert "78.0 %   60.0 %   20.0 %" in out
    assert "82.4 %   67.5 %   35.0 %" in out


def test_an_imported_trace_cannot_be_gone_on_with(program: Program, tmp_path: Path) -> None:
    log = [{"idx": 0, "ys": ["Answer: 6 * 4 = 24"]}]
    (tmp_path / "log.json").write_text(json.dumps(log))
    program("import", tmp_path / "log.json", "--out", tmp_path / "o", "--task", "game24")
    before = (tmp_path / "o" / "results.traces" / "1.jsonl").read_bytes()
    resumed = program("solve", "--resume", tmp_path / "o" / "results.traces" / "1.jsonl")
    assert resumed.exit_code == 2, resumed.output
    assert (tmp_path / "o" / "results.traces" / "1.jsonl").read_bytes() == before


def test_a_file_that_is_no_log_is_wrong_usage(program: Program, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text("{}")
    done = program("import", tmp_path / "log.json", "--out", tmp_path / "o")
    assert done.exit_code == 2
    assert "not a published log" in done.stderr
    assert program("published", tmp_path).exit_code == 2


def test_the_page_shows_what_the_commands_print(program: Program, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "published.md").read_text("utf-8")
    puzzles = shared("crosswords/mini0505.json")
    for log, more in (
        ("game24/gpt4_tot_log_900_1000.json", ()),
        ("crosswords/infoss_dfs_prune.json", ("--data", puzzles)),
        ("creative_writing/gpt4_tot_log_0_100.json", ()),
    ):
        folder = tmp_path / log.split("/")[0]
        program("import", shared(log), "--out", folder)
        assert program("published", folder, *more).stdout.rstrip() in page
