"""What was called wrongly is refused before anything runs: exit 2, the nearest names, nothing on standard output (cases 86, 98)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.program import HAND, SCRIPT, Program, execute

TASK = ("--task", "game24")
SIMPLE = (*SCRIPT,)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["slove"], "solve"),
        (["solve", HAND], "game24"),
        (["solve", *TASK], "which problem"),
        (["solve", HAND, "--task", "game42"], "did you mean 'game24'"),
        (["solve", HAND, *TASK, "--method", "tot_bsf"], "did you mean 'tot_bfs'"),
        (["solve", HAND, *TASK, "--metod", "io"], "--method"),
        (["solve", HAND, *TASK, "--model", "lokal"], "did you mean 'local'"),
        (["solve", HAND, *TASK, "--model", "local:qwen2.5-coder-1.6b"], "qwen2.5-coder-1.5b"),
        (["solve", HAND, *TASK, "--model", "local?slot=3"], "slots"),
        (["solve", HAND, *TASK, "--model", "openai:gpt-4o-mini"], "OPENAI_API_KEY"),
        (["solve", HAND, *TASK, "--model", "http://127.0.0.1:1/v1"], "#NAME"),
        (["solve", HAND, *TASK, "--model", "script:/nowhere"], "cannot be read"),
        (["solve", HAND, *TASK, "--model", "tape:/nowhere"], "cannot read the trace"),
        (["solve", "4 9 10", *SIMPLE], "4 9 10 13"),
        (["solve", HAND, *SIMPLE, "--method", "io", "--breadth", "3"], "method io has no setting 'breadth'"),
        (["solve", HAND, *SIMPLE, "--method", "tot_dfs", "--prune-below", "0.1"], "did you mean"),
        (["solve", HAND, *SIMPLE, "--method", "io", "--answer-temperature", "1"], "--answer-temperature"),
        (["solve", HAND, *SIMPLE, "--method", "io", "--evaluate-max-tokens", "9"], "--evaluate-max-tokens"),
        (["solve", HAND, *SIMPLE, "--temperature", "nan"], "finite"),
        (["solve", HAND, *SIMPLE, "--temperature", "-1"], "--temperature"),
        (["solve", HAND, *SIMPLE, "--prune-below", "2"], "--prune-below"),
        (["solve", HAND, *SIMPLE, "--k", "0"], "--k"),
        (["solve", HAND, *SIMPLE, "--window", "0"], "--window"),
        (["solve", HAND, *SIMPLE, "--prompts", "/nowhere"], "/nowhere"),
        (["solve", HAND, *SIMPLE, "--prices", "/nowhere"], "price file"),
        (["solve", HAND, *SIMPLE, "--trace", "/proc/nowhere/t.jsonl"], "cannot write the trace"),
        (["solve", HAND, *TASK, "--model", "http://127.0.0.1:9/v1#m", "--max-cost", "1"], "known price"),
        (["show"], "TRACE"),
        (["show", "/nowhere"], "cannot read the trace"),
        (["show", "."], "directory"),
        (["models", "pull", "qwen"], "unknown weights"),
        (["models", "path", "smollm"], "smollm2-135m"),
    ],
)
def test_it_is_refused_with_what_to_do(program: Program, arguments: list[str], said: str) -> None:
    result = program(*arguments)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("flag", ["--max-calls", "--max-tokens-total", "--max-cost", "--max-seconds", "--max-nodes", "--parallel"])
@pytest.mark.parametrize("bad", ["0", "-1", "x", "inf", "nan", "1e999", ""])
def test_a_limit_is_a_positive_number_or_none(program: Program, flag: str, bad: str) -> None:
    result = program("solve", HAND, *SIMPLE, flag, bad)
    assert result.exit_code == 2, result.output
    assert flag in result.stderr
    assert "none" in result.stderr


@pytest.mark.parametrize("flag", ["--max-calls", "--max-tokens-total", "--max-cost", "--max-seconds", "--max-nodes", "--parallel"])
def test_none_is_no_limit(program: Program, flag: str) -> None:
    assert program("solve", HAND, *SIMPLE, flag, "none").exit_code == 0


@pytest.mark.parametrize("name", ["TOT_BFS", "Tot_Dfs"])
def test_names_of_methods_are_read_in_any_case(program: Program, name: str) -> None:
    assert program("solve", HAND, *SIMPLE, "--method", name).exit_code == 0


def test_unknown_prompts_are_named(program: Program, tmp_path: Path) -> None:
    (tmp_path / "propse.txt").write_text("{{left}}")
    result = program("solve", HAND, *TASK, "--model", "script:x", "--prompts", tmp_path)
    assert result.exit_code == 2
    assert "did you mean 'propose'" in result.stderr


def test_a_placeholder_that_is_none_is_named_before_any_call(program: Program, tmp_path: Path) -> None:
    (tmp_path / "propose.txt").write_text("{{lft}} and a brace {that} stays")
    for more in ([HAND], ["--items", "1:3", "--out", tmp_path / "r.jsonl"]):
        result = program("solve", *more, *SIMPLE[:4], "--prompts", tmp_path)
        assert result.exit_code == 2, result.output
        assert "{{lft}}; did you mean 'left'" in result.stderr


@pytest.mark.parametrize(
    "foreign", [b"", b"\x00\xff\xfe", b"[1, 2]\n", b'{"event": "stopped", "reason": "x"}\n', b"hello", b'{"event":"started"}\n']
)
def test_a_foreign_file_is_no_trace(program: Program, tmp_path: Path, foreign: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(foreign)
    for command in (["show", path], ["solve", "--resume", path]):
        result = program(*command)
        assert result.exit_code == 2, result.output
        assert str(path) in result.stderr
    assert path.read_bytes() == foreign


def test_a_fault_in_a_problem_is_told_as_it_is_and_where(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    from branchwise.tasks.game24.task import Game24

    def broken(self: Game24, state: tuple[str, ...]) -> object:
        if state:
            raise LookupError("the dfs of my own problem is broken")
        return state

    monkeypatch.setattr(Game24, "key", broken)
    for method in ("tot_dfs", "tot_bfs"):
        result = program("solve", HAND, *SIMPLE, "--method", method)
        assert result.exit_code == 1
        assert "LookupError: the dfs of my own problem is broken" in result.stderr
        assert "test_usage.py, line" in result.stderr
        assert "Traceback" not in result.stderr
        shown = program("solve", HAND, *SIMPLE, "--method", method, "--debug")
        assert "Traceback" in shown.stderr


def test_a_full_disk_is_a_failure_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    child = execute("solve", HAND, *SIMPLE, "--trace", "/dev/full", "--json")
    assert child.returncode in (1, 2)
    assert "cannot write the trace" in child.stderr + child.stdout
    assert "Traceback" not in child.stderr
