"""Every error that Branchwise raises. Knows no other module.

    BranchwiseError
    ├── UsageError             a setting, flag, name or file that cannot be used; the message says what to do
    │   ├── UnknownName        no task, method, model ... of that name; nearest names offered
    │   ├── MethodError        a generator, evaluator, search or problem that do not go together
    │   ├── PromptError        a prompt file with a missing or an unknown placeholder
    │   └── TraceError         a trace that cannot be read, or does not belong to this run
    ├── ModelError             a model did not give what was asked
    │   ├── TransientError     may succeed when tried again (connection, 5xx, cut stream)
    │   │   └── RateLimited    the same, with the wait that the server asked for
    │   ├── PermanentError     will fail again (bad key, unknown model, refused parameter)
    │   │   └── ContextOverflow  the prompt is too long for the model
    │   ├── MissingCall        a tape does not hold the call that was asked for
    │   └── Unsupported        the backend lacks an ability (log-probabilities, schema ...)
    ├── WeightsError           model weights that cannot be had, or have a wrong hash
    ├── DataError              a public data set that cannot be had, or has a wrong hash
    └── OutOfBudget            internal to a run: a limit stops this call; never reaches a caller of solve()
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "BranchwiseError",
    "ContextOverflow",
    "DataError",
    "MethodError",
    "MissingCall",
    "ModelError",
    "OutOfBudget",
    "PermanentError",
    "PromptError",
    "RateLimited",
    "TraceError",
    "TransientError",
    "UnknownName",
    "Unsupported",
    "UsageError",
    "WeightsError",
    "install",
    "nearest",
]


class BranchwiseError(Exception):
    """The root of the tree above. Its message is written for the user."""


class UsageError(BranchwiseError):
    """A setting that cannot be used."""


class UnknownName(UsageError):
    """`name` is no `kind`; the message offers the nearest of `known`."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        super().__init__(f"unknown {kind} {name!r}{nearest(name, self.known)}")


class MethodError(UsageError):
    """Parts of a method that do not go together."""


class PromptError(UsageError):
    """A prompt with a missing or an unknown placeholder."""


class TraceError(UsageError):
    """A trace that cannot be read or does not fit the run."""


class ModelError(BranchwiseError):
    """A model did not give what was asked. `spent` are the prompt and reply tokens that the server charged for it nevertheless; they are
    `estimated` where a reply had begun and was cut before it said what it costs."""

    spent: tuple[int, int] = (0, 0)
    estimated: bool = False


class TransientError(ModelError):
    """May succeed when tried again."""


class RateLimited(TransientError):
    """The server asks to wait; `retry_after` is in seconds, `None` where it did not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PermanentError(ModelError):
    """Will fail again when tried again unchanged."""


class ContextOverflow(PermanentError):
    """The prompt does not fit the model's context; closes the node, not the run."""


class MissingCall(ModelError):
    """The tape lacks this call; the message names it."""


class Unsupported(ModelError):
    """The backend lacks an ability that the method needs."""


class WeightsError(BranchwiseError):
    """Weights that cannot be had, or that are not what they should be."""


class DataError(BranchwiseError):
    """A public data set that cannot be had, or that is not what it should be."""


class OutOfBudget(BranchwiseError):
    """A call that does not fit the budget. `limit` is calls, tokens, cost or seconds; `reply` is what was paid for before it, if anything."""

    def __init__(self, limit: str, reply: object = None) -> None:
        super().__init__(f"the budget is spent: {limit}")
        self.limit, self.reply = limit, reply


def install(extra: str) -> str:
    """What installs the packages of an `extra`, for the end of an error message: by name, and from a clone, where there is no package."""
    return f"pip install 'branchwise[{extra}]' (from a clone: pip install -e '.[{extra}]')"


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error message: the nearest of `known`, and all of them when they are few."""
    names = sorted(known)
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    text = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
    if names and (not close or len(names) <= 20):
        text += f"{'' if close else ';'} known: {', '.join(names)}"
    return text
