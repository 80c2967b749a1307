"""From flags to a plan: everything that can be checked before a model is opened. Knows no terminal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from branchwise.cli.asking import can_ask
from branchwise.cli.options import retry_policy
from branchwise.cli.page import arguments
from branchwise.cli.places import new_trace
from branchwise.cli.running import Plan
from branchwise.cli.settings import Settings, merge, settings_of
from branchwise.cli.text import plain
from branchwise.errors import UsageError
from branchwise.estimate import estimate
from branchwise.model.registry import parse_spec
from branchwise.model.secrets import mask
from branchwise.tasks import task
from branchwise.tasks.open import OPEN_TASK
from branchwise.thought.ask import asks

__all__ = ["about", "plan_of", "settings_from"]


def plan_of(flags: Mapping[str, Any]) -> Plan:
    """Everything checked that can be checked before the model is opened. Raises `UsageError`."""
    resume, trace = flags["resume"], flags["trace"]
    if resume is not None and trace is not None and trace != str(resume):
        raise UsageError("give either --trace for a new run or --resume for one to go on with; resuming appends to its own trace")
    settings = settings_from(flags, resume)
    problem, method = settings.make_problem(), settings.make_method()
    if asks(method.evaluate) and parse_spec(settings.model).kind != "tape" and not can_ask():
        raise UsageError("--evaluate ask asks you for values, so standard input must be a terminal")
    worst = estimate(problem, method, budget=settings.make_budget())
    where = None if resume is not None or trace == "none" else Path(trace) if trace else new_trace()
    quiet = flags["quiet"]

    def say(text: str) -> None:
        if not quiet:
            click.echo(plain(text), err=True)

    for warning in worst.warnings:
        say(f"Note: {warning}")
    return Plan(
        settings=settings, problem=problem, method=method, price=settings.price(flags["prices"]), trace=where, resume=resume,
        key_file=flags["key_file"], cache=flags["cache"], quiet=quiet, say=say, about=about(settings),
        retry=retry_policy(flags),
    )  # fmt: skip


def settings_from(flags: Mapping[str, Any], resume: Path | None = None) -> Settings:
    """The settings that the flags name, over those of the trace that is resumed or replayed."""
    base = None
    if resume is not None:
        base = settings_of(resume)
    elif (model := flags["model"]) is not None and (spec := parse_spec(model)).kind == "tape" and flags["task"] is None:
        base = settings_of(Path(spec.target))
    settings = merge({**flags, "problem": _text(flags, resume)}, base)
    if not settings.problem:
        raise UsageError('which problem? Give its text, for example: branchwise solve "Review this design: ..."')
    return settings


def _text(flags: Mapping[str, Any], resume: Path | None) -> str | None:
    """The problem as the flags state it, with the material of --context."""
    text: str | None = flags["problem"]
    if text == "-":
        text = sys.stdin.read().strip()
    elif text is not None and text.startswith("@"):
        text = _read(Path(text[1:]), "problem").strip()
    if flags["context"] is None:
        return text
    if resume is not None:
        raise UsageError("--context belongs to the problem, which --resume takes from the trace")
    found = task(flags["task"] or OPEN_TASK.name)
    if found.material is None:
        raise UsageError(f"task {found.name} has no use for --context: its problems are stated in full")
    return found.material(text or "", _read(flags["context"], "context"))


def _read(path: Path, what: str) -> str:
    try:
        return path.expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the {what} {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None


def about(settings: Settings) -> dict[str, Any]:
    """What the trace keeps beside the run: enough to go on with it, and the command as it was given."""
    return {"settings": settings.to_json(), "command": mask(shlex.join(["branchwise", *arguments()]))}
