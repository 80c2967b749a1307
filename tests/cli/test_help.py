"""Help of every command reads like a page, and docs/cli.md is made from it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from branchwise.cli.options import _METHOD_FLAGS
from branchwise.cli.settings import SETTINGS
from support.program import Program

ROOT = Path(__file__).parents[2]
COMMANDS = [
    name.split()
    for name in ("", "solve", "estimate", "show", "models", "models list", "models pull", "models path", "import",
                 "serve", "mcp", "published", "grade", "data", "data list", "data pull", "data path")
]  # fmt: skip


@pytest.fixture
def docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cli_docs", ROOT / "tools" / "cli_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_exit_codes(program: Program, command: list[str]) -> None:
    result = program(*command, "--help")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) > 15
    for code in ("0 ", "1 ", "2 ", "3 ", "130"):
        assert f"\n    {code}" in result.stdout


@pytest.mark.parametrize("command", ["solve", "estimate", "show"])
def test_help_has_examples_and_defaults(program: Program, command: str) -> None:
    text = program(command, "--help").stdout
    assert "Examples:" in text
    assert "[default" in text


def test_every_setting_of_a_method_has_a_flag_with_help(program: Program) -> None:
    text = program("solve", "--help").stdout
    for name in SETTINGS:
        assert name in _METHOD_FLAGS, f"give the setting {name} a type and help in cli/options.py"
        assert f"--{name.replace('_', '-')}" in text


def test_version_is_that_of_the_package(program: Program) -> None:
    import branchwise

    assert program("--version").stdout == f"branchwise {branchwise.__version__}\n"


def test_the_documentation_is_that_of_the_program(docs: ModuleType) -> None:
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == docs.page(), "run: python tools/cli_docs.py"
