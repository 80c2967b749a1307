"""`branchwise bench run`: a grid of tasks, methods and models, a row each; resumable."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from branchwise.bench.desk import Desk
from branchwise.bench.grid import Grid
from branchwise.bench.purse import drain
from branchwise.bench.runner import Events, run_here
from branchwise.budget import Budget
from branchwise.cli.bench_flags import bench_options, grid_of, total_of
from branchwise.cli.bench_live import Live, summary
from branchwise.cli.bench_models import check_models, opener, pricer, server_names
from branchwise.cli.bench_plan import print_plan
from branchwise.cli.faults import ANSWER, EXITS, FAILED, INTERRUPTED, NO_ANSWER
from branchwise.cli.opening import Interrupted, PullBar
from branchwise.cli.options import retry_option, retry_policy
from branchwise.cli.page import CommandPage, Option, arguments
from branchwise.cli.signals import interruptible
from branchwise.cli.text import document, plain, plural
from branchwise.errors import UsageError
from branchwise.model.secrets import mask
from branchwise.solve import Stop

__all__ = ["run_command"]


@click.command(
    "run",
    cls=CommandPage,
    short_help="Run a grid of tasks, methods and models.",
    epilog=f"""\b
Examples:
  branchwise bench run --tasks game24,gsm8k --methods io,cot,cot_sc,refine,tot_bfs --items 1:30 --equal tokens=4000 --out runs/a
  branchwise bench run b_sweep --models local --data ~/data --out runs/b --dry-run
  branchwise bench run --tasks gsm8k --methods io,cot --items sample:100 --data ~/data --out runs/c \\
    --models "small=http://10.0.0.1:8000/v1#qwen|http://10.0.0.2:8000/v1#qwen"
  branchwise bench run grid.yaml --out runs/d --total-max-cost 5 --ray auto

\b
Started again with the same flags and folder, it goes on: rows that are there stay, units that were
broken off go on with their traces. More items, methods, models and seeds may be added. The exit code
is 0 when every unit has a row, 1 when one of them failed, 3 when a budget of the whole ended it.

{EXITS}""",
)
@click.argument("spec", required=False)
@bench_options
@retry_option
@click.option("--key-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", cls=Option, heading="Run",
              help="A file that holds the servers' key, readable by you alone.  [default: the variable of each host]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document in place of the summary.")
@click.option("--quiet", is_flag=True, cls=Option, heading="Output", help="Nothing on standard error but errors.")
def run_command(**flags: Any) -> int:
    """Run every item with every method, model and seed of a grid, and keep a row and a trace of each.

    SPEC is a file, or one that comes with the program: game24, b_sweep, ... Flags replace its keys.

    A unit is solved without the answer key, and marked with it when it is over. A unit that fails is a row too. Rows do not depend on how many
    units run at once, nor on where. Budgets are those of each run of a unit; --equal gives all methods the same; --total-max-... ends the whole.
    """
    grid = grid_of(flags)
    check_models(grid.spec)
    price = pricer(grid.spec, flags["prices"])
    _check_prices(grid, flags, price)
    if flags["dry_run"]:
        print_plan(grid, price, flags["as_json"])
        return ANSWER
    if flags["out"] is None:
        raise UsageError("a bench needs --out DIR for its rows and traces (or --dry-run)")

    def say(text: str) -> None:
        if not flags["quiet"]:
            click.echo(plain(text), err=True)

    if replaced := sum(map(len, grid.overrides.values())):
        say(f"golds that are overridden: {replaced:,}; they and the reasons are kept in bench.json")
    command = mask(shlex.join(["branchwise", *arguments()]))
    servers = server_names(grid.spec)
    with Desk(
        grid, flags["out"], command=command, servers=servers, force=flags["force"], retry_failed=flags["retry_failed"], notice=say
    ) as desk:
        stop, empty = asyncio.run(_run(desk, flags, price, say, command))
        counts = desk.counts()
        told = summary(desk)
    click.echo(document(told) if flags["as_json"] else _text(told, flags["out"]))
    if stop and not empty:
        click.echo("interrupted; what is done is kept, and the same command goes on", err=True)
        return INTERRUPTED
    if counts["missing"]:
        left = f"{plural(counts['missing'], 'unit')} {'is' if counts['missing'] == 1 else 'are'}"
        reason = f"the limit of {empty} of the whole" if empty else "a limit of the whole"
        click.echo(f"{reason} is reached: {left} left; the same command with a larger one goes on", err=True)
        return NO_ANSWER
    return FAILED if any(row.status == "failed" for row in desk.done.values()) else ANSWER


def _check_prices(grid: Grid, flags: Mapping[str, Any], price: Callable[..., Any]) -> None:
    """A limit in dollars needs known prices; refused before anything is paid."""
    equal = grid.spec.equal
    by_cost = grid.spec.budget.cost is not None or "cost" in total_of(flags) or (equal is not None and equal.by == "cost")
    for route in {unit.route.label: unit.route for unit in grid.units}.values() if by_cost else ():
        found = price(route)
        if found is None or (isinstance(found, dict) and None in found.values()):
            raise UsageError(f"a limit in dollars needs a known price: that of {route.label} is not in the price table; give --prices FILE")
        if equal is not None and equal.by == "cost" and not isinstance(found, dict) and not (found.prompt or found.completion):
            raise UsageError(f"calls of {route.label} cost nothing, so dollars cannot be made equal; use --equal tokens")


async def _run(
    desk: Desk, flags: Mapping[str, Any], price: Callable[..., Any], say: Callable[[str], None], command: str
) -> tuple[bool, str]:
    """Whether it was stopped, and the limit of the whole that is used up."""
    total = total_of(flags)
    limits = Budget(**{name: value for name, value in total.items() if name != "seconds"})  # type: ignore[arg-type]
    rates = {name: _rate(flags[f"{name}_per_minute"]) for name in ("calls", "tokens")}
    stop = Stop()
    parallel: int = flags["parallel"] or 8
    jobs: int = min(flags["jobs"] or parallel, max(1, len(desk.grid.units)))
    bar = PullBar("the model", say)
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        bar.broken.set()
        loop.call_soon_threadsafe(stop.now)

    try:
        with interruptible(interrupt):
            if flags["ray"] is not None:
                from branchwise.cli.bench_ray import run_on_ray

                return await run_on_ray(
                    desk, flags, limits, rates, price, jobs=jobs, parallel=parallel, seconds=total.get("seconds"), stop=stop, say=say,
                    command=command,
                )  # fmt: skip
            purse = desk.purse(limits, calls_per_minute=rates["calls"], tokens_per_minute=rates["tokens"])
            live = Live(desk, say, lambda: purse.spent, quiet=flags["quiet"])
            opened = opener(
                desk.grid.spec, purse, price, lambda: drain(stop), parallel=parallel, key_file=flags["key_file"], say=say, bar=bar
            )
            async with live.shown():
                await run_here(
                    desk, opened, price, jobs=jobs, parallel=parallel, stop=stop, seconds=total.get("seconds"),
                    events=Events(live.row, say), command=command, retry=retry_policy(flags),
                )  # fmt: skip
            live.close()
    except Interrupted:
        raise KeyboardInterrupt from None
    timed = "seconds" in total and stop.asked and not purse.empty and live.elapsed >= total["seconds"]
    return stop.asked, purse.empty or ("seconds" if timed else "")


def _rate(given: Any) -> float | None:
    return None if given in (None, "none") else float(given)


def _text(told: Mapping[str, Any], folder: Path) -> str:
    lines = [f"{plural(told['units'], 'unit')}: " + ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in told["rows"].items() if count)]
    lines += [
        f"  {one['task']:<12} {one['method']:<24} {one['model']:<24} {one['mean_score']:.3f} mean score of {plural(one['rows'], 'row')}, "
        f"{one['tokens']:,.0f} tokens a unit"
        for one in told["cells"]
    ]
    return "\n".join([*lines, f"Rows: {folder}"])
