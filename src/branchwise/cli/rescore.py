"""`branchwise rescore` and `branchwise fork`: what can be done with a finished run but going on with it."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from branchwise.budget import Budget
from branchwise.cli.asking import ask_terminal, can_ask
from branchwise.cli.faults import EXITS
from branchwise.cli.opening import opened
from branchwise.cli.page import CommandPage, Joined, Limit, Option, Parallel
from branchwise.cli.places import new_trace
from branchwise.cli.report import print_result, resume_command
from branchwise.cli.settings import Settings, settings_of
from branchwise.cli.text import console, document, plain, safe_text
from branchwise.errors import UsageError
from branchwise.fork import fork
from branchwise.methods import EVALUATORS, evaluator
from branchwise.model.person import Person
from branchwise.model.registry import FORMS
from branchwise.rescore import Rescored, rescore
from branchwise.search.pick import PICKS
from branchwise.thought.ask import asks
from branchwise.thought.likelihood import reads_alternatives

__all__ = ["fork_command", "rescore_command"]

_TRACE = click.Path(dir_okay=False, exists=True, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    "rescore",
    cls=CommandPage,
    short_help="Judge a finished tree anew.",
    epilog=f"""\b
Examples:
  branchwise rescore TRACE --evaluate score --model openai:gpt-4o-mini
  branchwise rescore TRACE --evaluate ask
  branchwise rescore TRACE --pick best_value

{EXITS}""",
)
@click.argument("trace", type=_TRACE)
@click.option("--evaluate", cls=Option, heading="Method", type=Joined(EVALUATORS),
              help="Who judges the thoughts now, as for solve; check+value is the mean of both.  [default: nobody, the old values stay]")
@click.option("--samples", cls=Option, heading="Method", type=click.IntRange(min=1), metavar="N",
              help="Judgements of one state.  [default: 1]")
@click.option("--pick", cls=Option, heading="Method", type=click.Choice(list(PICKS)),
              help="How the node that answers is chosen.  [default: that of the run]")
@click.option("--seed", cls=Option, heading="Method", type=int, metavar="N", help="Seed of the judgements.  [default: that of the run]")
@click.option("--model", cls=Option, heading="Model", metavar="SPEC", help=f"Who judges: {' | '.join(FORMS)}  [default: that of the run]")
@click.option("--key-file", cls=Option, heading="Model", type=_FILE, metavar="FILE", help="A file that holds the server's key.")
@click.option("--max-calls", cls=Option, heading="Budget", type=Limit(), metavar="N", help="Model calls at the most.  [default: none]")
@click.option("--parallel", cls=Option, heading="Budget", type=Parallel(), metavar="N", help="Model calls at once.  [default: 8]")
@click.option("--prices", cls=Option, heading="Budget", type=_FILE, metavar="FILE", help="Dollars per million tokens, as for solve.")
@click.option("--out", cls=Option, heading="Output", type=_FILE, metavar="FILE",
              help="A new trace with the tree and its new values.  [default: a file under $BRANCHWISE_HOME/runs]")
@click.option("--json", "as_json", cls=Option, heading="Output", is_flag=True, help="Print one JSON document in place of the report.")
def rescore_command(**flags: Any) -> None:
    """Run another evaluator, or another pick, over the tree in TRACE: the thoughts stay, their values are replaced.

    TRACE itself is only read. The tree with its new values, and the calls that made them, go to a new trace, with a cost of its own. What
    the run had pruned by its values can be chosen now. The written answer is kept where its path is chosen again.
    """
    settings, values = _settings(flags)
    done = asyncio.run(_rescore(flags, settings, values))
    if flags["as_json"]:
        before = None if done.before is None else {"answer": done.before.answer, "path": done.before.path}
        click.echo(document(done.result.to_json() | {"before": before, "changed": done.changed}))
        return
    out = console()
    print_result(done.result, out)
    if done.before is not None:
        said = "another path than before, which was" if done.changed else "the same path as before"
        out.print(safe_text(f"\nChosen: {said}{': ' + ' → '.join(done.before.path) if done.changed else ''}"))
    click.echo(plain(f"trace: {done.result.trace}"), err=True)


def _settings(flags: Mapping[str, Any]) -> tuple[Settings, bool]:
    """The settings of the run with the new judge, and whether it judges anew. Raises `UsageError`."""
    if flags["evaluate"] is None and flags["pick"] is None:
        raise UsageError("nothing would change: give --evaluate NAME, --pick NAME, or both")
    settings = settings_of(flags["trace"])
    name = flags["model"] or settings.models.get("evaluate", settings.model)
    if name.startswith("reward:") != (flags["evaluate"] == "reward"):
        raise UsageError("--evaluate reward and --model reward:URL go together: the endpoint gives values, and no text")
    seed = settings.seed if flags["seed"] is None else flags["seed"]
    return dataclasses.replace(settings, models={}, model=name, seed=seed), flags["evaluate"] is not None


async def _rescore(flags: Mapping[str, Any], settings: Settings, values: bool) -> Rescored:
    options = {key: value for key, value in settings.options.items() if key not in ("evaluate", "pick")}
    method = dataclasses.replace(settings, model="local", options=options).make_method()
    if values:
        method = dataclasses.replace(method, evaluate=evaluator(flags["evaluate"], flags["samples"] or 1))
    if flags["pick"] is not None:
        method = dataclasses.replace(method, pick=PICKS[flags["pick"]])
    person = values and asks(method.evaluate)
    if person and not can_ask():
        raise UsageError("--evaluate ask asks you for values, so standard input must be a terminal")
    limit = flags["max_calls"]
    budget = Budget(calls=None if limit == "none" else limit)
    about = {"settings": settings.to_json()}
    more: dict[str, Any] = {
        "out": flags["out"] or new_trace(), "values": values, "budget": budget, "seed": settings.seed, "parallel": flags["parallel"] or 8,
        "price": settings.price(flags["prices"]), "about": about,
    }  # fmt: skip
    problem, trace = settings.make_problem(), flags["trace"]
    if person:
        return await rescore(trace, problem, method, Person(ask_terminal), **more)
    name = settings.model if values else f"tape:{trace}"
    alternatives = reads_alternatives(method.evaluate)
    async with opened(name, parallel=more["parallel"], key_file=flags["key_file"], say=_say, alternatives=alternatives) as model:
        return await rescore(trace, problem, method, model, **more)


def _say(text: str) -> None:
    click.echo(plain(text), err=True)


@click.command(
    "fork",
    cls=CommandPage,
    short_help="Begin a second run from a first.",
    epilog=f"""\b
Examples:
  branchwise fork TRACE --out other.jsonl
  branchwise fork TRACE --out other.jsonl --at 40 --seed 7
  branchwise solve --resume other.jsonl --max-nodes 30

{EXITS}""",
)
@click.argument("trace", type=_TRACE)
@click.option("--out", cls=Option, heading="Output", type=_FILE, metavar="FILE", required=True, help="The new trace.")
@click.option("--at", cls=Option, heading="Method", type=click.IntRange(min=1), metavar="EVENT",
              help="The last event that is taken over, counted from 1: a line of TRACE.  [default: all]")
@click.option("--seed", cls=Option, heading="Method", type=int, metavar="N",
              help="Seed of what comes after the replies that are taken over.  [default: that of the run]")
def fork_command(trace: Path, out: Path, at: int | None, seed: int | None) -> None:
    """Copy the replies of the run in TRACE, up to an event, into a new trace, to go on from there with another budget or seed.

    TRACE itself is only read. What was copied is replayed free of charge by `branchwise solve --resume`. To go on with TRACE itself, no
    fork is needed: branchwise solve --resume TRACE --max-nodes N.
    """
    copied = fork(trace, out, seed=seed, at=at, notice=_say)
    click.echo(plain(f"{copied} replies copied to {out}"))
    click.echo(plain(f"go on with: {resume_command(out)}"))
