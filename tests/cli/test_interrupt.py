"""Ctrl-C and resume: what was paid for is saved, and the finished tree is that of an unbroken run."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from support.program import HAND, SCRIPT, Program, SlowServer, execute, lines, spawn, wait_for


def unbroken(slow: SlowServer, tmp_path: Path) -> tuple[dict[str, Any], int]:
    """The tree of a run that nobody interrupts, and its calls."""
    before = slow.served
    trace = tmp_path / "unbroken.jsonl"
    assert execute("solve", HAND, *slow.flags, "--trace", trace, "--quiet").returncode == 0
    return shown(trace), slow.served - before


def shown(trace: Path) -> dict[str, Any]:
    return json.loads(execute("show", trace, "--json").stdout)


def calls_on_tape(trace: Path) -> int:
    return sum(line["event"] == "call" for line in lines(trace))


@pytest.mark.parametrize("after", [1, 6])
def test_ctrl_c_saves_and_resume_finishes_the_same_tree_for_the_missing_calls_only(slow: SlowServer, tmp_path: Path, after: int) -> None:
    whole, needed = unbroken(slow, tmp_path)
    before = slow.served
    trace = tmp_path / "t.jsonl"
    child = spawn("solve", HAND, *slow.flags, "--trace", trace, "--parallel", "2")
    wait_for(lambda: calls_on_tape(trace) >= after)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=240)
    assert child.returncode == 130, err
    assert "interrupted: saving" in err
    assert f"Next: go on from here: branchwise solve --resume {trace}\n" in out
    assert "--resume" not in err, "how to go on is said once"
    assert "Stopped: cancelled" in out
    broken = shown(trace)
    assert broken["stop_reasons"] == ["cancelled"]
    assert broken["usage"]["calls"] < needed

    resumed = execute("solve", "--resume", trace, "--json", "--parallel", "4")
    assert resumed.returncode == 0, resumed.stderr
    again = shown(trace)
    assert json.loads(resumed.stdout)["answer"] == whole["answer"]
    assert again["levels"] == whole["levels"]
    assert again["stop_reasons"] == ["cancelled", "solved"]
    lost = slow.served - before - needed
    assert 0 <= lost <= 6, "more than the calls in flight at the interruption were paid twice"
    assert again["usage"]["calls"] == needed


def test_the_second_ctrl_c_leaves_at_once(slow: SlowServer, tmp_path: Path) -> None:
    slow.delay = 100.0
    trace = tmp_path / "t.jsonl"
    child = spawn("solve", HAND, *slow.flags, "--trace", trace)
    wait_for(lambda: len(lines(trace)) >= 1)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130


def test_sigterm_saves_too(slow: SlowServer, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    child = spawn("solve", HAND, *slow.flags, "--trace", trace)
    wait_for(lambda: calls_on_tape(trace) >= 1)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=240)
    assert child.returncode == 130
    assert lines(trace)[-1]["event"] == "stopped"


def test_a_killed_run_is_shown_and_gone_on_with(slow: SlowServer, tmp_path: Path) -> None:
    whole, _ = unbroken(slow, tmp_path)
    trace = tmp_path / "t.jsonl"
    child = spawn("solve", HAND, *slow.flags, "--trace", trace)
    wait_for(lambda: calls_on_tape(trace) >= 4)
    child.kill()
    child.communicate(timeout=240)
    with trace.open("ab") as file:
        file.write(b'{"event": "call", "nod')
    report = execute("show", trace)
    assert report.returncode == 0
    assert "Not finished" in report.stdout
    assert "the last line is cut" in report.stderr
    assert execute("solve", "--resume", trace).returncode == 0
    assert shown(trace)["levels"] == whole["levels"]


def test_resume_with_a_larger_budget_pays_the_difference(program: Program, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    assert program("solve", HAND, *SCRIPT, "--trace", trace, "--max-calls", "7").exit_code == 3
    assert program("solve", "--resume", trace).exit_code == 3, "the old limit holds until another is given"
    result = program("solve", "--resume", trace, "--max-calls", "none", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["answer"] == "(13 - 9) * (10 - 4) = 24"


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--seed", "3"], "another seed"),
        (["--k", "3"], "another method"),
        (["--method", "tot_dfs"], "another method"),
        (["--temperature", "0.2"], "another method"),
        (["1 2 3 4"], "another problem"),
        (["--model", "script:other.jsonl"], "another model"),
        (["--window", "3"], "another window"),
    ],
)
def test_what_may_not_change_on_resume_is_refused_by_name(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.jsonl").write_text('{"replies": ["x"]}\n')
    trace = tmp_path / "t.jsonl"
    program("solve", HAND, *SCRIPT, "--trace", trace, "--max-calls", "7")
    before = trace.read_bytes()
    result = program("solve", *flags, "--resume", trace)
    assert result.exit_code == 2, result.output
    assert named in result.stderr
    assert trace.read_bytes() == before


def test_a_trace_made_in_python_is_refused_with_the_way_out(program: Program, tmp_path: Path) -> None:
    import branchwise as bw
    from branchwise.tasks import task

    trace = tmp_path / "t.jsonl"
    model = bw.Scripted(lambda request, index: "nothing")
    bw.solve_sync(task("game24").problem(HAND), bw.preset("io").make(), model, trace=trace)
    result = program("solve", "--resume", trace)
    assert result.exit_code == 2
    assert "from Python" in result.stderr
