"""Many problems: a row each, killed and gone on with, nothing lost and nothing double (case 84)."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from branchwise.batch import trace_name
from support.program import DATA, HAND, SCRIPT, Program, SlowServer, execute, lines, spawn, wait_for

OTHERS = ["1 2 3 4", "4 9 10 13", "1 1 1 1", "2 2 2 2"]


def own_items(path: Path, hands: list[str]) -> Path:
    path.write_text("".join(json.dumps({"id": f"h{number}", "prompt": hand}) + "\n" for number, hand in enumerate(hands)))
    return path


def rows(path: Path) -> list[dict[str, object]]:
    return [line for line in lines(path) if "branchwise" not in line]


def test_a_range_of_the_task_gives_a_row_and_a_trace_each_and_a_summary(program: Program, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    result = program("solve", *SCRIPT, "--items", "2:3,1", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["items"] == 3
    head, *found = lines(out)
    assert head["branchwise"] == "results"
    assert head["about"]["versions"]["branchwise"]
    assert len(found) == 3
    assert {"id", "answer", "solved", "stop_reason", "usage", "seconds", "method", "model", "seed", "trace", "error"} <= set(found[0])
    for row in found:
        assert execute("show", row["trace"]).returncode == 0
    assert len(list((tmp_path / "r.traces").iterdir())) == 3


def test_ranks_of_a_published_list_are_meant_with_data(program: Program, tmp_path: Path) -> None:
    data = tmp_path / "24.csv"
    data.write_text("Rank,Puzzles,AMT (s)\n900,1 2 3 4,1\n901,4 9 10 13,1\n902,1 1 1 8,1\n")
    out = tmp_path / "r.jsonl"
    result = program("solve", *SCRIPT, "--items", "901", "--data", data, "--out", out)
    assert result.exit_code == 0, result.output
    assert [row["input"] for row in rows(out)] == [HAND]
    assert "1 problem: 1 solved" in result.stdout


def test_own_problems_one_of_them_bad_are_all_rows_and_the_run_goes_on(program: Program, tmp_path: Path) -> None:
    items = own_items(tmp_path / "i.jsonl", ["no hand", HAND])
    out = tmp_path / "r.jsonl"
    result = program("solve", *SCRIPT, "--input", items, "--out", out)
    assert result.exit_code == 1, result.output
    bad, good = rows(out)
    assert "not a Game of 24 hand" in str(bad["error"])
    assert (bad["stop_reason"], good["solved"]) == ("failed", True)
    assert "1 solved, 1 failed" in result.stdout
    again = program("solve", *SCRIPT, "--input", items, "--out", out, "--json")
    assert json.loads(again.stdout)["skipped"] == 2
    retried = program("solve", *SCRIPT, "--input", items, "--out", out, "--json", "--retry-failed")
    assert (json.loads(retried.stdout)["skipped"], json.loads(retried.stdout)["failed"]) == (1, 1)


def test_a_fault_of_a_users_problem_is_a_row_that_names_the_line(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from branchwise.tasks.game24.task import Game24

    def key(self: Game24, state: tuple[str, ...]) -> object:
        if self.prompt == "1 2 3 4":
            return 1 / 0
        return state

    monkeypatch.setattr(Game24, "key", key)
    out = tmp_path / "r.jsonl"
    result = program("solve", *SCRIPT, "--input", own_items(tmp_path / "i.jsonl", ["1 2 3 4", HAND]), "--out", out)
    assert result.exit_code == 1
    bad, good = rows(out)
    assert "ZeroDivisionError" in str(bad["error"])
    assert "test_many.py, line" in str(bad["error"])
    assert good["solved"] is True


def test_a_cut_last_line_is_dropped_with_a_notice_and_that_item_runs_again(program: Program, tmp_path: Path) -> None:
    items, out = own_items(tmp_path / "i.jsonl", OTHERS), tmp_path / "r.jsonl"
    assert program("solve", *SCRIPT, "--input", items, "--out", out).exit_code == 0
    whole = out.read_bytes()
    for cut in random.Random(7).sample(range(1, len(whole)), 12):
        out.write_bytes(whole[:cut])
        result = program("solve", *SCRIPT, "--input", items, "--out", out)
        assert result.exit_code == 0, result.output
        assert ("is cut" in result.stderr) == (whole[cut - 1 : cut] != b"\n")
        assert sorted(str(row["id"]) for row in rows(out)) == ["h0", "h1", "h2", "h3"]
        assert out.read_bytes().count(b"\n") == 5


def test_rows_without_a_header_are_compared_themselves(program: Program, tmp_path: Path) -> None:
    items, out = own_items(tmp_path / "i.jsonl", OTHERS), tmp_path / "r.jsonl"
    program("solve", *SCRIPT, "--input", items, "--out", out)
    _, *found = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(found[0] + found[1] + b'{"id": "h2", "ans')
    assert program("solve", *SCRIPT, "--input", items, "--out", out, "--seed", "5").exit_code == 2
    result = program("solve", *SCRIPT, "--input", items, "--out", out)
    assert result.exit_code == 0, result.output
    assert "no header" in result.stderr
    assert sorted(str(row["id"]) for row in rows(out)) == ["h0", "h1", "h2", "h3"]


@pytest.mark.parametrize(
    ("flags", "named"), [(["--seed", "5"], "another seed"), (["--k", "2"], "another options"), (["--method", "tot_dfs"], "another method")]
)
def test_other_settings_are_refused_and_the_file_stays(program: Program, tmp_path: Path, flags: list[str], named: str) -> None:
    items, out = own_items(tmp_path / "i.jsonl", OTHERS), tmp_path / "r.jsonl"
    program("solve", *SCRIPT, "--input", items, "--out", out)
    before = out.read_bytes()
    result = program("solve", *SCRIPT, "--input", items, "--out", out, *flags)
    assert result.exit_code == 2
    assert named in result.stderr
    assert out.read_bytes() == before
    assert program("solve", *SCRIPT, "--input", items, "--out", out, "--max-calls", "3", "--parallel", "2").exit_code == 0


def test_another_input_under_an_old_id_and_foreign_files_are_refused(program: Program, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    program("solve", *SCRIPT, "--input", own_items(tmp_path / "i.jsonl", OTHERS), "--out", out)
    result = program("solve", *SCRIPT, "--input", own_items(tmp_path / "i.jsonl", OTHERS[::-1]), "--out", out)
    assert result.exit_code == 2
    assert "another input" in result.stderr
    for foreign in ("hello\n", '{"a": 1}\n', "[1]\n"):
        path = tmp_path / "foreign"
        path.write_text(foreign)
        refused = program("solve", *SCRIPT, "--items", "1", "--out", path)
        assert refused.exit_code == 2
        assert "line 1" in refused.stderr
        assert path.read_text() == foreign


@pytest.mark.parametrize("line", ["nonsense", '{"id": "a"}', '{"id": "a", "prompt": 3}', "[]", '{"id":"h0","prompt":"x"}'])
def test_a_bad_line_of_input_is_named_before_anything_runs(program: Program, tmp_path: Path, line: str) -> None:
    items, out = own_items(tmp_path / "i.jsonl", [HAND]), tmp_path / "r.jsonl"
    items.write_text(items.read_text() + line + "\n")
    result = program("solve", *SCRIPT, "--input", items, "--out", out)
    assert result.exit_code == 2
    assert "line 2" in result.stderr
    assert not out.exists()


def test_killed_at_any_time_and_started_again_nothing_is_lost_or_double(slow: SlowServer, tmp_path: Path) -> None:
    slow.delay = 0.02
    items, out = own_items(tmp_path / "i.jsonl", OTHERS * 2), tmp_path / "r.jsonl"
    command = ("solve", *slow.flags, "--input", items, "--out", out, "--jobs", "2", "--parallel", "4")
    for wanted in (1, 3, 5):
        child = spawn(*command)
        wait_for(lambda wanted=wanted: len(rows(out)) >= wanted)
        child.kill()
        child.communicate(timeout=240)
    last = execute(*command, "--json")
    assert last.returncode == 0, last.stderr
    summary = json.loads(last.stdout)
    assert (summary["items"], summary["missing"], summary["failed"]) == (8, 0, 0)
    assert sorted(str(row["id"]) for row in rows(out)) == [f"h{number}" for number in range(8)]
    assert [row["solved"] for row in rows(out)].count(True) == 2
    clean = tmp_path / "clean.jsonl"
    assert execute("solve", *slow.flags, "--input", items, "--out", clean, "--quiet").returncode == 0

    def told(path: Path) -> dict[object, object]:
        return {row["id"]: (row["answer"], row["path"], row["nodes"], row["usage"]["calls"]) for row in rows(path)}  # type: ignore[index]

    assert told(out) == told(clean)


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(slow: SlowServer, tmp_path: Path) -> None:
    items, out = own_items(tmp_path / "i.jsonl", OTHERS), tmp_path / "r.jsonl"
    command = ("solve", *slow.flags, "--input", items, "--out", out)
    child = spawn(*command)
    wait_for(lambda: len(rows(out)) >= 1)
    child.send_signal(signal.SIGINT)
    printed, err = child.communicate(timeout=240)
    assert child.returncode == 130, err
    assert "the same command goes on" in err
    assert "missing" in printed
    done = rows(out)
    assert all(row["stop_reason"] != "cancelled" for row in done)
    assert execute(*command).returncode == 0
    assert rows(out)[: len(done)] == done
    assert len(rows(out)) == 4


def test_two_writers_of_one_file_are_refused(slow: SlowServer, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    slow.delay = 5.0
    items, out = own_items(tmp_path / "i.jsonl", OTHERS), tmp_path / "r.jsonl"
    command = ("solve", *slow.flags, "--input", items, "--out", out)
    child = spawn(*command)
    wait_for(lambda: out.exists() and out.stat().st_size > 0)
    second = execute(*command)
    assert second.returncode == 2
    assert "another process" in second.stderr
    child.kill()
    child.communicate(timeout=240)


def test_jobs_share_the_parallel_calls_and_give_the_same_rows(program: Program, tmp_path: Path) -> None:
    items = own_items(tmp_path / "i.jsonl", OTHERS)
    told = []
    for jobs in ("1", "4", "none"):
        out = tmp_path / f"{jobs}.jsonl"
        assert program("solve", *SCRIPT, "--input", items, "--out", out, "--jobs", jobs, "--parallel", "1").exit_code == 0
        told.append({row["id"]: (row["answer"], row["nodes"]) for row in rows(out)})
    assert told[0] == told[1] == told[2]


def test_ids_of_any_kind_make_safe_and_different_file_names() -> None:
    ids = ["a", "a/b", "../../etc/passwd", ".", "..", "", "x" * 500, "x" * 501, "日本", "a b", "a%2Fb", "\x00", "~", ".hidden", "con\n"]
    names = [trace_name(item) for item in ids]
    assert len(set(names)) == len(ids)
    for name in names:
        assert "/" not in name
        assert "\x00" not in name
        assert not name.startswith(".")
        assert len(name) < 200


def test_the_json_summary_is_one_document(tmp_path: Path) -> None:
    child = execute("solve", *SCRIPT, "--items", ":2", "--out", tmp_path / "r.jsonl", "--json")
    subprocess.run([sys.executable, "-m", "json.tool"], input=child.stdout, capture_output=True, text=True, check=True)
    assert child.returncode == 0
    assert DATA.exists()


@pytest.mark.parametrize(
    "flags",
    [
        ["--items", "1"],
        ["--items", "0:3", "--out", "r"],
        ["--items", "a", "--out", "r"],
        ["--items", "", "--out", "r"],
        ["--items", "1", "--input", "i", "--out", "r"],
        ["--out", "r"],
        [HAND, "--items", "1", "--out", "r"],
        ["--items", "1", "--out", "r", "--jobs", "0"],
        ["--items", "1", "--out", "r", "--jobs", "-1"],
        ["--items", "1", "--out", "r", "--resume", "t"],
        ["--items", "1", "--out", "r", "--model", "tape:t"],
        [HAND, "--jobs", "2"],
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = program("solve", *SCRIPT, *flags)
    assert result.exit_code == 2, result.output
    assert not (tmp_path / "r").exists()


def test_the_trace_of_an_item_can_be_gone_on_with_by_itself(program: Program, tmp_path: Path) -> None:
    items, out = own_items(tmp_path / "i.jsonl", [HAND]), tmp_path / "r.jsonl"
    assert program("solve", *SCRIPT, "--input", items, "--out", out, "--max-calls", "7").exit_code == 0
    (row,) = rows(out)
    assert row["stop_reason"] == "budget:calls"
    assert program("solve", "--resume", row["trace"], "--max-calls", "none").exit_code == 0
