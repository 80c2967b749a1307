"""`branchwise show`: the tree of a run, from its trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from branchwise.cli.ends import reason
from branchwise.cli.faults import EXITS
from branchwise.cli.kinds import MARKS, counts_line, fate, kinds_line
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.record import Record, ranked, why
from branchwise.cli.report import print_step, resume_command, spending
from branchwise.cli.text import amount, console, document, plain, plural, safe_text, shorten, value
from branchwise.cli.unread import unread_line
from branchwise.errors import UsageError
from branchwise.tree import Node

__all__ = ["show_command"]

_FEW = 12
_WIDTH = 200


@click.command(
    "show",
    cls=CommandPage,
    short_help="Show the tree of a run from its trace.",
    epilog=f"""\b
Examples:
  branchwise show run.jsonl
  branchwise show run.jsonl --all | less
  branchwise show run.jsonl --json | python -m json.tool
  branchwise show run.jsonl --html run.html

{EXITS}""",
)
@click.argument("trace", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--all",
    "everything",
    is_flag=True,
    cls=Option,
    heading="Output",
    help=f"Every thought, and the text of those dropped or merged.  [default: the best {_FEW} of a level]",
)
@click.option(
    "--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document with everything, in place of the report."
)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", cls=Option, heading="Output",
    help="Write the page of `branchwise view` with this run in it, as one file that needs nothing else and loads nothing.",
)
def show_command(trace: Path, everything: bool, as_json: bool, html: Path | None) -> None:
    """Show how a run went: TRACE is the file that `solve` names when it ends.

    For each step of the search: the thoughts, each with its value in [0, 1] and the single judgements that made it (? gave no
    value: it could not be read, or a rollout ended without a verdict), and what became of it. Then the path of the answer, what
    was spent by role, and why it ended.
    Unfinished traces, and those cut off by a kill, are shown as far as they go.

    \b
    Marks:  = on the path of the answer   * proven    + kept    - pruned, with the reason
            x dead (rejected by the task's rules)     . not decided yet
    """
    record = Record.read(trace)
    for notice in record.notices:
        click.echo(f"Note: {shorten(notice, 500)}", err=True)
    if html is not None:
        _write_page(trace, html)
        return
    out = console()
    if as_json:
        click.echo(document(record.to_json()))
        return
    _head(record, out)
    _levels(record, out, everything)
    _acts(record, out)
    if everything:
        _lost(record, out)
    _tail(record, out)


def _write_page(trace: Path, html: Path) -> None:
    from branchwise.server.viewer.single import single_page

    text = single_page(trace).encode("utf-8", "replace")
    try:
        if html.exists() and not html.read_bytes()[:15].lower().startswith(b"<!doctype html"):
            raise UsageError(f"{html} is there and is no page; name another file with --html")
        html.write_bytes(text)
    except OSError as error:
        raise UsageError(f"cannot write {html}: {error.strerror}; name another file with --html") from error
    click.echo(plain(f"wrote {html} ({len(text):,} bytes); open it in any browser"), err=True)


def _head(record: Record, out: Console) -> None:
    start = record.starts[-1]
    run, about = start.run, start.about
    settings = about.get("settings", {})
    task = f" of task {settings.get('task_name', settings['task'])}" if isinstance(settings, dict) and "task" in settings else ""
    out.print(Text("Problem: ", style="bold") + safe_text(f"{shorten(_get(run, 'problem', 'prompt'), _WIDTH)}{task}"))
    out.print(safe_text(f"Method {_get(run, 'method', 'name')}, model {about.get('model') or run.get('model')}, seed {run.get('seed')}."))
    limits = ", ".join(f"{name} {amount(limit)}" for name, limit in about.get("budget", {}).items()) or "none"
    out.print(safe_text(f"Budget: {limits}. Parallel: {about.get('parallel', '?')}."))
    if len(record.starts) > 1:
        out.print(safe_text(f"Started {len(record.starts)} times (resumed); the tree is that of the last."))


def _get(run: dict[str, Any], key: str, inner: str) -> str:
    found = run.get(key)
    return str(found.get(inner, "?")) if isinstance(found, dict) else str(found)


def _levels(record: Record, out: Console, everything: bool) -> None:
    node = record.answer_node
    on_path = {part.birth for part in node.path} if node else set()
    for depth, level in enumerate(record.levels(), 1):
        words: dict[str, int] = {}
        for one in level:
            words[fate(one)] = words.get(fate(one), 0) + 1
        out.print(
            Text(f"\nStep {depth}: {plural(len(level), 'thought')}", style="bold")
            + Text(f" ({kinds_line(words)})")
        )
        shown = ranked(level, on_path)
        if not everything and len(shown) > _FEW:
            shown = shown[: max(_FEW, sum(one.birth in on_path for one in shown))]
        for one in shown:
            _candidate(one, one.birth in on_path, out, everything)
        if len(shown) < len(level):
            out.print(Text(f"    … {len(level) - len(shown):,} more (--all)", style="dim"))


def _candidate(node: Node, on_path: bool, out: Console, everything: bool) -> None:
    mark, style = MARKS[fate(node)]
    thought = shorten(node.thought, 10_000 if everything else _WIDTH)
    head = f"  {'=' if on_path else mark} {node.label:<8} {value(node.value):>6}{_samples(node)}  "
    notes = [
        why(node),
        f"{node.arrivals - 1} equal merged into it" if node.arrivals > 1 else "",
        "written by the answering call" if node.role == "answer" else "",
    ]
    note = "; ".join(shorten(text, _WIDTH) for text in notes if text)
    out.print(Text(head) + safe_text(thought, "bold" if on_path else style) + Text(f"   [{note}]" if note else "", style="dim"))


def _samples(node: Node) -> str:
    return f" ({' '.join(map(value, node.samples))})" if len(node.samples) > 1 or None in node.samples else ""


def _acts(record: Record, out: Console) -> None:
    """What people did to the run."""
    if record.acts:
        out.print(Text(f"\nActs of a person: {len(record.acts):,}", style="bold"))
    for act in record.acts:
        where = "" if act.node is None else f" {act.label or 'the root'}"
        more = ", ".join(f"{name} {amount(limit)}" for name, limit in act.budget.items())
        said = f": {shorten(act.text, _WIDTH)}" if act.text else f" to {more}" if more else ""
        ended = f"   [{plural(len(act.dropped), 'step')} in flight ended]" if act.dropped else ""
        by = f" by {act.by}" if act.by else ""
        out.print(safe_text(f"  after step {act.after:<4} {act.act.replace('_', ' ')}{where}{by}{said}{ended}"))


def _lost(record: Record, out: Console) -> None:
    nodes = record.tree.nodes
    for title, rows in (
        ("Dropped", [(nodes[birth].label, text, because) for birth, text, because in record.tree.dropped]),
        ("Merged", [(nodes[birth].label, text, f"equal to {nodes[into].label}") for birth, text, into in record.merged]),
        ("Failed steps", [(nodes[birth].label, "", error) for birth, error in record.failures]),
    ):
        if rows:
            out.print(Text(f"\n{title}: {len(rows):,}", style="bold"))
        for label, text, because in rows:
            out.print(safe_text(f"  below {label or 'the root'}: {shorten(text, _WIDTH)}   [{shorten(because, _WIDTH)}]"))


def _tail(record: Record, out: Console) -> None:
    node, end = record.answer_node, record.end
    if node is not None and node.path:
        out.print(Text("\nPath of the answer", style="bold"))
        for number, step in enumerate(node.path, 1):
            print_step(number, step, out)
    out.print(safe_text(f"\nThoughts: {counts_line(record.tree)}"))
    if unread := unread_line(record.tree):
        out.print(safe_text(unread))
    if record.failures:
        out.print(safe_text(f"Failed steps: {len(record.failures):,}, the last: {shorten(record.failures[-1][1], _WIDTH)}"))
    out.print(Text("\nSpent" if end is not None and "by_role" in end.usage else "\nSpent (recomputed from the replies)", style="bold"))
    out.print(spending(record.by_role, record.usage))
    for warning in record.warnings:
        out.print(safe_text(f"Note: {warning}"))
    if end is None:
        out.print(safe_text(f"\nNot finished. Go on: {resume_command(record.path)}"))
        return
    before = f" (earlier: {', '.join(stop.reason for stop in record.stops[:-1])})" if len(record.stops) > 1 else ""
    out.print(Text("\nAnswer: ", style="bold") + safe_text(end.answer or "none", "bold green" if end.solved else ""))
    solved = {True: "yes", False: "no", None: "not known"}[end.solved]
    why = reason(end.reason, _get(record.starts[-1].run, "method", "name"), end.answer is not None)
    out.print(safe_text(f"Solved: {solved}. Stopped: {end.reason} ({why}){before}."))
    if end.error:
        out.print(safe_text(f"Error: {end.error}"))
