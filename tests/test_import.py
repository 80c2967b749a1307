"""Importing is quick: what takes long is imported by the backend that needs it."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from support.pace import slowness

HEAVY = {"openai", "httpx", "httpx2", "pydantic", "numpy", "xllamacpp", "openvino", "openvino_genai", "huggingface_hub", "sympy", "pooch", "ray"}
SCRIPT = {"replies": ["Therefore the answer is 4."]}
LISTED = "import sys, json; print(json.dumps([m for m in sys.modules if '.' not in m]), file=sys.stderr)"


def loaded(code: str, folder: Path) -> set[str]:
    """The modules that are there after `code` ran in a process of its own."""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{LISTED}"], capture_output=True, text=True, check=True, cwd=folder)
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("code", ["import branchwise", "import branchwise.cli.main", "import branchwise.tasks, branchwise.batch"])
def test_nothing_heavy_is_imported(code: str, tmp_path: Path) -> None:
    assert not loaded(code, tmp_path) & HEAVY


def test_nor_is_it_by_a_run_that_needs_none(tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").write_text(json.dumps(SCRIPT))
    code = """
from branchwise.cli.main import cli
try:
    cli.main(["solve", "What is two and two?", "--task", "open", "--method", "cot", "--model", "script:script.jsonl", "--trace", "trace.jsonl"])
except SystemExit as done:
    assert not done.code, done.code
"""
    assert not loaded(code, tmp_path) & HEAVY


def test_help_is_quick(tmp_path: Path) -> None:
    """Seconds of processor time, which other work on the machine changes little; on a slow machine so many times more."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "from branchwise.cli.main import main; main()", "--help"], check=True, capture_output=True, cwd=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime - before.ru_utime
    assert took < 1.2 or took / slowness() < 1.2
