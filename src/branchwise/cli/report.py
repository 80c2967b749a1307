"""A result for people: the answer, how it came about, what it cost, and what to do next. Knows no model."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from branchwise.budget import Usage
from branchwise.cli.compared import print_compared
from branchwise.cli.ends import reason
from branchwise.cli.kinds import counts_line
from branchwise.cli.text import dollars, line, plain, safe_text, seconds, value
from branchwise.cli.unread import unread_line
from branchwise.methods import METHODS
from branchwise.model.faults import NO_CONNECTION
from branchwise.problem import Kind
from branchwise.result import Result
from branchwise.tree import Node

__all__ = ["hint", "of_tape", "print_result", "resume_command", "spending", "tells_resume"]


def print_result(result: Result, console: Console) -> None:
    """The human form of `Result.to_json`."""
    console.print(Text("Answer: ", style="bold") + safe_text(result.answer or "none", "bold green" if result.solved else ""))
    console.print(safe_text(f"Solved: {verdict(result)}"))
    if result.confidence and result.solved is None:
        console.print(safe_text(f"Confidence: {result.confidence:.2f} (the mean value of the thoughts on the path, as they were judged)"))
    if result.node is not None and result.node.path:
        console.print(Text("\nPath", style="bold"))
        for number, node in enumerate(result.node.path, 1):
            print_step(number, node, console)
    print_compared(result, console)
    console.print(safe_text(f"\nThoughts: {counts_line(result.tree)}"))
    if unread := unread_line(result.tree):
        console.print(safe_text(unread))
    console.print(Text("\nSpent", style="bold"))
    console.print(spending(result.by_role, result.usage))
    why = reason(result.stop_reason, result.method, result.answer is not None)
    console.print(safe_text(f"\nTime: {seconds(result.seconds)}. Stopped: {result.stop_reason} ({why})."))
    console.print(safe_text(f"Method {result.method}, model {result.model}, seed {result.seed}."))
    if result.error:
        console.print(safe_text(f"{'Failed' if result.stop_reason == 'failed' else 'Last failure of a step'}: {result.error}"))
    for warning in result.warnings:
        console.print(safe_text(f"Note: {warning}"))
    if advice := hint(result):
        console.print(safe_text(f"Next: {advice}"))


def print_step(number: int, node: Node, console: Console) -> None:
    """One thought of the path with its value; a long one over several lines."""
    said = "proven" if node.status.kind is Kind.SOLVED else f"value {value(node.value)}" if node.value is not None else ""
    first, *rest = plain(node.thought).split("\n")
    console.print(Text(f"  {number}. {first}") + Text(f"   {said}" if said else "", style="dim"))
    for more in rest:
        console.print(Text(f"     {more}"))


def verdict(result: Result) -> str:
    """Whether it is solved, in words."""
    if result.solved:
        return "yes, proven by the rules of the task"
    if result.solved is None:
        return "not known: no program can tell whether this answer is right"
    if result.answer is None:
        return "no: there is no answer"
    return "no: by the rules of the task this is not a solution"


_COLUMNS = ("role", "calls", "requests", "prompt tokens", "of them cached", "reply tokens", "cost")
_WIDTH = 80
"""Columns of the narrowest terminal that a table is made for."""


def spending(by_role: Mapping[str, Usage], total: Usage) -> Table:
    """A table: a row a role, and the total; within 80 columns. Numbers that are our own estimate have a ~, which a line below explains."""
    rows = [(line(name), *_spent(usage)) for name, usage in [*sorted(by_role.items()), ("total", total)]]
    wide = sum(max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)) + 2 * (len(_COLUMNS) - 1) > _WIDTH
    table = Table(box=None, pad_edge=False, padding=(0, 1 if wide else 2, 0, 0), caption_justify="left", caption_style="dim")
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name == "role" else "right", header_style="dim", no_wrap=True)
    for row in rows:
        table.add_row(*row, style="bold" if row is rows[-1] else "")
    if total.estimated:
        table.caption = "~ our own estimate: the server did not say for every reply"
    return table


def _spent(usage: Usage) -> tuple[str, ...]:
    """Calls, requests, tokens and cost; tokens that were estimated, and a cost by them, with a ~."""
    mark = "~" if usage.estimated else ""
    cost = dollars(None if usage.cost is None else usage.cost / 1e6)
    tokens = (f"{mark}{usage.prompt_tokens:,}", f"{usage.cached_prompt_tokens:,}", f"{mark}{usage.completion_tokens:,}")
    return f"{usage.calls:,}", f"{usage.requests:,}", *tokens, f"{mark}{cost}" if usage.cost else cost


def resume_command(trace: object, more: str = "") -> str:
    """The command that goes on with a run."""
    return f"branchwise solve --resume {shlex.quote(str(trace))}{more}"


_FLAGS = {"calls": "--max-calls", "tokens": "--max-tokens-total", "cost": "--max-cost", "seconds": "--max-seconds", "nodes": "--max-nodes"}


def of_tape(result: Result) -> bool:
    """Whether a tape was the model: what it lacks it will lack again, so there is nothing to resume."""
    return result.model.startswith("tape:")


def _more_of(result: Result, limit: str) -> str:
    """The search ended by a limit of its own: where its flag can be given, the run goes on under a larger one."""
    setting = {"steps": "max_steps"}.get(limit, limit)
    found = METHODS.get(result.method)
    if found is None or setting not in found.settings:
        return "run it again with a method of more " + limit
    flag = f"--{setting.replace('_', '-')}"
    if result.trace is None:
        return f"run it again with a larger {flag}"
    return f"go on with more {limit}, paying only the difference: {resume_command(result.trace, f' {flag} N')}"


def hint(result: Result) -> str:
    """What to do next, where a run ended without a proven or complete answer."""
    kind, _, limit = result.stop_reason.partition(":")
    if result.solved or not (result.unfinished or result.solved is False):
        return ""
    if kind == "budget" and limit in _FLAGS and result.trace is not None:
        return f"go on with a larger limit, paying only the difference: {resume_command(result.trace, f' {_FLAGS[limit]} N')}"
    if kind == "budget" and limit in _FLAGS:
        return f"run it again with a larger {_FLAGS[limit]}"
    if kind == "budget":
        return _more_of(result, limit)
    if kind == "failed" and of_tape(result):
        return (
            "a tape answers only what its own run asked for: give the same problem, --task, --method, settings, --prompts and --seed "
            f"as then (branchwise show {shlex.quote(result.model.removeprefix('tape:'))} tells them), or another --model"
        )
    if kind == "failed" and result.trace is not None and NO_CONNECTION in result.error:
        return f"start the server, or check the address in --model; then go on from here: {resume_command(result.trace)}"
    if kind in ("cancelled", "failed") and result.trace is not None:
        return f"go on from here: {resume_command(result.trace)}"
    look = f"; see what was proposed and pruned: branchwise show {shlex.quote(str(result.trace))}" if result.trace is not None else ""
    if result.warnings:
        return f"see what was proposed and pruned: branchwise show {shlex.quote(str(result.trace))}" if result.trace is not None else ""
    found = METHODS.get(result.method)
    wider = [f"more --{name}, " for name in ("k", "breadth", "rounds") if found is not None and name in found.settings]
    return f"another --seed, {''.join(wider)}another --method or another --model may find it{look}"


def tells_resume(result: Result) -> bool:
    """Whether the hint of the report names the command that goes on."""
    return result.trace is not None and resume_command(result.trace) in hint(result)
