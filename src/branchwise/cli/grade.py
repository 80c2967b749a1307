"""`branchwise grade`: scores answers made elsewhere against a task's answer key."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from branchwise.bench.golds import gold_of_text
from branchwise.bench.grade import Report, grade
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.verdicts import Gold, Verdict
from branchwise.bench.judging import Mark, judge_all
from branchwise.bench.keyring import GRADED, JUDGED, checker_of, key_of
from branchwise.budget import Usage
from branchwise.cli.faults import EXITS
from branchwise.cli.opening import opened
from branchwise.cli.page import CommandPage, Option, Parallel
from branchwise.cli.places import task_data
from branchwise.cli.text import console, document, plain, plural, safe_text, shorten
from branchwise.errors import ModelError, UsageError
from branchwise.tasks import task as task_of

__all__ = ["grade_command"]

_SHOWN = 10
"""Rows of one kind that are shown to people; --json has all."""
_SCORES = {
    "letters": "mean share of the 25 letters right",
    "words": "mean share of the ten words right",
    "game": "share of whole grids right",
    "constraint": "passages whose four paragraphs end as they must",
    "coherence": "mean mark of the judge, from 1 to 10",
    "spread": "mean standard deviation of the marks of one passage",
}
_MARKS = ("coherence", "spread")


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
  branchwise grade --task crosswords results.jsonl
  branchwise grade --task writing results.jsonl --judge local

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
    "--judge", metavar="SPEC", cls=Option, heading="Judge",
    help="The model that marks passages from 1 to 10, as --model of `branchwise solve`, or none to check the constraint alone."
    "  [needed for writing only]",
)  # fmt: skip
@click.option(
    "--marks", type=click.IntRange(1, 1000), default=5, metavar="N", cls=Option, heading="Judge", help="Marks a passage.  [default: 5]"
)
@click.option("--seed", type=int, default=0, metavar="N", cls=Option, heading="Judge", help="Seed of the marks.  [default: 0]")
@click.option(
    "--parallel", type=Parallel(), default=8, metavar="N", cls=Option, heading="Judge", help="Model calls at once, or none.  [default: 8]"
)
@click.option(
    "--key-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", cls=Option, heading="Judge",
    help="A file that holds the server's key.",
)  # fmt: skip
@click.option(
    "--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document: summary, and a row for every output."
)
def grade_command(file: Path, name: str, data: Path | None, overrides: Path | None, as_json: bool, **judging: Any) -> None:
    """Score the outputs in FILE (JSON lines; - for standard input) against the answer key of a task. No model is called, but in writing.

    FILE may also be what `solve --out` wrote (its answers are scored), or a folder that `branchwise import` wrote.

    Every output is correct, wrong, no_answer, invalid_gold (the key cannot be read: left out of all shares) or failed (a broken line, or
    beyond the limits of the checker). An index counts from 1, or from 0 if a line has the index 0. Lines of one id are samples of one item.

    Crosswords: correct is a whole game; letters, words and games are given as shares. Writing: correct is a passage of four paragraphs that
    end as they must, which a program checks; how coherent it is, the judge says.
    """
    task = task_of(name)
    if task.name in JUDGED and not judging["judge"]:
        raise UsageError(
            f"task {task.name} is marked by a judge: give --judge MODEL (such as --judge local), "
            "or --judge none to check only that the paragraphs end with their sentences"
        )
    if task.name not in JUDGED and judging["judge"]:
        raise UsageError(f"task {task.name} is graded by a program, without a judge; --judge goes with {', '.join(JUDGED)}")
    with Worker() as worker:
        checker = checker_of(task.name, worker)
        report = grade(_lines(file), checker, key_of(task, task_data(task.name, data)), _overrides(overrides))
    more: dict[str, Any] = {"task": task.name, "notes": report.notes}
    if judging["judge"] not in (None, "none"):
        more |= asyncio.run(_judged(report, **judging))
    if as_json:
        click.echo(document({"summary": report.summary() | more, "items": [row.to_json() for row in report.rows]}))
    else:
        _print(report, more)
    for note in report.notes:
        click.echo(plain(f"note: {note}"), err=True)


async def _judged(report: Report, judge: str, marks: int, seed: int, parallel: int, key_file: Path | None) -> dict[str, Any]:
    """Add the marks of the judge to every passage; what the summary says of the judging."""
    places = [place for place, row in enumerate(report.rows) if row.extracted is not None]
    told = lambda text: click.echo(plain(text), err=True)  # noqa: E731
    async with opened(judge, parallel=parallel, key_file=key_file, say=told) as model:
        found = await judge_all(model, [report.rows[place].extracted or "" for place in places], samples=marks, seed=seed, parallel=parallel)
    errors = [mark for mark in found if isinstance(mark, ModelError)]
    if found and len(errors) == len(found):
        raise errors[0]
    read = {place: mark for place, mark in zip(places, found, strict=True) if isinstance(mark, Mark)}
    for place, mark in read.items():
        row = report.rows[place]
        numbers = {name: value for name, value in (("coherence", mark.mean), ("spread", mark.spread)) if value is not None}
        report.rows[place] = replace(row, scores={**row.scores, **numbers, "marks": list(mark.samples)})
    if errors:
        report.notes.append(f"{len(errors)} of {len(found)} passages have no marks: {errors[0]}")
    usage = sum((mark.usage for mark in read.values()), Usage())
    unread = sum(mark.unread for mark in read.values())
    return {"judge": {"model": judge, "passages": len(read), "marks": marks, "unread": unread, "usage": usage.to_json()}}


def _print(report: Report, more: Mapping[str, Any]) -> None:
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
    for measure, words in _SCORES.items():
        if (value := summary.get(measure)) is not None:
            text = f"{value:.2f}" if measure in _MARKS else f"{100 * value:.1f} %"
            out.print(safe_text(f"  {measure:<14}{text:>8}   {words}"))
    if (judge := more.get("judge")) is not None:
        text = f"{judge['marks']} marks of each of {plural(judge['passages'], 'passage')} by {judge['model']}, {judge['unread']} of them unread"
        out.print(safe_text(f"  {text}"))
    for verdict in (Verdict.INVALID_GOLD, Verdict.FAILED):
        _examples(out, report, verdict)


def _examples(out: Any, report: Report, verdict: Verdict) -> None:
    rows = [row for row in report.rows if row.verdict is verdict]
    for row in rows[:_SHOWN]:
        out.print(safe_text(f"  {verdict.value}: {shorten(row.id, 40)}: {shorten(row.reason, 120)}"))
    if len(rows) > _SHOWN:
        out.print(safe_text(f"  ... and {len(rows) - _SHOWN:,} more (--json has all)"))
