"""`branchwise solve` on one problem: the result, the exits, the streams."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.program import DATA, HAND, SCRIPT, Program, SlowServer, execute, spawn

CONTROL = {chr(code) for code in range(0x20) if chr(code) != "\n"} | {chr(code) for code in range(0x7F, 0xA0)}


def test_an_answer_is_printed_with_its_path_and_cost_and_exits_with_0(program: Program) -> None:
    result = program("solve", HAND, *SCRIPT)
    assert result.exit_code == 0, result.output
    out = result.stdout
    assert "Answer: (13 - 9) * (10 - 4) = 24" in out
    assert "Solved: yes" in out
    assert "1. 13 - 9 = 4 (left: 4 4 10)   value 0.525" in out
    assert "11 generated: 3 kept, 1 proven, 4 pruned, 1 dead end, 1 merged, 1 dropped" in out
    assert "evaluate     21" in out
    assert "generate      4" in out
    assert "Stopped: solved" in out


def test_the_trace_is_kept_in_the_home_and_its_path_is_told_on_standard_error(program: Program, home: Path) -> None:
    result = program("solve", HAND, *SCRIPT)
    (trace,) = (home / "runs").iterdir()
    assert f"branchwise show {trace}" in result.stderr
    assert str(trace) not in result.stdout
    assert "resume" not in result.stderr


def test_trace_none_keeps_nothing(program: Program, home: Path) -> None:
    assert program("solve", HAND, *SCRIPT, "--trace", "none").exit_code == 0
    assert not home.exists()


def test_an_existing_trace_is_not_written_over(program: Program, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    assert program("solve", HAND, *SCRIPT, "--trace", trace).exit_code == 0
    before = trace.read_bytes()
    again = program("solve", HAND, *SCRIPT, "--trace", trace)
    assert again.exit_code == 2
    assert "--resume, in Python resume=..." in again.stderr
    assert trace.read_bytes() == before


def test_json_is_one_document_and_nothing_else_off_a_terminal(program: Program) -> None:
    child = execute("solve", HAND, *SCRIPT, "--json")
    assert child.returncode == 0, child.stderr
    piped = subprocess.run([sys.executable, "-m", "json.tool"], input=child.stdout, capture_output=True, text=True, check=True)
    data = json.loads(piped.stdout)
    assert data["answer"] == "(13 - 9) * (10 - 4) = 24"
    assert (data["solved"], data["unfinished"], data["stop_reason"], data["method"], data["seed"]) == (True, False, "solved", "tot_bfs", 0)
    assert data["nodes"] == {"generated": 11, "kept": 4, "pruned": 4, "merged": 1, "dropped": 1, "dead": 1, "wasted": 0}
    assert data["usage"]["calls"] == 25
    assert data["usage"]["cost_usd"] == 0
    assert set(data["usage"]["by_role"]) == {"generate", "evaluate"}
    assert data["unparsed"] == 1
    assert not CONTROL & set(child.stdout + child.stderr)


def test_colour_is_never_forced_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.setenv(name, "1")
    child = execute("solve", HAND, *SCRIPT)
    assert not CONTROL & set(child.stdout + child.stderr)


def test_a_spent_budget_without_an_answer_exits_with_3_and_says_how_to_go_on(program: Program) -> None:
    result = program("solve", HAND, *SCRIPT, "--max-calls", "5")
    assert result.exit_code == 3, result.output
    assert "Answer: none" in result.stdout
    assert "budget:calls" in result.stdout
    assert "--max-calls N" in result.stdout
    assert result.output.count("branchwise solve --resume") == 1, "how to go on is said once"
    said = program("solve", HAND, *SCRIPT, "--max-calls", "5", "--json")
    assert "  resume with: branchwise solve --resume" in said.stderr, "the document holds no hint"


def test_a_dead_end_exits_with_3(program: Program, tmp_path: Path) -> None:
    script = tmp_path / "s.jsonl"
    script.write_text('{"replies": ["nothing comes to mind"]}\n')
    result = program("solve", HAND, "--task", "game24", "--model", f"script:{script}")
    assert result.exit_code == 3, result.output
    assert "Next: " in result.stdout


def test_a_failing_model_exits_with_1_and_json_is_still_one_document(program: Program, tmp_path: Path) -> None:
    script = tmp_path / "s.jsonl"
    script.write_text('{"role": "nobody", "replies": ["x"]}\n')
    flags = ("solve", HAND, "--task", "game24", "--model", f"script:{script}")
    assert program(*flags).exit_code == 1
    result = program(*flags, "--json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["stop_reason"] == "failed"
    assert "no rule of the script" in data["error"]


def test_a_server_that_does_not_answer_exits_with_1(program: Program) -> None:
    flags = ("--task", "game24", "--model", "http://127.0.0.1:9/v1#x", "--method", "io", "--max-seconds", "2")
    result = program("solve", HAND, *flags, "--json")
    assert result.exit_code in (1, 3), result.output
    assert json.loads(result.stdout)["answer"] is None


def test_own_prompts_temperature_and_limits_reach_the_model(program: Program, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    flags = ("--method", "tot_dfs", "--k", "2", "--temperature", "0.1", "--evaluate-temperature", "0.9", "--generate-max-tokens", "33")
    assert program("solve", HAND, *SCRIPT, *flags, "--trace", trace).exit_code == 0
    method = json.loads(trace.read_text().split("\n")[0])["run"]["method"]
    assert method["generate"]["k"] == 2
    assert method["generate"]["sampling"]["temperature"] == 0.1
    assert method["generate"]["sampling"]["max_tokens"] == 33
    assert method["evaluate"]["sampling"]["temperature"] == 0.9


def test_the_problem_can_come_from_standard_input(program: Program) -> None:
    assert program("solve", "-", *SCRIPT, input=f"{HAND}\n").exit_code == 0


@pytest.mark.parametrize("method", ["io", "cot", "cot_sc", "refine", "tot_bfs", "tot_dfs"])
def test_every_method_runs(program: Program, method: str) -> None:
    result = program("solve", HAND, "--task", "game24", "--model", f"script:{DATA / 'solves.jsonl'}", "--method", method, "--json")
    assert result.exit_code in (0, 3), result.output
    assert json.loads(result.stdout)["method"] == method


def test_quiet_says_nothing_on_standard_error(program: Program) -> None:
    assert program("solve", HAND, *SCRIPT, "--quiet").stderr == ""


def test_a_run_is_replayed_from_its_trace_with_the_same_tree_and_cost(program: Program, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    first = json.loads(program("solve", HAND, *SCRIPT, "--trace", trace, "--json").stdout)
    replay = program("solve", "--model", f"tape:{trace}", "--trace", "none", "--json")
    assert replay.exit_code == 0, replay.output
    second = json.loads(replay.stdout)
    for key in ("answer", "path", "nodes", "stop_reason"):
        assert first[key] == second[key]
    assert first["usage"]["calls"] == second["usage"]["calls"]
    other = program("solve", "4 9 10 12", *SCRIPT, "--model", f"tape:{trace}", "--trace", "none")
    assert other.exit_code == 1
    assert "tape lacks" in other.output


def test_on_a_terminal_the_tree_is_drawn_and_model_text_stays_inert(tmp_path: Path) -> None:
    import os
    import pty

    leader, follower = pty.openpty()
    child = spawn("solve", HAND, *SCRIPT, "--trace", tmp_path / "t.jsonl", stderr=follower)
    os.close(follower)
    drawn = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        drawn += part
    out, _ = child.communicate(timeout=240)
    os.close(leader)
    assert child.returncode == 0
    assert b"step 1: 3 thoughts" in drawn
    assert b"13 - 9 = 4" in drawn
    assert not CONTROL & set(out)


def test_a_model_file_that_is_not_there_is_a_failure_and_one_document(program: Program) -> None:
    result = program("solve", HAND, "--task", "game24", "--model", "local:/nowhere/file.gguf", "--json")
    assert result.exit_code == 1, result.output
    data = json.loads(result.stdout)
    assert (data["stop_reason"], data["usage"]["calls"], data["trace"]) == ("failed", 0, None)
    assert "/nowhere/file.gguf" in data["error"]


def test_a_fault_in_a_problem_is_one_document_too(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    from branchwise.tasks.game24.task import Game24

    monkeypatch.setattr(Game24, "key", lambda self, state: 1 / len(self.hand[len(state) * 9 :]))
    result = program("solve", HAND, *SCRIPT, "--json")
    assert result.exit_code == 1, result.output
    assert json.loads(result.stdout)["stop_reason"] == "failed"
    assert "ZeroDivisionError" in result.stderr


def test_a_price_is_unknown_until_it_is_given(slow: SlowServer, program: Program, tmp_path: Path) -> None:
    slow.delay = 0.0
    unknown = program("solve", HAND, *slow.flags, "--trace", tmp_path / "a.jsonl")
    assert unknown.exit_code == 0, unknown.output
    assert "unknown" in unknown.stdout
    prices = tmp_path / "prices.json"
    prices.write_text('{"date": "2026-01-01", "models": {"slow": {"prompt": 1000, "completion": 2000}}}')
    flags = (*slow.flags, "--prices", prices, "--json")
    data = json.loads(program("solve", HAND, *flags).stdout)
    usage = data["usage"]
    assert usage["cost_usd"] == pytest.approx((usage["prompt_tokens"] * 1000 + usage["completion_tokens"] * 2000) / 1e6)
    capped = json.loads(program("solve", HAND, *flags, "--max-cost", "1.5").stdout)
    assert capped["stop_reason"] == "budget:cost"
    assert capped["usage"]["cost_usd"] <= 1.5


def test_a_password_in_an_address_is_kept_nowhere(slow: SlowServer, program: Program, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    model = f"{slow.url.replace('//', '//user:hunter22@')}/v1#slow"
    result = program("solve", HAND, *SCRIPT, "--model", model, "--trace", trace)
    assert result.exit_code == 0, result.output
    assert "hunter22" not in result.output
    assert "hunter22" not in trace.read_text()
