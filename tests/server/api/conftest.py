"""The program as a process for tests of the server: a home of its own, and nothing is left running."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.program import end_children


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A BRANCHWISE_HOME that only this test has."""
    folder = tmp_path / "home"
    monkeypatch.setenv("BRANCHWISE_HOME", str(folder))
    yield folder
    end_children()
