"""`branchwise show`: who was kept, pruned, dropped and why, with the single judgements (case 89)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.program import HAND, SCRIPT, Program


def trace_of(program: Program, tmp_path: Path, *flags: str) -> Path:
    trace = tmp_path / "t.jsonl"
    program("solve", HAND, *SCRIPT, "--trace", trace, *flags)
    return trace


def test_a_report_says_what_became_of_each_thought_and_why(program: Program, tmp_path: Path) -> None:
    out = program("show", trace_of(program, tmp_path), "--all").stdout
    assert "Step 1: 3 thoughts (2 kept, 1 pruned)" in out
    assert "= 0         0.525 (1 0.05 ?)  13 - 9 = 4 (left: 4 4 10)" in out
    assert "+ 1          0.05 (0.05 0.05 0.05)  9 - 4 = 5 (left: 5 10 13)" in out
    assert "value 5e-05 is below 0.001; 1 equal merged into it" in out
    assert "x 0.0.1         0  4 + 6 = 10 (left: 10)   [ends in 10, not 24]" in out
    assert "below the root: 7 * 2 = 14 (left: 1)   [7 is not left (left: 4 9 10 13)]" in out
    assert "below the root: 4 + 9 = 13 (left: 10 13 13)   [equal to 2]" in out
    assert "Answer: (13 - 9) * (10 - 4) = 24" in out
    assert "Solved: yes. Stopped: solved" in out


def test_json_holds_everything_and_agrees_with_the_run(program: Program, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    run = json.loads(program("solve", HAND, *SCRIPT, "--trace", trace, "--json").stdout)
    shown = json.loads(program("show", trace, "--json").stdout)
    assert (shown["finished"], shown["starts"], shown["stop_reasons"]) == (True, 1, ["solved"])
    for key in ("answer", "solved", "path", "nodes", "unparsed"):
        assert shown[key] == run[key]
    for role, usage in run["usage"]["by_role"].items():
        assert shown["usage"]["by_role"][role] == usage
    first = shown["levels"][0][0]
    assert (first["id"], first["value"], first["samples"], first["fate"], first["on_path"]) == ("0", 0.525, [1.0, 0.05, None], "kept", True)
    assert shown["dropped"] == [{"parent": "", "text": "7 * 2 = 14 (left: 1)", "reason": "7 is not left (left: 4 9 10 13)"}]
    assert shown["about"]["settings"]["task"] == "game24"
    assert shown["about"]["command"].startswith("branchwise solve")


def test_every_prefix_of_a_trace_is_shown(program: Program, tmp_path: Path) -> None:
    data = trace_of(program, tmp_path).read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    for end in [*ends[:-1], *(e + 7 for e in ends[:-1])]:
        part = tmp_path / "part.jsonl"
        part.write_bytes(data[:end])
        result = program("show", part)
        assert result.exit_code == 0, result.output
        assert "Not finished" in result.stdout
        assert json.loads(program("show", part, "--json").stdout)["finished"] is False


def test_long_levels_are_cut_unless_all_is_asked_for(program: Program, tmp_path: Path) -> None:
    script = tmp_path / "s.jsonl"
    numbers = ["4", "9", "10", "13"]
    steps = [f"{a} {op} {b}" for a in numbers for b in numbers if a != b for op in "+-*/"]
    rules = [{"role": "generate", "contains": [HAND], "replies": ["\n".join(steps)]}, {"replies": ["likely"]}]
    script.write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    trace = tmp_path / "t.jsonl"
    flags = ("--model", f"script:{script}", "--k", "40", "--depth", "1", "--trace", trace)
    assert program("solve", HAND, *SCRIPT, *flags).exit_code in (0, 3)
    short, everything = program("show", trace).stdout, program("show", trace, "--all").stdout
    assert "more (--all)" in short
    assert "more (--all)" not in everything
    assert len(everything.splitlines()) > len(short.splitlines())


def test_the_budget_and_each_end_of_a_resumed_run_are_told(program: Program, tmp_path: Path) -> None:
    trace = trace_of(program, tmp_path, "--max-calls", "7")
    program("solve", "--resume", trace, "--max-calls", "none")
    out = program("show", trace).stdout
    assert "Started 2 times" in out
    assert "Stopped: solved (a solution was proven) (earlier: budget:calls)" in out
    assert "Budget: none" in out


def test_limits_are_told_as_other_numbers_are(program: Program, tmp_path: Path) -> None:
    trace = trace_of(program, tmp_path, "--max-calls", "20000", "--max-seconds", "600", "--max-cost", "0.05")
    assert "Budget: calls 20,000, cost 0.05, seconds 600. Parallel: 8." in program("show", trace).stdout


def test_show_and_solve_say_the_same_of_the_model_and_of_abandoned_calls(program: Program, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    solved = program("solve", HAND, *SCRIPT, "--trace", trace).stdout
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    lines[0]["about"]["model"], lines[0]["run"]["model"] = "local:qwen2.5-coder-1.5b", "llama.cpp:0123456789abcdef"
    lines[-1]["usage"]["by_role"]["evaluate"]["calls"] += 7
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = program("show", other).stdout
    assert "Method tot_bfs, model local:qwen2.5-coder-1.5b, seed 0." in out
    told = program("show", trace).stdout

    def table(text: str) -> list[str]:
        return text.split("\nSpent\n")[1].split("\n\n")[0].split("\n")

    assert table(told) == table(solved)
    assert table(out)[-1].split()[:2] == ["total", "32"], "25, and 7 that were cut off"
    (tmp_path / "cut.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:-1]))
    assert "\nSpent (recomputed from the replies)\n" in program("show", tmp_path / "cut.jsonl").stdout


@pytest.mark.parametrize("account", [5, {"calls": "x"}, [1]])
def test_an_account_that_is_none_is_told_as_a_changed_trace(program: Program, tmp_path: Path, account: object) -> None:
    trace = trace_of(program, tmp_path)
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    lines[-1]["usage"]["by_role"]["generate"] = account
    trace.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = program("show", trace)
    assert result.exit_code == 2
    assert "the trace was changed" in result.stderr
