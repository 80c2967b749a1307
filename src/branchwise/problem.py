"""What is to be solved: states, their status, and the Problem protocol. Knows no model, no search, no answer key."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, cast, runtime_checkable

__all__ = [
    "COMPLETE",
    "DUMMY",
    "OPEN",
    "SOLVED",
    "Kind",
    "Problem",
    "Rejected",
    "State",
    "Status",
    "dead",
    "field_bytes",
    "fields",
    "finished",
    "is_provable",
    "is_reversible",
    "prompts",
    "read",
    "revise",
    "rules",
    "whole",
]

State = tuple[str, ...]
"""The thoughts z1..zi from the root down (Yao et al. 2023, section 3). The root is the empty tuple."""


class Kind(StrEnum):
    """What can be said of a state without a model."""

    OPEN = "open"
    SOLVED = "solved"
    COMPLETE = "complete"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Status:
    """What a program knows of a state: OPEN, SOLVED (proven), COMPLETE (an answer, unproven) or DEAD with its reason."""

    kind: Kind
    reason: str = ""


OPEN = Status(Kind.OPEN)
SOLVED = Status(Kind.SOLVED)
COMPLETE = Status(Kind.COMPLETE)

DUMMY = "I don't know."
"""A thought that says nothing: a root for refinement, so that the model does not cling to its first answer. It never answers."""


def dead(reason: str) -> Status:
    """A state that leads nowhere, and why."""
    return Status(Kind.DEAD, reason)


class Rejected(Exception):
    """Raised by a problem's `read`: this text is not a thought here. The message is the reason that users see."""


@runtime_checkable
class Problem(Protocol):
    """A problem, as far as a search needs to know it.

    Optional attributes, read through the functions of this module:

    `reversible: bool`            can a state be restored? (default true; false refuses searches that go back)
    `provable: bool`              can `status` tell a right answer from a wrong one? (default false)
    `prompts: Mapping[str, str]`  wording by name, in place of the generic prompts; `NAME_first` is that of NAME at the root, where it differs
    `fields(state)`               more placeholder values for prompts, `Mapping[str, str]`
    `field_bytes: int`            the most by which a field can be longer than prompt and thoughts together (default 0)
    `read(state, text)`           the canonical thought in one proposed line; raises `Rejected`
    `revise(state, text)`         the same where a thought may change what earlier ones set (default: as `read`); raises `Rejected`
    `whole(state, text)`          the canonical form of a reply that is a whole answer (default: as it is); raises `Rejected`
    `finished(text)`              does a reply that was cut off at its limit hold its answer all the same? (default true; false drops it)
    `rules: str`                  more that may not change when a run is resumed, such as the patterns of `status`
    """

    @property
    def prompt(self) -> str:
        """The input x, as the model reads it."""
        ...

    def status(self, state: State) -> Status:
        """What a program knows of `state`. Never a search for the solution."""
        ...

    def key(self, state: State) -> Hashable:
        """The canonical state: equal keys are one state, and are merged."""
        ...

    def answer(self, state: State) -> str | None:
        """The normalised answer in `state`, so that answers can be counted; `None` where there is none."""
        ...


def is_reversible(problem: Problem) -> bool:
    """Whether a state can be restored after leaving it (default true)."""
    return bool(getattr(problem, "reversible", True))


def is_provable(problem: Problem) -> bool:
    """Whether `status` can tell right from wrong, so that "not solved" is a fact (default false)."""
    return bool(getattr(problem, "provable", False))


def prompts(problem: Problem) -> Mapping[str, str]:
    """The problem's own wording by prompt name (default none)."""
    return cast("Mapping[str, str]", getattr(problem, "prompts", {}))


def fields(problem: Problem, state: State) -> dict[str, str]:
    """Placeholder values for prompts: `prompt`, `thoughts` (one a line), `last`, and what the problem adds."""
    values = {"prompt": problem.prompt, "thoughts": "\n".join(state), "last": state[-1] if state else ""}
    more = getattr(problem, "fields", None)
    if more is not None:
        values.update(more(state))
    return values


def field_bytes(problem: Problem) -> int:
    """The most bytes by which a value of `fields` can exceed the prompt and all thoughts together (default 0)."""
    return int(getattr(problem, "field_bytes", 0))


def read(problem: Problem, state: State, text: str) -> str:
    """The canonical form of one proposed thought. Raises `Rejected` with the reason."""
    reader = getattr(problem, "read", None)
    return text if reader is None else cast(str, reader(state, text))


def revise(problem: Problem, state: State, text: str) -> str:
    """The canonical form of one proposed thought that may change what earlier thoughts set (default: as `read`). Raises `Rejected`."""
    reviser = getattr(problem, "revise", None)
    return read(problem, state, text) if reviser is None else cast(str, reviser(state, text))


def whole(problem: Problem, state: State, text: str) -> str:
    """The canonical form of a whole answer (default: as it is). Raises `Rejected` with the reason."""
    reader = getattr(problem, "whole", None)
    return text if reader is None else cast(str, reader(state, text))


def finished(problem: Problem, text: str) -> bool:
    """Whether a reply that was cut off at its limit holds its answer all the same (default true)."""
    judge = getattr(problem, "finished", None)
    return True if judge is None else bool(judge(text))


def rules(problem: Problem) -> str:
    """What else may not change on resume (default nothing)."""
    return str(getattr(problem, "rules", ""))
