"""`branchwise solve` on one problem: run it, print the result, say where the trace is. Knows no flag but --json."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import click

from branchwise.cli.faults import ANSWER, FAILED, INTERRUPTED, NO_ANSWER, report
from branchwise.cli.page import arguments
from branchwise.cli.report import of_tape, print_result, resume_command, tells_resume
from branchwise.cli.running import Broken, Plan, run
from branchwise.cli.solving import plan_of
from branchwise.cli.text import console, document, plain
from branchwise.result import Result

__all__ = ["exit_of", "run_one"]


def run_one(flags: Mapping[str, Any]) -> int:
    """The exit code of the run that the flags name. Raises `UsageError` before the first call."""
    return _finish(plan_of(flags), flags["as_json"])


def _finish(plan: Plan, as_json: bool) -> int:
    """Run, print, and say where the trace is; how to go on is said once."""
    debug = "--debug" in arguments()
    code = None
    try:
        result = run(plan)
    except Broken as broken:
        report(broken.error, debug)
        result, code = broken.result, FAILED
        if not as_json:
            _where(plan, result, resumable=True)
            return code
    if as_json:
        click.echo(document(result.to_json()))
    else:
        print_result(result, console())
    _where(plan, result, resumable=result.unfinished and (as_json or not tells_resume(result)))
    return exit_of(result) if code is None else code


def _where(plan: Plan, result: Result, resumable: bool) -> None:
    trace = result.trace
    if trace is None:
        return
    plan.say(f"\ntrace: {trace}\n  show it:     branchwise show {shlex.quote(str(trace))}")
    if not resumable or (result.stop_reason == "failed" and of_tape(result)):
        return
    if result.stop_reason == "cancelled":
        click.echo(f"  resume with: {plain(resume_command(trace))}", err=True)
    else:
        plan.say(f"  resume with: {resume_command(trace)}")


def exit_of(result: Result) -> int:
    """0 an answer, 1 failed, 3 none, 130 interrupted."""
    if result.stop_reason == "cancelled":
        return INTERRUPTED
    if result.stop_reason == "failed":
        return FAILED
    return NO_ANSWER if result.answer is None else ANSWER
