"""`bench report`, `bench compare` and `export` as commands: what is printed where, exits, files, and imported logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from branchwise.bench.imported import import_log
from support.bench_rows import noisy, row, usage, write
from support.data import shared
from support.program import Program


def equal_run(folder: Path, dear: int) -> Path:
    rows = [row("gsm8k", str(n), m, usage=usage(prompt=0, reply=r)) for n in range(5) for m, r in (("io", 1000), ("cot", dear))]
    return write(folder, rows, equal={"by": "tokens", "amount": 1000, "tolerance": 0.05})


def test_a_report_has_tables_and_names_the_oracle(program: Program, tmp_path: Path) -> None:
    write(tmp_path / "a", noisy({"cot": 0.2, "tot_bfs": 0.8}, 60, 1))
    result = program("bench", "report", tmp_path / "a")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert result.stdout.startswith("Bench: gsm8k with m")
    assert "the plain baseline cot has accuracy" in result.stdout
    assert "Better beyond chance: tot_bfs (+" in result.stdout
    assert "oracle: best in the tree" in result.stdout
    assert "McNemar, exact; p corrected after Holm for 1 tests" in result.stdout
    assert "Published figures beside ours" in result.stdout


def test_json_is_one_document_and_the_clock_can_be_left_out(program: Program, tmp_path: Path) -> None:
    write(tmp_path / "a", noisy({"cot": 0.2, "tot_bfs": 0.8}, 30, 1))
    found = json.loads(program("bench", "report", tmp_path / "a", "--json").stdout)
    assert {cell["method"] for cell in found["cells"]} == {"cot", "tot_bfs"}
    assert found["cells"][0]["seconds"] == 45.0
    without = program("bench", "report", tmp_path / "a", "--json", "--no-clock").stdout
    assert "seconds" not in without
    assert json.loads(without)["paired"] == found["paired"]


def test_a_comparison_that_fails_ends_with_1_and_says_so_first(program: Program, tmp_path: Path) -> None:
    assert program("bench", "report", equal_run(tmp_path / "a", 1040)).exit_code == 0
    result = program("bench", "report", equal_run(tmp_path / "b", 1300))
    assert result.exit_code == 1
    assert result.stdout.startswith("COMPARISON FAILED: budgets were to be equal, and the dearest method of gsm8k spent 30 % more than the tokens")


def test_page_and_plots_are_files(program: Program, tmp_path: Path) -> None:
    write(tmp_path / "a", noisy({"cot": 0.2, "tot_bfs": 0.8}, 30, 1))
    result = program("bench", "report", tmp_path / "a", "--html", tmp_path / "out" / "r.html", "--plots", tmp_path / "plots", "--json")
    assert result.exit_code == 0
    assert (tmp_path / "out" / "r.html").read_text("utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["cost-1.png", "cost-1.svg", "visited-1.png", "visited-1.svg"]


def test_hostile_text_does_not_reach_the_terminal(program: Program, tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07 [bold]x[/bold] \u202e"
    rows = [row("gsm8k", "1" + evil, "cot" + evil, score=0.0, verdict="failed", status="failed", error=evil, model_reported=evil)]
    shown = program("bench", "report", write(tmp_path / "a", rows), "--no-traces").stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]" in shown


def test_imported_logs_get_their_funnel(program: Program, tmp_path: Path) -> None:
    import_log(shared("game24/gpt4_tot_log_900_1000.json"), tmp_path / "imported")
    result = program("bench", "report", tmp_path / "imported")
    assert result.exit_code == 0
    assert "76.0 %  74.0 %  69.0 %  62.0 %" in result.stdout
    assert "lost by the evaluator (it was proposed and pruned): 14 of 38 (37 %)" in result.stdout


def test_a_folder_that_is_none_says_what_it_should_be(program: Program, tmp_path: Path) -> None:
    result = program("bench", "report", tmp_path)
    assert result.exit_code == 2
    assert "is" in result.stderr
    assert "the folder of a bench run?" in result.stderr


def test_compare_lists_what_changed(program: Program, tmp_path: Path) -> None:
    a = write(tmp_path / "a", [row("gsm8k", str(n), "cot", score=float(n < 3)) for n in range(6)])
    b = write(tmp_path / "b", [row("gsm8k", str(n), "cot", score=float(n < 5)) for n in range(6)])
    result = program("bench", "compare", a, b)
    assert result.exit_code == 0
    assert "gsm8k, cot, m: 2 became right" in result.stdout
    assert "3: wrong (41) → correct (42)" in result.stdout
    found = json.loads(program("bench", "compare", a, b, "--json").stdout)
    assert [change["item"] for change in found["compared"][0]["gained"]] == ["3", "4"]
    other = write(tmp_path / "c", noisy({"cot": 0.5}, 6, 1), data={"gsm8k": {"source": "x", "sha256": "other"}})
    refused = program("bench", "compare", a, other)
    assert refused.exit_code == 1
    assert refused.stdout.startswith("NOT COMPARABLE")


@pytest.mark.parametrize(("form", "columns"), [("sft", ["prompt", "completion"]), ("dpo", ["prompt", "chosen", "rejected"])])
def test_export_writes_lines_and_what_must_be_known_of_them(program: Program, tmp_path: Path, form: str, columns: list[str]) -> None:
    import_log(shared("game24/gpt4_tot_log_900_1000.json"), tmp_path / "imported")
    out = tmp_path / f"{form}.jsonl"
    result = program("export", tmp_path / "imported", "--format", form, "--out", out)
    assert result.exit_code == 0
    assert result.stdout == ""
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert list(rows[0]) == columns
    told = json.loads((tmp_path / f"{form}.jsonl.about.json").read_text("utf-8"))
    assert told["rows"] == len(rows)
    assert "must not be measured" in told["warnings"][0]
    assert "must not be measured" in result.stderr
    piped = program("export", tmp_path / "imported", "--format", form)
    assert piped.stdout == out.read_text("utf-8")


def test_export_refuses_what_does_not_fit_and_ends_with_3_where_there_is_nothing(program: Program, tmp_path: Path) -> None:
    folder = write(tmp_path / "a", noisy({"cot": 0.5}, 3, 1))
    assert "--margin is for --format dpo" in program("export", folder, "--format", "sft", "--margin", 0.5).stderr
    assert "--unchecked is for --format sft" in program("export", folder, "--format", "prm", "--unchecked").stderr
    result = program("export", folder, "--format", "prm")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "0 examples from 0 runs" in result.stderr
