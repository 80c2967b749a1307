"""`branchwise doctor` where the model cannot be opened: the other checks are made all the same."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from branchwise.errors import install
from support.program import Program


@pytest.mark.parametrize(
    ("model", "module", "name", "extra"),
    [("local", "xllamacpp", "llama.cpp", "local"), ("local?engine=openvino", "openvino_genai", "OpenVINO", "openvino")],
)
def test_a_missing_engine_is_a_finding_with_the_command_and_nothing_is_fetched(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str, module: str, name: str, extra: str
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda wanted, *more: None if wanted == module else there(wanted, *more))
    result = program("doctor", "--model", model)
    first, *others = result.stdout.splitlines()
    assert first == f"BAD   engine     the {name} engine, which runs local models, is not installed; run: {install(extra)}"
    assert [line[6:].split()[0] for line in others] == ["cache", "disk"]
    assert (result.exit_code, result.stderr) == (1, "")
    assert not (tmp_path / "models").exists()


def test_a_model_that_cannot_be_opened_is_a_finding_too(program: Program) -> None:
    result = program("doctor", "--model", "tape:/nowhere", "--json")
    found = json.loads(result.stdout)["findings"]
    assert [row["check"] for row in found] == ["model", "cache", "disk"]
    assert (found[0]["ok"], found[0]["text"]) == (False, "cannot read the trace /nowhere: No such file or directory")
    assert result.exit_code == 1


def test_a_model_that_there_is_not_is_wrong_usage(program: Program) -> None:
    assert program("doctor", "--model", "lokal").exit_code == 2
