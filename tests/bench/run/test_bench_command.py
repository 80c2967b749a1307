"""`branchwise bench run`: from flags to a folder of rows, and what it says."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from branchwise.bench.golds import own_golds
from branchwise.bench.rows import MANIFEST, ROWS, read_manifest, read_rows
from branchwise.cli.main import cli
from branchwise.tasks import task
from support.program import end_children, lines, spawn, wait_for


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("BRANCHWISE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BRANCHWISE_DATA", raising=False)
    yield
    end_children()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Right on the first item of gsm8k's own list, wrong on the others."""
    items = task("gsm8k").items(None)
    gold = own_golds("gsm8k")[items[0].id].text
    rules = [
        {"role": "evaluate", "replies": ["The best choice is 1"]},
        {"contains": [items[0].input], "replies": [f"The answer is {gold}."]},
        {"replies": ["The answer is 12345."]},
    ]
    path = tmp_path / "script.json"
    path.write_text(json.dumps(rules))
    return path


def bench(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["bench", "run", *map(str, arguments)])


def flags(script: Path, out: Path | None, **more: Any) -> list[object]:
    base = {"tasks": "gsm8k", "methods": "io,cot_sc?k=3", "items": "1:4", "models": f"s=script:{script}", "out": out, **more}
    return [part for name, value in base.items() if value is not None for part in (f"--{name.replace('_', '-')}", value)]


def test_a_grid_from_flags(script: Path, tmp_path: Path) -> None:
    said = bench(*flags(script, tmp_path / "o"), "--seeds", "0:1", "--json")
    assert said.exit_code == 0, said.output
    told = json.loads(said.stdout)
    assert told["units"] == 16
    assert told["rows"] == {"correct": 4, "wrong": 12, "no_answer": 0, "invalid_gold": 0, "failed": 0, "missing": 0}
    assert [(one["method"], one["mean_score"], one["rows"]) for one in told["cells"]] == [("io", 0.25, 8), ("cot_sc?k=3", 0.25, 8)]
    manifest = read_manifest(tmp_path / "o")
    assert manifest["commands"][0]["command"].startswith("branchwise bench run --tasks gsm8k")
    assert manifest["servers"] == {"s": [f"script:{script}"]}
    assert {row.seed for row in read_rows(tmp_path / "o")} == {0, 1}


def test_started_again_it_goes_on_and_says_so(script: Path, tmp_path: Path) -> None:
    assert bench(*flags(script, tmp_path / "o", items="1:2")).exit_code == 0
    said = bench(*flags(script, tmp_path / "o"))
    assert said.exit_code == 0
    assert "4 units of 8 have a row already" in said.stderr
    assert said.stderr.count("[") == 4
    refused = bench(*flags(script, tmp_path / "o"), "--temperature", "0.2")
    assert refused.exit_code == 2
    assert "another temperature" in refused.stderr
    assert bench(*flags(script, tmp_path / "o"), "--temperature", "0.2", "--force").exit_code == 0


def test_a_grid_from_a_file_whose_keys_flags_replace(script: Path, tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(f"tasks: [{{task: gsm8k, items: '1:9'}}, svamp]\nitems: '1:2'\nmethods: [io]\nmodels: [{{label: s, model: 'script:{script}'}}]\n")
    said = bench(path, "--items", "gsm8k=1,3", "--equal", "calls=2", "--out", tmp_path / "o", "--quiet")
    assert said.exit_code == 0, said.output
    assert said.stderr == ""
    assert sorted((row.task, row.repeats) for row in read_rows(tmp_path / "o")) == [("gsm8k", 2)] * 2 + [("svamp", 2)] * 2


def test_items_of_a_file_need_quotation_marks(tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text("tasks: [gsm8k]\nitems: 1:30\nmethods: [io]\n")
    assert "quotation marks" in bench(path, "--dry-run").stderr


def test_the_dry_run_is_the_estimate_of_the_whole_grid(script: Path, tmp_path: Path) -> None:
    said = bench(*flags(script, None, methods="io,cot_sc?k=3,tot_bfs"), "--dry-run", "--json", "--seeds", "0,1")
    assert said.exit_code == 0, said.output
    told = json.loads(said.stdout)
    calls = {cell["method"]: cell["calls"] for cell in told["cells"]}
    one = CliRunner().invoke(cli, ["estimate", "--task", "gsm8k", "--method", "tot_bfs", "--items", "1:4", "--json"])
    assert calls == {"io": 8, "cot_sc?k=3": 24, "tot_bfs": 2 * json.loads(one.stdout)["calls"]}
    assert told["total"]["calls"] == sum(calls.values())
    assert told["units"] == 24
    text = bench(*flags(script, None), "--dry-run", "--equal", "tokens=500")
    assert "500 tokens for each item and method" in text.stdout
    assert not list(tmp_path.glob("*/bench.json"))


def test_the_worst_case_is_never_exceeded(script: Path, tmp_path: Path) -> None:
    grid = flags(script, tmp_path / "o", methods="io,cot_sc?k=3,tot_bfs,refine?rounds=2,mctsr_4")
    told = json.loads(bench(*grid, "--dry-run", "--json").stdout)
    worst = {cell["method"]: (cell["calls"], cell["tokens"]) for cell in told["cells"]}
    assert bench(*grid).exit_code == 0
    spent: dict[str, tuple[int, int]] = {}
    for row in read_rows(tmp_path / "o"):
        calls, tokens = spent.get(row.method, (0, 0))
        spent[row.method] = (calls + row.spent.calls, tokens + row.spent.tokens)
    assert all(spent[name][0] <= worst[name][0] and spent[name][1] <= worst[name][1] for name in worst)


def test_a_budget_of_the_whole_ends_it_and_a_larger_one_goes_on(script: Path, tmp_path: Path) -> None:
    said = bench(*flags(script, tmp_path / "o", total_max_calls=9, jobs=1))
    assert said.exit_code == 3
    assert "the limit of calls of the whole is reached" in said.stderr
    rows = read_rows(tmp_path / "o")
    assert 0 < len(rows) < 8
    assert sum(row.spent.calls for row in rows) <= 9
    assert bench(*flags(script, tmp_path / "o", total_max_calls=16)).exit_code == 0
    assert sum(row.spent.calls for row in read_rows(tmp_path / "o")) == 16


def test_a_limit_of_time_ends_it(script: Path, tmp_path: Path) -> None:
    grid = flags(script, tmp_path / "o", methods="io", items="1:30", calls_per_minute=600)
    said = bench(*grid, "--total-max-seconds", "0.6")
    assert said.exit_code == 3
    assert "the limit of seconds of the whole is reached" in said.stderr
    assert 0 < len(read_rows(tmp_path / "o")) < 30


def test_budgets_of_a_unit_are_those_of_solve(script: Path, tmp_path: Path) -> None:
    assert bench(*flags(script, tmp_path / "o", methods="tot_bfs", max_calls=7)).exit_code == 0
    rows = read_rows(tmp_path / "o")
    assert all(row.spent.calls <= 7 for row in rows)
    assert {row.stop_reason for row in rows} == {"budget:calls"}
    assert all(row.unfinished for row in rows)


def test_failed_units_make_the_exit_code_one(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"contains": ["nothing has this"], "replies": ["x"]}]')
    said = bench(*flags(script, tmp_path / "o", methods="io"))
    assert said.exit_code == 1
    assert "no rule of the script answers" in said.stderr
    assert {row.verdict for row in read_rows(tmp_path / "o")} == {"failed"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"tasks": None}, "--tasks"),
        ({"items": None}, "--items"),
        ({"out": None}, "--out DIR"),
        ({"models": "tape:x"}, "cannot answer the problems of a bench"),
        ({"models": "a=local|local:x"}, "local"),
        ({"equal": "tokens=many"}, "tokens=4000"),
        ({"equal": "cost=1"}, "cost nothing"),
        ({"models": "http://h:1/v1#unknown-model", "max_cost": 1}, "needs a known price"),
        ({"models": "http://h:1/v1#unknown-model", "total_max_cost": 1}, "needs a known price"),
        ({"seeds": "3:1"}, "seeds are given"),
        ({"methods": "io?k=2"}, "no key 'k'"),
        ({"tasks": "gsm8kk"}, "gsm8k"),
        ({"ray": "ray://host:10001"}, "HOST:6379"),
        ({"ray": "auto", "models": "local"}, "models are servers"),
    ],
)
def test_what_cannot_work_is_told_in_one_line(script: Path, tmp_path: Path, more: dict[str, Any], told: str) -> None:
    said = bench(*flags(script, **{"out": tmp_path / "o", **more}))
    assert said.exit_code == 2, said.output
    assert told in said.stderr
    assert len(said.stderr.strip().splitlines()) == 1


def test_passwords_of_servers_are_shown_nowhere(tmp_path: Path) -> None:
    said = bench(*flags(Path("x"), tmp_path / "o", models="http://user:hunter2@127.0.0.1:9/v1#m|http://127.0.0.1:9/v1#m", methods="io", items="1"))
    assert "hunter2" not in said.output
    assert all("hunter2" not in path.read_text() for path in (tmp_path / "o").rglob("*") if path.is_file())
    assert read_rows(tmp_path / "o")[0].status == "failed"


def test_golds_are_overridden_with_a_reason(script: Path, tmp_path: Path) -> None:
    item = task("gsm8k").items(None)[1].id
    path = tmp_path / "overrides.jsonl"
    path.write_text(json.dumps({"task": "gsm8k", "id": item, "gold": "12345", "reason": "the published one is wrong"}) + "\n")
    assert bench(*flags(script, tmp_path / "o", methods="io", overrides=path)).exit_code == 0
    assert {row.item: row.verdict for row in read_rows(tmp_path / "o")}[item] == "correct"
    path.write_text('{"id": "7", "gold": "1"}\n')
    assert "an override looks like" in bench(*flags(script, tmp_path / "p", overrides=path)).stderr


@pytest.mark.parametrize("seed", range(3))
def test_a_process_killed_at_any_moment_goes_on(script: Path, tmp_path: Path, seed: int) -> None:
    """The program itself, killed when it has written so many bytes of rows; see test_killed for more moments."""
    chance, out = random.Random(seed), tmp_path / "o"
    grid = flags(script, out, methods="io,tot_bfs,refine?rounds=2", items="1:12", equal="calls=8", calls_per_minute=60_000)
    whole = flags(script, tmp_path / "w", methods="io,tot_bfs,refine?rounds=2", items="1:12", equal="calls=8")
    assert bench(*whole, "--quiet").exit_code == 0
    for _ in range(3):
        have = len(lines(out / ROWS))
        child = spawn("bench", "run", *grid, "--quiet")
        more = chance.randint(1, 6)
        wait_for(lambda have=have, more=more, child=child: len(lines(out / ROWS)) >= have + more or child.poll() is not None, 120)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    assert bench(*grid, "--quiet").exit_code == 0

    def told(folder: Path) -> list[dict[str, Any]]:
        return sorted(({**row.to_json(), "seconds": 0} for row in read_rows(folder)), key=lambda row: str(row["unit"]))

    assert told(out) == told(tmp_path / "w")
    assert len(lines(out / ROWS)) == 36
    assert (out / MANIFEST).exists()


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(script: Path, tmp_path: Path) -> None:
    grid = flags(script, tmp_path / "o", methods="io,tot_bfs", items="1:30", calls_per_minute=6000)
    child = spawn("bench", "run", *grid)
    wait_for(lambda: len(lines(tmp_path / "o" / ROWS)) >= 3, 120)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=600)
    assert child.returncode == 130
    assert "the same command goes on" in said
    done = len(read_rows(tmp_path / "o"))
    assert 3 <= done < 60
    grid[grid.index("--calls-per-minute") + 1] = "none"
    assert bench(*grid, "--quiet").exit_code == 0
    assert len(read_rows(tmp_path / "o")) == 60
