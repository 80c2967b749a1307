"""`branchwise grade`: scores answers made elsewhere against a task's answer key."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from branchwise.bench.golds import gold_of_text
from branchwise.bench.grade import Report, grade
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.verdicts import Gold, Verdict
from branchwise.bench.keyring import GRADED, checker_of, key_of
from branchwise.cli.faults import EXITS
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.places import task_data
from branchwise.cli.text import console, document, plain, safe_text, shorten
from branchwise.errors import UsageError
from branchwise.tasks import task as task_of

__all__ = ["grade_command"]

_SHOWN = 10
"""Rows of one kind that are shown to people; --json has all."""


def _lines(path: Path) -> list[str]:
    if path.is_dir():
        found = [path / name for name in ("outputs.jsonl", "results.jsonl") if (path / name).is_file()]
        if not found:
            raise UsageError(f"{path} holds no outputs.jsonl and no results.jsonl; name a file of outputs")
        path = found[0]
    try:
        text = path.read_text("utf-8", errors="replace") if str(path) != "-" else sys.stdin.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if not text.strip():
        raise UsageError(f'{path} holds no outputs; a line looks like {{"id": "7", "output": "the whole reply"}}')
    return text.split("\n")


def _overrides(path: Path | None) -> dict[str, Gold]:
    """Golds by id that replace those of the data, each with its reason. Raises `UsageError` with the line that has none."""
    found: dict[str, Gold] = {}
    for number, line in enumerate(_lines(path) if path else (), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            found[str(data["id"])] = Gold(gold_of_text(str(data["gold"])).text, note=f"overridden: {data['reason']}")
        except (ValueError, KeyError, TypeError):
            raise UsageError(f'{path}, line {number}: an override looks like {{"id": "7", "gold": "42", "reason": "why"}}') from None
    return found


@click.command(
    "grade",
    cls=CommandPage,
    short_help="Score answers made elsewhere.",
    epilog=f"""\b
Examples:
  branchwise grade --task gsm8k outputs.jsonl
  branchwise grade --task math500 outputs.jsonl --data ~/data --json

\b
A line of FILE:
  {{"id": "own-07", "output": "... So the answer is 42."}}
  {{"index": 901, "outputs": ["first sample", "second sample"]}}
  {{"output": "...", "gold": "\\\\frac{{1}}{{2}}"}}

{EXITS}""",
)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--task", "name", metavar="NAME", required=True, cls=Option, heading="Answer key", help=f"What kind of answers: {', '.join(GRADED)}."
)
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="PATH", cls=Option, heading="Answer key",
    help="The file of the public set, or a folder that holds it.  [default: BRANCHWISE_DATA if it holds the set, else the task's own list]",
)  # fmt: skip
@click.option(
    "--overrides", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", cls=Option, heading="Answer key",
    help='Golds that replace those of the data: lines of {"id": ..., "gold": ..., "reason": ...}.',
)  # fmt: skip
@click.option(
    "--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document: summary, and a row for every output."
)
def grade_command(file: Path, name: str, data: Path | None, overrides: Path | None, as_json: bool) -> None:
    """Score the outputs in FILE (JSON lines; - for standard input) against the answer key of a task. No model is called.

    FILE may also be what `solve --out` wrote (its answers are scored), or a folder that `branchwise import` wrote.

    Every output is correct, wrong, no_answer, invalid_gold (the key cannot be read: left out of all shares) or failed (a broken line, or
    beyond the limits of the checker). An index counts from 1, or from 0 if a line has the index 0. Lines of one id are samples of one item.
    """
    task = task_of(name)
    with Worker() as worker:
        checker = checker_of(task.name, worker)
        report = grade(_lines(file), checker, key_of(task, task_data(task.name, data)), _overrides(overrides))
    if as_json:
        click.echo(
            document(
                {"summary": report.summary() | {"task": task.name, "notes": report.notes}, "items": [row.to_json() for row in report.rows]}
            )
        )
    else:
        _print(report)
    for note in report.notes:
        click.echo(plain(f"note: {note}"), err=True)


def _print(report: Report) -> None:
    out, summary = console(), report.summary()
    out.print(safe_text(f"{summary['items']:,} items, {summary['outputs']:,} outputs, graded with {summary['data']}"))
    for verdict in Verdict:
        out.print(safe_text(f"  {verdict.value:<13}{summary[verdict.value]:>7,}"))
    k = summary["k"] or "all"
    told = {
        "mean_at_k": "mean share of correct outputs",
        "pass_at_k": "any output correct",
        "majority_at_k": "most frequent answer correct",
    }
    for measure, words in told.items():
        value = summary[measure]
        text = "none" if value is None else f"{100 * value:.1f} %"
        out.print(safe_text(f"  {measure:<14}{text:>8}   {words} (k = {k})"))
    for verdict in (Verdict.INVALID_GOLD, Verdict.FAILED):
        _examples(out, report, verdict)


def _examples(out: Any, report: Report, verdict: Verdict) -> None:
    rows = [row for row in report.rows if row.verdict is verdict]
    for row in rows[:_SHOWN]:
        out.print(safe_text(f"  {verdict.value}: {shorten(row.id, 40)}: {shorten(row.reason, 120)}"))
    if len(rows) > _SHOWN:
        out.print(safe_text(f"  ... and {len(rows) - _SHOWN:,} more (--json has all)"))
