"""`branchwise data`: what there is, and where. Nothing is downloaded here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from branchwise.cli import data
from branchwise.data.sets import DATASETS
from support.data import SHARED, shared
from support.program import Program


def test_the_list_has_items_licences_and_what_is_here(program: Program, tmp_path: Path) -> None:
    result = program("data", "list", "--data", tmp_path)
    assert result.exit_code == 0
    assert "gsm8k            1,319     750 kB   MIT" in result.stdout
    rows = json.loads(program("data", "list", "--json", "--data", tmp_path).stdout)["data"]
    assert {row["name"] for row in rows} == set(DATASETS)
    assert {row["here"] for row in rows} == {"no"}
    assert all(row["url"].startswith("https://") and len(row["sha256"]) == 64 for row in rows)


def test_the_folder_beside_the_checkout_works_as_it_is(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    shared("")
    monkeypatch.setenv("BRANCHWISE_DATA", str(SHARED))
    rows = json.loads(program("data", "list", "--json").stdout)["data"]
    assert {row["here"] for row in rows} == {"yes"}
    assert program("data", "path", "odyssey").stdout == f"{SHARED}/odyssey_math/final-odyssey-math-with-levels.jsonl\n"


def test_a_set_that_is_not_here_is_a_failure_with_the_way_out(program: Program, tmp_path: Path) -> None:
    result = program("data", "path", "gsm8k", "--data", tmp_path)
    assert result.exit_code == 1
    assert "branchwise data pull gsm8k" in result.stderr
    assert program("data", "path", "gsm8").exit_code == 2


def test_a_wrong_file_is_refused(program: Program, tmp_path: Path) -> None:
    (tmp_path / "gsm8k").mkdir()
    (tmp_path / "gsm8k" / "test.jsonl").write_text("{}", "utf-8")
    result = program("data", "path", "gsm8k", "--data", tmp_path)
    assert result.exit_code == 1
    assert "not the registered version" in result.stderr
    assert "wrong hash" in program("data", "list", "--data", tmp_path).stdout


def test_pull_prints_the_path_alone(program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def pull(name: str, folder: Path | None, progress: Callable[[int, int, str], None]) -> Path:
        progress(10**6, 10**6, "from somewhere")
        assert folder == tmp_path
        return tmp_path / name

    monkeypatch.setattr(data, "pull", pull)
    result = program("data", "pull", "gsm8k", "--data", tmp_path)
    assert result.stdout == f"{tmp_path}/gsm8k\n"
    assert result.stderr == "gsm8k: from somewhere (1 MB)\n"


def test_items_of_a_task_come_from_the_named_folder(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared("")
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps({"contains": [], "replies": ["the answer is 18"]}) + "\n", "utf-8")
    flags = ("--task", "gsm8k", "--method", "io", "--items", "1:2", "--model", f"script:{script}", "--trace", "none", "--quiet")
    for name, extra in (("flag", ("--data", str(SHARED))), ("environment", ())):
        if not extra:
            monkeypatch.setenv("BRANCHWISE_DATA", str(SHARED))
        out = tmp_path / f"{name}.jsonl"
        result = program("solve", *flags, "--out", out, *extra)
        assert result.exit_code == 0, result.stderr
        rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
        assert rows[0]["about"]["data"]["sha256"] == DATASETS["gsm8k"].sha256
        assert [row["id"] for row in rows if "id" in row] == ["1", "2"]
        assert "ducks" in next(row["input"] for row in rows if row.get("id") == "1")
