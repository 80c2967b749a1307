"""The program `branchwise`: its commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Any

import click

import branchwise
from branchwise.cli.faults import EXITS, exit_code, report
from branchwise.cli.later import Later
from branchwise.cli.page import GroupPage
from branchwise.cli.places import DATA, HOME, MODELS

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
    Later("solve", "solve", "solve_command", "Solve one problem, or many, by tree search."),
    Later("estimate", "estimate", "estimate_command", "The worst case of a run, before paying."),
    Later("show", "show", "show_command", "Show the tree of a run from its trace."),
    Later("view", "view", "view_command", "Show runs as growing trees in the browser."),
    Later("rescore", "rescore", "rescore_command", "Judge a finished tree anew."),
    Later("fork", "rescore", "fork_command", "Begin a second run from a first."),
    Later("import", "importing", "import_command", "Read a published log into traces."),
    Later("published", "published", "published_command", "Score an imported log by our checkers."),
    Later("grade", "grade", "grade_command", "Score answers made elsewhere."),
    Later("bench", "bench", "bench_group", "Measure: run a grid of tasks, methods and models; report; compare."),
    Later("export", "export", "export_command", "Training data from traces."),
    Later("models", "models", "models_group", "Weights of local models: list, download, find."),
    Later("cache", "cache", "cache_group", "Replies kept over runs: how many, and remove them."),
    Later("doctor", "doctor", "doctor_command", "Check a set-up: model, samples, log-probabilities, schema, speed, cache, disk."),
    Later("data", "data", "data_group", "Public data sets: list, download, find."),
    Later("serve", "serve", "serve_command", "An OpenAI-compatible server, and a page to watch runs."),
    Later("mcp", "mcp", "mcp_command", "Tools for MCP clients, over stdio."),
)
for _command in _COMMANDS:
    cli.add_command(_command)


def main() -> None:
    """The entry point of the installed program."""
    cli.main()
