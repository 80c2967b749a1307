"""What a newcomer meets first: the script in place of a model, and messages that say what to do next."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from branchwise.methods import METHODS
from support.program import Program

ROOT = Path(__file__).parents[2]
TASK_FILE = ROOT / "examples/postmortem.yaml"
SCRIPT = f"script:{ROOT / 'examples/game24_script.jsonl'}"
ANSWER = '{"replies": ["1. yes\\n2. no\\n3. perhaps 0.5"]}\n'


@pytest.fixture
def bench(program: Program, tmp_path: Path) -> Path:
    flags = ("--tasks", "game24", "--methods", "io,tot_bfs", "--models", SCRIPT, "--items", "900:902")
    result = program("bench", "run", *flags, "--out", tmp_path / "runs")
    assert result.exit_code == 0, result.stderr
    return tmp_path / "runs"


def answers(folder: Path) -> str:
    path = folder / "answers.jsonl"
    path.write_text(ANSWER)
    return f"script:{path}"


def test_the_script_is_enough_for_a_search_and_a_bench(program: Program, bench: Path) -> None:
    result = program("solve", "4 9 10 13", "--task", "game24", "--model", SCRIPT)
    assert "Answer: (13 - 9) * (10 - 4) = 24" in result.stdout
    assert "33.3 %" in program("bench", "report", bench).stdout


@pytest.mark.parametrize("task", ["open", str(TASK_FILE)])
@pytest.mark.parametrize("more", [(), ("--methods", "io", "--items", "1:2")])
def test_a_bench_of_what_no_program_can_check_says_so_first(program: Program, task: str, more: tuple[str, ...]) -> None:
    for given in (("--tasks", task, *more), (task,)):
        result = program("bench", "run", *given)
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: no program can check answers of task"), result.stderr


def test_a_task_in_place_of_a_bench_file_is_told_the_flag(program: Program) -> None:
    assert "gsm_hard is a task: give --tasks gsm_hard" in program("bench", "run", "gsm_hard").stderr


def test_items_that_only_the_public_set_has_say_how_to_get_it(program: Program, tmp_path: Path) -> None:
    bench = program("bench", "run", "--tasks", "gsm8k", "--methods", "io", "--items", "1:1319", "--dry-run")
    many = program("solve", "--task", "gsm8k", "--items", "1:1319", "--out", tmp_path / "out.jsonl", "--model", SCRIPT)
    for result in (bench, many):
        assert "there are 30" in result.stderr
        assert 'the public set has 1,319: branchwise data pull gsm8k, then --data "$(branchwise data path gsm8k)"' in result.stderr


def test_a_task_file_goes_by_the_name_in_it(program: Program, tmp_path: Path) -> None:
    estimate = json.loads(program("estimate", "x?", "--task", TASK_FILE, "--model", SCRIPT, "--json").stdout)
    assert (estimate["task"], estimate["task_file"]) == ("postmortem", str(TASK_FILE))
    assert "on postmortem, " in program("estimate", "x?", "--task", TASK_FILE, "--model", SCRIPT).stdout
    trace = tmp_path / "t.jsonl"
    program("solve", "x?", "--task", TASK_FILE, "--model", answers(tmp_path), "--trace", trace)
    assert "of task postmortem\n" in program("show", trace).stdout


def test_a_report_says_what_it_has_written(program: Program, bench: Path, tmp_path: Path) -> None:
    result = program("bench", "report", bench, "--html", tmp_path / "r.html", "--plots", tmp_path / "plots")
    assert f"wrote {tmp_path / 'r.html'}" in result.stderr
    written = len(list((tmp_path / "plots").glob("*.svg")))
    assert f"wrote {written} plots to {tmp_path / 'plots'}" in result.stderr


def test_an_export_of_nothing_says_why(program: Program, bench: Path, tmp_path: Path) -> None:
    def said(*flags: object) -> str:
        result = program("export", bench, *flags)
        assert result.exit_code == 3
        assert "must not be measured" not in result.stderr
        return result.stderr

    assert "no run came upon a right answer" in said("--format", "sft", "--method", "io")
    assert "no run of method none is there" in said("--format", "sft", "--method", "none")
    assert "no run has two siblings" in said("--format", "dpo", "--method", "io")


def test_an_export_of_unchecked_answers_claims_no_key(program: Program, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "prompt": "Is it the database?"}\n')
    program("solve", "--task", TASK_FILE, "--input", tmp_path / "in.jsonl", "--out", tmp_path / "o/r.jsonl", "--model", answers(tmp_path))
    refused = program("export", tmp_path / "o", "--format", "sft")
    assert refused.exit_code == 3
    assert "no program can check" in refused.stderr
    assert "--unchecked" in refused.stderr
    taken = program("export", tmp_path / "o", "--format", "sft", "--unchecked")
    assert taken.exit_code == 0
    assert "the answer key decided" not in taken.stderr


def test_methods_in_the_help_are_apart_from_their_summaries(program: Program) -> None:
    text = program("solve", "--help").stdout
    for name in METHODS:
        assert re.search(rf"^ +{name}  +\S", text, re.MULTILINE), name


def test_a_tape_of_other_prompts_is_no_run_to_go_on_with(program: Program, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    program("solve", "4 9 10 13", "--task", "game24", "--model", SCRIPT, "--trace", tape)
    result = program("solve", "4 9 10 13", "--task", "game24", "--model", f"tape:{tape}", "--k", 3)
    assert result.exit_code == 1
    assert "give the same problem" in result.stdout
    assert f"branchwise show {tape}" in result.stdout
    assert "--resume" not in result.stdout + result.stderr


def test_a_server_that_is_not_there_is_to_be_started_first(program: Program) -> None:
    result = program("solve", "4 9 10 13", "--task", "game24", "--method", "io", "--model", "http://127.0.0.1:9/v1#m")
    assert "Next: start the server, or check the address in --model; then go on from here: branchwise solve --resume" in result.stdout


def test_counts_are_told_in_one_vocabulary(program: Program, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    solved = program("solve", "4 9 10 13", "--task", "game24", "--model", SCRIPT, "--trace", trace).stdout
    shown = program("show", trace).stdout
    said = "18 generated: 9 kept, 1 proven, 2 pruned, 2 dead ends, 1 merged, 3 dropped"
    assert said in solved
    assert said in shown
    assert "(1 proven, 2 dead ends)" in shown


def test_the_plan_of_equal_budgets_explains_what_it_cannot_say(program: Program) -> None:
    flags = ("bench", "run", "--tasks", "game24", "--methods", "io", "--models", SCRIPT, "--items", "1:2", "--dry-run", "--equal")
    by_tokens, by_calls = program(*flags, "tokens=4000").stdout, program(*flags, "calls").stdout
    assert "Likely tokens are the same" in by_tokens
    assert "?: calls cannot be told before the run" in by_tokens
    assert "?: tokens and dollars cannot be told before the run" in by_calls
    assert "Likely: a quarter" not in by_calls


def test_the_doctor_says_what_a_script_cannot_tell(program: Program) -> None:
    result = program("doctor", "--model", SCRIPT)
    assert result.exit_code == 0
    assert "note  script     replies come from a file" in result.stdout
    assert "tokens/s" not in result.stdout


def test_an_export_says_which_lines_are_equal_and_leaves_them_out_if_asked(program: Program, tmp_path: Path) -> None:
    items = (f'{{"id": "{name}", "prompt": "Is it the database?"}}\n' for name in ("a", "b", "c"))
    (tmp_path / "in.jsonl").write_text("".join(items))
    program("solve", "--task", TASK_FILE, "--input", tmp_path / "in.jsonl", "--out", tmp_path / "o/r.jsonl", "--model", answers(tmp_path))
    every = program("export", tmp_path / "o", "--format", "sft", "--unchecked")
    assert every.stderr.endswith("3 examples from 3 runs; 2 of them equal to an earlier line (--unique leaves these out)\n")
    one = program("export", tmp_path / "o", "--format", "sft", "--unchecked", "--unique")
    assert one.stderr.endswith("1 example from 3 runs; 2 equal lines left out\n")
    assert every.stdout == one.stdout * 3
