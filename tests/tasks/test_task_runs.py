"""The tool that runs every task on its own items: it goes on where it was, and tells how many replies could be read."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from branchwise.tasks import TASKS, select

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("task_runs", ROOT / "tools" / "task_runs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["task_runs"] = module
    spec.loader.exec_module(module)
    return module


def write(path: Path, *rules: dict[str, object]) -> Path:
    path.write_text("\n".join(map(json.dumps, rules)) + "\n", "utf-8")
    return path


def test_every_task_runs_on_ten_of_its_own_items(tool: ModuleType) -> None:
    assert set(tool.RUNS) == set(TASKS)
    for name, (span, _) in tool.RUNS.items():
        assert len(select(TASKS[name].items(), span)) == 10


def test_a_run_is_counted_and_goes_on_where_it_was(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = write(
        tmp_path / "s.jsonl",
        {"role": "evaluate", "contains": [], "replies": ["The best choice is 1", "I like them all"]},
        {"contains": ["Do not solve"], "replies": ["Strategy: add", "Strategy: subtract", "Answer: the answer is 3"]},
        {"contains": [], "replies": ["Answer: the answer is 14", "Answer: nobody knows"]},
    )
    out, page = tmp_path / "out", tmp_path / "page.md"
    monkeypatch.setattr(tool, "RUNS", {"gsm8k": ("1:10", ("--k", "3", "--samples", "2"))})
    words = ["task_runs.py", "--model", f"script:{script}", "--out", str(out), "--only", "gsm8k"]
    monkeypatch.setattr(sys, "argv", words)
    assert tool.main() == 0
    rows = (out / "gsm8k.jsonl").read_bytes()
    assert tool.main() == 0
    assert (out / "gsm8k.jsonl").read_bytes() == rows
    monkeypatch.setattr(sys, "argv", [*words[:-2], "--page", str(page)])
    assert tool.main() == 0
    told = tool.tell("gsm8k", out / "gsm8k.traces", tool.Told())
    assert told.asked["thoughts"] == 10 * (3 + 3)
    assert told.read["thoughts"] == 10 * (2 + 2)
    assert (told.read["judgements"], told.asked["judgements"]) == (20, 40)
    assert {text for _, text in told.unread} == {"Answer: the answer is 3", "Answer: nobody knows"}
    text = page.read_text("utf-8")
    assert "40 of 60 (67 %)" in text
    assert "20 of 40 (50 %)" in text
    assert "1 right, 9 wrong, 0 without an answer" in text
