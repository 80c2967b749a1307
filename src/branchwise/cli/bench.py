"""`branchwise bench`: the commands that measure. Holds the group only."""

from __future__ import annotations

import click

from branchwise.cli.faults import EXITS
from branchwise.cli.later import Later
from branchwise.cli.page import GroupPage

__all__ = ["bench_group"]


@click.group(
    "bench",
    cls=GroupPage,
    short_help="Measure: run a grid of tasks, methods and models; report; compare.",
    epilog=f"""\b
Examples:
  branchwise bench run --tasks game24 --methods io,cot,tot_bfs --items 901:930 --equal tokens=4000 --out runs/a
  branchwise bench run --tasks game24 --methods io,cot,tot_bfs --items 901:930 --out runs/a --dry-run

{EXITS}""",
)
def bench_group() -> None:
    """Measure methods on tasks whose answers a program can check: every item with every method, model and seed, under a budget.

    The search never sees an answer key: it is read when a unit is over. A run folder holds a row and a trace for each unit, and a killed run goes on.
    """


_COMMANDS = (
    Later("run", "bench_run", "run_command", "Run a grid of tasks, methods and models."),
    Later("report", "bench_report", "report_command", "What a bench found, with intervals and paired tests."),
    Later("compare", "bench_report", "compare_command", "Two runs, item by item."),
)
for _command in _COMMANDS:
    bench_group.add_command(_command)
