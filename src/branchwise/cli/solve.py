"""`branchwise solve`: one problem, or many."""

from __future__ import annotations

import shlex
from typing import Any

import click

from branchwise.cli.faults import ANSWER, EXITS, FAILED, INTERRUPTED, NO_ANSWER, report
from branchwise.cli.many import run_many
from branchwise.cli.options import methods_help, run_options, solve_options
from branchwise.cli.page import CommandPage, arguments
from branchwise.cli.report import of_tape, print_result, resume_command, tells_resume
from branchwise.cli.running import Broken, Plan, run
from branchwise.cli.solving import plan_of
from branchwise.cli.text import console, document, plain
from branchwise.errors import UsageError
from branchwise.result import Result

__all__ = ["solve_command"]

HELP = """Solve PROBLEM by searching over a language model's thoughts, and print the answer.

    PROBLEM is the text of the problem; - reads it from standard input, @FILE from a file. What it must look like is the task's affair: for
    the task open it is any question or decision, for game24 it is four numbers, "4 9 10 13".

    The model proposes next thoughts, the thoughts are judged (by a program where one can, else by the model), and the search keeps the
    best, prunes and goes back, until a solution is proven, nothing is left to try, or the budget is spent. Out of budget is no failure: the
    best answer so far is printed, marked unfinished, and --resume goes on from there.

    Standard output carries the result and nothing else; progress goes to standard error, and is drawn only on a terminal.

    Ctrl-C ends the run, keeps what was paid for, and prints how to go on. Every run is recorded in a trace (see --trace) that `branchwise
    show` prints and --resume goes on with.
    """

EPILOG = f"""\b
Examples:
  branchwise solve "4 9 10 13" --task game24
  branchwise solve "Should we cache the sessions?" --context design.md --evaluate score
  branchwise solve @question.txt --task mine.yaml
  branchwise solve "4 9 10 13" --task game24 --method tot_dfs --k 8 --samples 3 --seed 7
  branchwise solve "4 9 10 13" --task game24 --model openai:gpt-4o-mini --max-cost 0.05
  branchwise solve "4 9 10 13" --task game24 --max-calls 40 --json
  branchwise solve --resume TRACE --max-calls 200
  branchwise solve --task game24 --items 901:910 --data 24.csv --out results.jsonl
  branchwise solve --task game24 --input mine.jsonl --out results.jsonl --jobs 2

\b
Methods:
{methods_help()}

\b
Many problems: --items or --input with --out. One line is appended to the file for each
problem as it ends; started again with the same flags, what is there is skipped and what was
cut off is gone on with. Each problem has a budget of its own, and a trace beside the file.
The exit code is 0 when every problem was run, 1 when one of them failed.

\b
The file of --model script:FILE has one rule a line, the first that fits answers:
  {{"role": "generate", "contains": ["4 9 10 13"], "replies": ["13 - 9 = 4 (left: 4 4 10)"]}}

{EXITS}"""


@click.command("solve", cls=CommandPage, short_help="Solve one problem, or many, by tree search.", help=HELP, epilog=EPILOG)
@click.argument("problem", required=False)
@run_options
@solve_options
def solve_command(**flags: Any) -> int:
    """See HELP."""
    many = [name for name in ("items", "input_file", "out") if flags[name] is not None]
    if many:
        return run_many(flags)
    for name in ("data", "jobs"):
        if flags[name] is not None:
            raise UsageError(f"--{name} belongs to many problems: give --items or --input, and --out, with it")
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
