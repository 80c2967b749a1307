"""From flags to a plan: everything that can be checked before a model is opened. Knows no terminal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from branchwise.cli.page import arguments
from branchwise.cli.places import new_trace
from branchwise.cli.running import Plan
from branchwise.cli.settings import Settings, merge, settings_of
from branchwise.cli.text import plain
from branchwise.errors import UsageError
from branchwise.estimate import estimate
from branchwise.model.registry import parse_spec
from branchwise.model.secrets import mask

__all__ = ["about", "plan_of", "settings_from"]


def plan_of(flags: Mapping[str, Any]) -> Plan:
    """Everything checked that can be checked before the model is opened. Raises `UsageError`."""
    resume, trace = flags["resume"], flags["trace"]
    if resume is not None and trace is not None and trace != str(resume):
        raise UsageError("give either --trace for a new run or --resume for one to go on with; resuming appends to its own trace")
    settings = settings_from(flags, resume)
    problem, method = settings.make_problem(), settings.make_method()
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
        key_file=flags["key_file"], quiet=quiet, say=say, about=about(settings),
    )  # fmt: skip


def settings_from(flags: Mapping[str, Any], resume: Path | None = None) -> Settings:
    """The settings that the flags name, over those of the trace that is resumed or replayed."""
    base = None
    if resume is not None:
        base = settings_of(resume)
    elif (model := flags["model"]) is not None and (spec := parse_spec(model)).kind == "tape" and flags["task"] is None:
        base = settings_of(Path(spec.target))
    text = sys.stdin.read().strip() if flags["problem"] == "-" else flags["problem"]
    settings = merge({**flags, "problem": text}, base)
    if not settings.problem:
        raise UsageError('which problem? Give its text, for example: branchwise solve "4 9 10 13" --task game24')
    return settings


def about(settings: Settings) -> dict[str, Any]:
    """What the trace keeps beside the run: enough to go on with it, and the command as it was given."""
    return {"settings": settings.to_json(), "command": mask(shlex.join(["branchwise", *arguments()]))}
