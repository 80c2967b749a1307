"""Commands are imported when they are called, and their group knows them without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from branchwise.cli.bench import bench_group
from branchwise.cli.later import Later, real
from branchwise.cli.main import cli
from support.program import Program

RUN = """
import json, sys
from branchwise.cli.main import cli
try:
    cli.main(sys.argv[1:])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
LATERS = [command for group in (cli, bench_group) for command in group.commands.values()]


def loaded(*arguments: str, folder: Path) -> set[str]:
    """The modules that are there when the program ends, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True, cwd=folder)
    return set(json.loads(done.stderr.splitlines()[-1]))


def commands_in(modules: set[str]) -> set[str]:
    return {name for name in modules if name.startswith("branchwise.cli.")}


@pytest.mark.parametrize("command", LATERS, ids=lambda command: command.name)
def test_a_group_says_of_a_command_what_the_command_says(command: click.Command) -> None:
    assert isinstance(command, Later)
    found = command.load()
    assert (command.name, command.get_short_help_str(), command.hidden, command.deprecated) == (
        found.name, found.get_short_help_str(), found.hidden, found.deprecated,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]], ids=" ".join)
def test_the_program_itself_loads_no_command(arguments: list[str], tmp_path: Path) -> None:
    modules = loaded(*arguments, folder=tmp_path)
    assert commands_in(modules) == {f"branchwise.cli.{name}" for name in ("main", "later", "page", "places", "faults", "text")}
    assert not {name.split(".")[0] for name in modules} & {
        "rich",
        "yaml",
        "sqlite3",
        "platformdirs",
        "httpx",
        "openai",
        "numpy",
        "ray",
        "starlette",
    }


@pytest.mark.parametrize("arguments", [["solve", "--help"], ["solve", "-h"]], ids=" ".join)
def test_help_of_solve_loads_nothing_that_runs(arguments: list[str], tmp_path: Path) -> None:
    modules = loaded(*arguments, folder=tmp_path)
    names = ("main", "later", "page", "places", "faults", "text", "solve", "options", "settings")
    assert commands_in(modules) == {f"branchwise.cli.{name}" for name in names}
    running = {f"branchwise.{name}" for name in ("engine", "solve", "estimate", "batch", "rescore", "fork", "bench", "server", "model.layers")}
    assert not modules & running
    assert not {name.split(".")[0] for name in modules} & {"rich", "sqlite3", "httpx", "openai", "numpy", "ray", "starlette", "sympy"}


def test_the_group_bench_loads_none_of_its_commands(tmp_path: Path) -> None:
    modules = loaded("bench", "--help", folder=tmp_path)
    assert "branchwise.cli.bench" in modules
    assert not any(name.startswith(("branchwise.bench", "branchwise.cli.bench_", "rich")) for name in modules)


def test_completion_names_commands_and_their_options() -> None:
    complete = ShellComplete(cli, {}, "branchwise", "_BRANCHWISE_COMPLETE")
    assert [(item.value, item.help) for item in complete.get_completions([], "e")] == [
        ("estimate", "The worst case of a run, before paying."), ("export", "Training data from traces."),
    ]  # fmt: skip
    assert [item.value for item in complete.get_completions(["solve"], "--max-c")] == ["--max-calls", "--max-cost"]
    assert [item.value for item in complete.get_completions(["bench"], "re")] == ["report"]
    assert [item.value for item in complete.get_completions(["bench", "run"], "--dry")] == ["--dry-run"]


def test_a_misspelt_command_gets_the_nearest(program: Program) -> None:
    result = program("slove")
    assert result.exit_code == 2
    assert "No such command 'slove'" in result.stderr
    assert "solve" in result.stderr


def test_what_is_no_stand_in_stands_for_itself() -> None:
    command = click.Command("own")
    assert real(command) is command
