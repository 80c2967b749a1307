"""`branchwise doctor`: is this set-up fit for searching, and what to do where it is not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from branchwise.cli.faults import EXITS
from branchwise.cli.opening import opened
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.places import cache_file, weights_folder
from branchwise.cli.text import document, plain
from branchwise.model.doctor import Finding, examine

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
    async with opened(model, parallel=8, key_file=key_file, say=say) as ready:
        async for finding in examine(ready, cache=cache_file(), folder=weights_folder()):
            rows.append({"check": finding.check, "ok": finding.ok, "text": finding.text})
            if not quiet:
                click.echo(plain(_line(finding)))
    return rows


def _line(finding: Finding) -> str:
    return f"{_MARKS[finding.ok]}  {finding.check:<10} {finding.text}"
