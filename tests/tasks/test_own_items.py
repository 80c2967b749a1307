"""The small lists of our own are those that tools/make_items.py writes; thirty each, all different, the keys out of the tasks' reach."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from branchwise.tasks import TASKS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_items", ROOT / "tools" / "make_items.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(ROOT / "tools"))
    return module


def test_the_lists_are_those_of_the_tool(tool: ModuleType) -> None:
    for path, text in tool.files().items():
        assert path.read_text("utf-8") == text, f"{path}: run python tools/make_items.py"


@pytest.mark.parametrize("name", ["gsm8k", "gsm_hard", "svamp", "strategyqa", "math500", "aime24", "amc23", "olympiadbench", "odyssey"])
def test_thirty_items_that_differ_and_hold_no_key(name: str) -> None:
    items = TASKS[name].items()
    assert len({item.input for item in items}) == len(items) == 30
    for item in items:
        assert item.input.rstrip().endswith((".", "?"))
        TASKS[name].problem(item.input)


def test_questions_are_answered_both_ways(tool: ModuleType) -> None:
    said = [gold for _, _, gold in tool.lists()["strategyqa"]]
    assert 10 <= said.count("yes") <= 20


def test_only_the_bench_and_the_command_line_name_the_keys() -> None:
    source = ROOT / "src" / "branchwise"
    for path in source.rglob("*.py"):
        if path.relative_to(source).parts[0] not in ("bench", "cli", "server"):
            assert "branchwise.bench" not in path.read_text("utf-8"), path
