"""Exit codes, and how errors are told. Knows no command."""

from __future__ import annotations

import sys
import traceback

import click

from branchwise.cli.text import plain
from branchwise.errors import BranchwiseError, UsageError

__all__ = ["ANSWER", "EXITS", "FAILED", "INTERRUPTED", "NO_ANSWER", "USAGE", "describe", "exit_code", "report"]

ANSWER, FAILED, USAGE, NO_ANSWER, INTERRUPTED = 0, 1, 2, 3, 130

EXITS = """\b
Exit codes:
  0    an answer was found (or the command did what it was asked)
  1    failed: a model, a download, the disk, or a fault in the program
  2    wrong usage: a flag, a value, a name or a file that cannot be used
  3    ended without an answer (the budget is spent, or nothing is left to try)
  130  interrupted; what was paid for is saved in the trace"""


def exit_code(error: BaseException) -> int:
    """The exit code that an error stands for."""
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        return error.exit_code
    return USAGE if isinstance(error, UsageError) else FAILED


def describe(error: BaseException) -> str:
    """What went wrong. An error that is not ours comes with its kind and the line that raised it."""
    if isinstance(error, BranchwiseError):
        return str(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    last = frames[-1]
    code = f": {last.line}" if last.line else ""
    return f"{text}\n  raised in {last.filename}, line {last.lineno}, in {last.name}{code}"


def report(error: BaseException, debug: bool) -> None:
    """Tell the user on standard error; `debug` shows the whole traceback."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, click.ClickException):
        error.show(sys.stderr)
        return
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        click.echo("interrupted", err=True)
        return
    click.echo(f"Error: {plain(describe(error))}", err=True)
    if not isinstance(error, BranchwiseError) and not debug:
        click.echo("This is a fault in a program (yours or ours), not in how it was called; --debug shows the whole traceback.", err=True)
