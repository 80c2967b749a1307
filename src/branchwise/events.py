"""The events of a run, as values. Knows no file: trace.py writes and reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from branchwise.records import record

__all__ = [
    "FORMAT", "Birth", "Call", "Event", "Expanded", "Judged", "Judgement", "Mark", "Marked", "Started", "Steered", "Stopped", "TapedSample", "Warned",
]  # fmt: skip

FORMAT = 1


@record(frozen=True, slots=True)
class Started:
    """A run begins, or goes on. `run` must not change on resume (problem, method, model, seed, window); `about` may (budget, versions ...)."""

    run: dict[str, Any]
    about: dict[str, Any]
    format: int = FORMAT
    event: str = "started"


@record(frozen=True, slots=True)
class TapedSample:
    """One sample of a call, as it is needed to give it again. `usage` has the keys of `Usage.to_json`."""

    text: str
    outcome: str
    usage: dict[str, Any]
    reasoning: str = ""
    finish: str = ""
    error: str = ""
    logprobs: Sequence[dict[str, float]] | None = None


@record(frozen=True, slots=True)
class Call:
    """A reply of the model. Samples `first`, `first`+1 ... of the request that node, occurrence, role, digest and repeat name.

    A call that failed for good, retries included, has no samples but a `fault` (the kind of error) and its `error`: an offline replay fails
    alike, a resumed run asks again.
    """

    node: str
    occurrence: int
    role: str
    digest: str
    repeat: int
    first: int
    samples: Sequence[TapedSample]
    model: str = ""
    system_fingerprint: str = ""
    messages: Sequence[dict[str, str]] = ()
    seconds: float = 0.0
    fault: str = ""
    error: str = ""
    limit: int = 0
    """The most tokens of one reply that were asked for; 0 where that was not recorded."""
    event: str = "call"


@record(frozen=True, slots=True)
class Judgement:
    """The value in [0, 1] (or null: unknown) of a node, with its samples and the evaluator's reason."""

    node: int
    value: float | None
    samples: Sequence[float | None] = ()
    reason: str = ""


@record(frozen=True, slots=True)
class Birth:
    """A proposal that was read. `node` is its number in the tree, or that of the equal state which it was merged into."""

    node: int
    index: int
    thought: str
    status: str = "open"
    reason: str = ""
    confidence: float | None = None
    merged: bool = False


@record(frozen=True, slots=True)
class Expanded:
    """A node was expanded. `partial` names the limit that cut the step short; `error` says why nothing came."""

    step: int
    node: int
    births: Sequence[Birth] = ()
    dropped: Sequence[tuple[str, str]] = ()
    judgements: Sequence[Judgement] = ()
    role: str = "generate"
    final: bool = False
    wasted: int = 0
    partial: str = ""
    error: str = ""
    event: str = "expanded"


@record(frozen=True, slots=True)
class Judged:
    """Nodes were judged; a joint evaluator judges them together."""

    step: int
    judgements: Sequence[Judgement] = ()
    partial: str = ""
    error: str = ""
    event: str = "judged"


@record(frozen=True, slots=True)
class Mark:
    """What the search decided about a node: kept or pruned, and why."""

    node: int
    fate: str
    reason: str = ""


@record(frozen=True, slots=True)
class Marked:
    """Decisions of the search, after a commit."""

    marks: Sequence[Mark]
    event: str = "marked"


@record(frozen=True, slots=True)
class Warned:
    """Something that the user should know."""

    text: str
    event: str = "warned"


@record(frozen=True, slots=True)
class Steered:
    """A person's act: pause, go_on, prune, favour, add, approve or budget. It took effect after the commit of step `after` (0: before any),
    and after all steps had been issued that could be.

    A run that is resumed or replayed does it again in the same place. `dropped` are the numbers of the steps in flight that it ended: what
    they had asked for is charged, nothing of them enters the tree. A trace without acts is what it was before there were any; versions that
    know none refuse one with acts, whose tree they could not make.
    """

    act: str
    after: int
    node: int | None = None
    label: str = ""
    text: str = ""
    """The thought that was added; else the beginning of the node's own."""
    budget: dict[str, Any] = field(default_factory=dict)
    """The new limits, by name."""
    dropped: Sequence[int] = ()
    by: str = ""
    """Who, where that is known."""
    event: str = "steered"


@record(frozen=True, slots=True)
class Stopped:
    """The end of a run (until it is resumed). `node` is the one that the answer was picked from."""

    reason: str
    node: int | None = None
    answer: str | None = None
    solved: bool | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    event: str = "stopped"


Event = Started | Call | Expanded | Judged | Marked | Warned | Steered | Stopped
