"""Word problems as problems: a plan, then an answer with a number at its end. Holds no answer key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from branchwise.errors import UsageError
from branchwise.tasks.base import Task, package_prompts
from branchwise.tasks.lists import listed
from branchwise.tasks.plans import PLANNED, REFUSED, SETTINGS, Planned
from branchwise.thought.parsing import final_number, show_number

__all__ = ["NUMERIC_TASKS", "number_in", "word_problem"]

_PACKAGE = "branchwise.tasks.numeric"


def number_in(text: str) -> str | None:
    """The number that a reply answers, in one spelling (`70000`, `0.5`, `1/3`); `None` where there is none."""
    value = final_number(text)
    return None if value is None else show_number(value)


def word_problem(text: str, prompts: Mapping[str, str] | None = None) -> Planned:
    """The problem `text`. Raises `UsageError` for an empty one."""
    if not text.strip():
        raise UsageError('an empty problem; give its text, for example "Ana has 3 boxes of 12 eggs and breaks 5. How many eggs are left?"')
    return Planned(text.strip(), number_in, package_prompts(_PACKAGE) if prompts is None else dict(prompts))


_SETS = {
    "gsm8k": "grade-school word problems with a number for an answer (GSM8K)",
    "gsm_hard": "the same with large numbers, so that arithmetic is hard (GSM-Hard)",
    "svamp": "short word problems with distracting numbers (SVAMP)",
}

NUMERIC_TASKS = tuple(
    Task(
        name=name,
        summary=summary,
        default_method="tot_bfs",
        methods=PLANNED,
        refused=REFUSED,
        settings=SETTINGS,
        make=word_problem,
        load=partial(listed, name, _PACKAGE),
        prompts=package_prompts(_PACKAGE),
    )
    for name, summary in _SETS.items()
)
"""A task a public set; all of them share the list of our own."""
