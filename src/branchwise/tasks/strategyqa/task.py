"""Yes/no questions as problems: a plan, then an answer that ends with yes or no. Holds no answer key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from branchwise.errors import UsageError
from branchwise.tasks.base import Task, package_prompts
from branchwise.tasks.lists import listed
from branchwise.tasks.plans import PLANNED, REFUSED, SETTINGS, Planned
from branchwise.thought.parsing import yes_no

__all__ = ["STRATEGYQA", "question", "yes_or_no"]

_PACKAGE = "branchwise.tasks.strategyqa"


def yes_or_no(text: str) -> str | None:
    """`yes` or `no`, as a reply states at its end; `None` for neither or both."""
    said = yes_no(text)
    return None if said is None else "yes" if said else "no"


def question(text: str, prompts: Mapping[str, str] | None = None) -> Planned:
    """The question `text`. Raises `UsageError` for an empty one."""
    if not text.strip():
        raise UsageError('an empty question; give its text, for example "Would a pear sink in water?"')
    return Planned(text.strip(), yes_or_no, package_prompts(_PACKAGE) if prompts is None else dict(prompts))


STRATEGYQA = Task(
    name="strategyqa",
    summary="yes/no questions that need several facts (StrategyQA)",
    default_method="tot_bfs",
    methods=PLANNED,
    refused=REFUSED,
    settings=SETTINGS,
    make=question,
    load=partial(listed, "strategyqa", _PACKAGE),
    prompts=package_prompts(_PACKAGE),
)
