"""Importing is quick: what takes long is imported by the backend that needs it."""

import ast
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import branchwise
from support.pace import slowness

HEAVY = {
    "openai",
    "httpx",
    "httpx2",
    "pydantic",
    "numpy",
    "xllamacpp",
    "openvino",
    "openvino_genai",
    "huggingface_hub",
    "sympy",
    "pooch",
    "ray",
}
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
    subprocess.run(
        [sys.executable, "-c", "from branchwise.cli.main import main; main()", "--help"], check=True, capture_output=True, cwd=tmp_path
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime - before.ru_utime
    assert took < 1.2 or took / slowness() < 1.2


def test_names_are_imported_from_where_the_type_checker_reads_them() -> None:
    tree = ast.parse(Path(branchwise.__file__).read_text("utf-8"))
    read = {
        alias.name: node.module.removeprefix("branchwise.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("branchwise.")
        for alias in node.names
    }
    assert read == branchwise._HOMES
    assert {*read, "__version__"} == set(branchwise.__all__) <= set(dir(branchwise))


def test_the_package_imports_a_part_when_it_is_used(tmp_path: Path) -> None:
    code = """
import branchwise as bw, sys, json
ours = lambda: sorted(name for name in sys.modules if name.startswith("branchwise."))
before, _, after = ours(), bw.Budget, ours()
print(json.dumps([before, after]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    before, after = json.loads(done.stdout)
    assert before == []
    assert "branchwise.budget" in after
    assert "branchwise.engine" not in after


def test_functions_keep_their_names_where_modules_of_the_same_names_are_imported(tmp_path: Path) -> None:
    """`branchwise.solve` is both; whoever imports the module first still gets the function from the package."""
    same = sorted(name for name, module in branchwise._HOMES.items() if name == module)
    assert same == ["estimate", "fork", "rescore", "solve"]
    code = f"""
import importlib, types, branchwise
for name in {same}:
    module = importlib.import_module(f"branchwise.{{name}}")
    assert isinstance(module, types.ModuleType)
    assert getattr(branchwise, name) is getattr(module, name)
from branchwise import solve
assert isinstance(solve, types.FunctionType)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_a_name_that_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'branchwise' has no attribute 'sovle'"):
        _ = branchwise.sovle
