"""`branchwise solve`: its flags and its help. Runs nothing itself: `one` and `many` do, and are imported when there is something to run."""

from __future__ import annotations

from typing import Any

import click

from branchwise.cli.faults import EXITS
from branchwise.cli.options import methods_by_task_help, methods_help, run_options, solve_options
from branchwise.cli.page import CommandPage
from branchwise.errors import UsageError

__all__ = ["solve_command"]

HELP = """Solve PROBLEM by searching over a language model's thoughts, and print the answer.

    PROBLEM is the text of the problem; - reads it from standard input, @FILE from a file. What it must look like is the task's affair: for
    the task open it is any question or decision, for game24 it is four numbers, "4 9 10 13".

    The model proposes next thoughts, the thoughts are judged (by a program where one can, else by the model), and the search keeps the
    best, prunes and goes back, until a solution is proven, nothing is left to try, or the budget is spent. Out of budget is no failure: the
    best answer so far is printed, marked unfinished, and --resume goes on from there.

    Standard output carries the result and nothing else; progress goes to standard error: drawn on a terminal, elsewhere a line
    a minute.

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
Methods that a task takes:
{methods_by_task_help()}
  A task of a file takes all of them.

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
        from branchwise.cli.many import run_many

        return run_many(flags)
    for name in ("data", "jobs"):
        if flags[name] is not None:
            raise UsageError(f"--{name} belongs to many problems: give --items or --input, and --out, with it")
    from branchwise.cli.one import run_one

    return run_one(flags)
