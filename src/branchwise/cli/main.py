"""The program `branchwise`: its commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import click

import branchwise
from branchwise.cli.bench import bench_group
from branchwise.cli.cache import cache_group
from branchwise.cli.data import data_group
from branchwise.cli.doctor import doctor_command
from branchwise.cli.estimate import estimate_command
from branchwise.cli.export import export_command
from branchwise.cli.faults import EXITS, exit_code, report
from branchwise.cli.grade import grade_command
from branchwise.cli.importing import import_command
from branchwise.cli.mcp import mcp_command
from branchwise.cli.models import models_group
from branchwise.cli.page import GroupPage
from branchwise.cli.places import DATA, HOME, MODELS
from branchwise.cli.published import published_command
from branchwise.cli.rescore import fork_command, rescore_command
from branchwise.cli.serve import serve_command
from branchwise.cli.show import show_command
from branchwise.cli.solve import solve_command
from branchwise.cli.view import view_command

__all__ = ["cli", "main"]


class Program(GroupPage):
    """The command group. `main` maps every error to a message on standard error and an exit code."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = "branchwise", *_: Any, **extra: Any) -> Any:
        """Run, and exit. Never returns."""
        given = list(sys.argv[1:] if args is None else args)
        extra.pop("standalone_mode", None)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        try:
            code = super().main(given, prog_name, standalone_mode=False, obj=given, **extra)
        except (Exception, KeyboardInterrupt) as error:
            report(error, "--debug" in given)
            code = exit_code(error)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog=f"""\b
Examples:
  branchwise solve "4 9 10 13" --task game24
  branchwise solve "Should we cache the sessions?" --context design.md
  branchwise estimate "4 9 10 13" --task game24 --breadth 3
  branchwise show TRACE
  branchwise models list

\b
Environment:
  {HOME}    folder for traces (default: branchwise in your state folder)
  {MODELS}  folder for model weights (default: branchwise/models in your cache)
  {DATA}    folder for public data sets (default: branchwise/data in your cache)
  OPENAI_API_KEY     key for openai:NAME
  NO_COLOR           no colours

{EXITS}""",
)
@click.version_option(branchwise.__version__, prog_name="branchwise", message="%(prog)s %(version)s")
def cli() -> None:
    """Solve problems deliberately: search a tree of a language model's thoughts, under a budget.

    The model proposes next thoughts, judges them (or a program does), and the search keeps, prunes and goes back. The default model runs on
    this machine and needs no key. Start with `branchwise solve --help`.
    """


_COMMANDS = (
    solve_command, estimate_command, show_command, view_command, rescore_command, fork_command, import_command, published_command,
    grade_command, bench_group, export_command, models_group, cache_group, doctor_command, data_group, serve_command, mcp_command,
)  # fmt: skip
for _command in _COMMANDS:
    cli.add_command(_command)


def main() -> None:
    """The entry point of the installed program."""
    cli.main()
