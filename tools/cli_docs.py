"""Writes docs/cli.md from the program's own help. Run it after a change of a flag; a test compares.

python tools/cli_docs.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from branchwise.cli.later import real
from branchwise.cli.main import cli

WIDTH = 100
HEAD = """# Command line

Made by `python tools/cli_docs.py` from the program's own help; do not edit.
"""


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it, with their full names."""
    yield name, command
    if isinstance(command, click.Group):
        for inner in sorted(command.commands):
            yield from commands(real(command.commands[inner]), f"{name} {inner}")


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for name, command in commands(cli, "branchwise"):
        context = click.Context(command, info_name=name, terminal_width=WIDTH, **command.context_settings)
        if name != "branchwise":
            context.help_option_names = ["-h", "--help"]
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
        parts.append(f"## {name}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    os.chdir(Path(__file__).parent.parent)
    Path("docs/cli.md").write_text(page(), "utf-8")
