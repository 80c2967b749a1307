"""`branchwise doctor`: is this set-up fit for searching, and what to do where it is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import click

from branchwise.cli.faults import EXITS
from branchwise.cli.opening import opened
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.places import cache_file, weights_folder
from branchwise.cli.text import document, plain
from branchwise.errors import BranchwiseError
from branchwise.model.doctor import Finding, examine, surroundings
from branchwise.model.engines import lacking
from branchwise.model.registry import ModelSpec, parse_spec

__all__ = ["doctor_command"]

_MARKS = {True: "ok  ", False: "BAD ", None: "note"}


@click.command(
    "doctor",
    cls=CommandPage,
    short_help="Check a set-up: model, samples, log-probabilities, schema, speed, cache, disk.",
    epilog=f"""\b
Examples:
  branchwise doctor
  branchwise doctor --model http://localhost:8000/v1#NAME

{EXITS}""",
)
@click.option("--model", default="local", metavar="SPEC", cls=Option, heading="Model", help="As in `branchwise solve`.  [default: local]")
@click.option("--key-file", type=click.Path(path_type=Path), metavar="FILE", cls=Option, heading="Model", help="A file that holds the server's key.")
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document in place of the lines.")
def doctor_command(model: str, key_file: Path | None, as_json: bool) -> int:
    """Ask the model about ten small things and say what it can do: is it reachable, does it give n different samples, log-probabilities,
    replies held to a schema; how fast is it, does it keep shared prompt beginnings; are the cache and the disk in order.

    Each line that is not well says what to do. The exit code is 1 when something is BAD.
    """
    found = asyncio.run(_examine(model, key_file, as_json))
    if as_json:
        click.echo(document({"model": model, "findings": found}))
    return 1 if any(row["ok"] is False for row in found) else 0


async def _examine(model: str, key_file: Path | None, quiet: bool) -> list[dict[str, Any]]:
    def say(text: str) -> None:
        click.echo(plain(text), err=True)

    rows: list[dict[str, Any]] = []
    async for finding in _findings(parse_spec(model), model, key_file, say):
        rows.append({"check": finding.check, "ok": finding.ok, "text": finding.text})
        if not quiet:
            click.echo(plain(_line(finding)))
    return rows


async def _findings(spec: ModelSpec, model: str, key_file: Path | None, say: Callable[[str], None]) -> AsyncIterator[Finding]:
    """One after the other; a model that cannot be opened is a finding, and ends the checks of its abilities alone."""
    places = {"cache": cache_file(), "folder": weights_folder()}
    async with AsyncExitStack() as stack:
        bad = _without_engine(spec)
        try:
            ready = None if bad else await stack.enter_async_context(opened(model, parallel=8, key_file=key_file, say=say))
        except BranchwiseError as error:
            ready, bad = None, Finding("model", False, str(error))
        if bad is not None:
            for finding in (bad, *surroundings(**places)):
                yield finding
        elif ready is not None:
            async for finding in examine(ready, **places):
                yield finding


def _without_engine(spec: ModelSpec) -> Finding | None:
    """Told before weights are fetched that nothing here could run."""
    missing = lacking(dict(spec.options).get("engine", "")) if spec.kind == "local" else ""
    return Finding("engine", False, missing) if missing else None


def _line(finding: Finding) -> str:
    return f"{_MARKS[finding.ok]}  {finding.check:<10} {finding.text}"
