"""`branchwise estimate`: the worst case of a run before anything is paid. Opens no model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from branchwise.cli.faults import EXITS
from branchwise.cli.many import items_of
from branchwise.cli.options import run_options
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.settings import Settings, merge, model_name
from branchwise.cli.solving import settings_from
from branchwise.cli.text import console, document, dollars, plural, safe_text
from branchwise.estimate import Estimate, estimate
from branchwise.model.prices import Prices

__all__ = ["estimate_command"]


@click.command(
    "estimate",
    cls=CommandPage,
    short_help="The worst case of a run, before paying.",
    epilog=f"""\b
Examples:
  branchwise estimate "4 9 10 13" --task game24
  branchwise estimate "4 9 10 13" --task game24 --method tot_bfs --k 5 --breadth 3 --json
  branchwise estimate "4 9 10 13" --task game24 --model openai:gpt-4o-mini
  branchwise estimate --task game24 --items 901:910

{EXITS}""",
)
@click.argument("problem", required=False)
@run_options
@click.option("--json", "as_json", cls=Option, heading="Output", is_flag=True, help="One JSON document in place of the report.")
def estimate_command(**flags: Any) -> None:
    """Print what `branchwise solve` with the same flags can cost at the most: states, calls, tokens, dollars, and how they come about.

    No model is called and no weights are loaded. States and calls are exact where every step gives k thoughts and nothing is pruned,
    merged, dead or solved; otherwise a run costs less. Tokens are an upper bound (a prompt of n bytes is taken for n tokens, and each
    reply for as long as it may be), usually several times what a run takes. Attempts after a fault of the network come on top. A budget
    cuts the numbers where it would cut the run.
    """
    many = flags["items"] is not None or flags["input_file"] is not None
    settings = merge({**flags, "problem": None}) if many else settings_from(flags)
    texts = [item.input for item in items_of(flags, settings)] if many else [settings.problem]
    worst = [_one(settings, text, flags) for text in texts]
    dated = _dated(worst, flags["prices"])
    if flags["as_json"]:
        click.echo(document({**_document(worst, settings), "prices_date": dated}))
    else:
        _print(worst, settings, console(), dated)


def _one(settings: Settings, text: str, flags: Mapping[str, Any]) -> Estimate:
    return estimate(settings.make_problem(text), settings.make_method(), budget=settings.make_budget(), price=_price(settings, flags))


def _price(settings: Settings, flags: Mapping[str, Any]) -> Any:
    return settings.price(flags["prices"])


def _dated(worst: list[Estimate], file: Path | None) -> str | None:
    """The date of the price table; `None` where nothing was priced by it."""
    if not any(one.cost_usd for one in worst):
        return None
    return (Prices.builtin() if file is None else Prices.load(file)).date or None


def _total(worst: list[Estimate]) -> dict[str, Any]:
    names = ("states", "judged", "expansions", "calls", "prompt_tokens", "completion_tokens")
    total: dict[str, Any] = {name: sum(getattr(one, name) for one in worst) for name in names}
    costs = [one.cost_usd for one in worst]
    known = [cost for cost in costs if cost is not None]
    return total | {
        "tokens": total["prompt_tokens"] + total["completion_tokens"],
        "cost_usd": sum(known) if len(known) == len(costs) else None,
    }


def _document(worst: list[Estimate], settings: Settings) -> dict[str, Any]:
    named = {**settings.named_task, "method": settings.method, "model": model_name(settings.model), "problems": len(worst)}
    first = worst[0].to_json()
    return (
        {**named, **first}
        if len(worst) == 1
        else {**named, **_total(worst), "warnings": first["warnings"], "each": [one.to_json() for one in worst]}
    )


def _print(worst: list[Estimate], settings: Settings, out: Console, dated: str | None) -> None:
    total, first = _total(worst), worst[0]
    more = f", {len(worst):,} problems" if len(worst) > 1 else ""
    out.print(safe_text(f"Worst case of {settings.method} on {settings.task_name}{more}, model {model_name(settings.model)}:"))
    out.print(safe_text(f"  states  {total['states']:,} generated, {total['judged']:,} judged"))
    out.print(safe_text(f"  calls   {total['calls']:,}"))
    out.print(
        safe_text(
            f"  tokens  {total['tokens']:,} at the most ({total['prompt_tokens']:,} of prompts, {total['completion_tokens']:,} of replies)"
        )
    )
    note = f" (prices as of {dated}; --prices FILE for others)" if dated else ""
    if total["cost_usd"] is None:
        note = " (the price of this model is not known; give --prices FILE)"
    out.print(safe_text(f"  cost    {dollars(total['cost_usd'])}{note}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for name in ("role", "calls", "prompt tokens", "reply tokens"):
        table.add_column(name, justify="left" if name == "role" else "right", header_style="dim")
    for role, bound in first.by_role.items():
        table.add_row(role, f"{bound.calls:,}", f"{bound.prompt_tokens:,}", f"{bound.completion_tokens:,}")
    out.print(Text(f"\nBy role{' (first problem)' if more else ''}, budget left out", style="bold"))
    out.print(table)
    out.print(Text(f"\nHow it comes about{' (first problem)' if more else ''}", style="bold"))
    for formula in first.formula:
        out.print(safe_text(f"  {formula}"))
    if not first.bounded:
        is_ = "is" if total["calls"] == 1 else "are"
        out.print(safe_text(f"\nNo budget limits it. {plural(total['calls'], 'call')} {is_} the most that this method can make."))
    for warning in first.warnings:
        out.print(safe_text(f"Warning: {warning}"))
