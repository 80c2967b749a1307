"""Splitting a request for n samples and putting replies together. Knows no backend."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from dataclasses import replace

from branchwise.budget import Usage
from branchwise.errors import ModelError
from branchwise.model.base import Reply, Request, Sample

__all__ = ["awaits", "caught", "joined", "part", "waiting", "without_mark"]

_MARK = re.compile(r"no room for a second try \((\w+)\)(?:; )?")


async def caught(asked: Awaitable[Reply]) -> Reply | ModelError:
    """A failure as a value, so that it does not cancel its siblings, which are paid for."""
    try:
        return await asked
    except ModelError as error:
        return error


def part(request: Request, at: int, n: int) -> Request:
    """Samples `at` to `at + n` of `request`, with their own seeds, as a request of its own."""
    return replace(request, n=n, first=request.first + at, seeds=request.seeds[at : at + n])


def joined(parts: Sequence[Reply | ModelError], n: int, failed: Usage | None = None) -> Reply:
    """Replies to the parts of one request of `n` samples as one reply. Raises the first error when no part succeeded.

    `failed` is what the failed parts cost; it goes to the first sample.
    """
    if len(parts) == 1 and isinstance(parts[0], Reply) and len(parts[0].samples) == n:
        return parts[0]
    replies = [p for p in parts if isinstance(p, Reply)]
    errors = [p for p in parts if isinstance(p, ModelError)]
    if not replies:
        raise errors[0]
    samples = tuple(s for r in replies for s in r.samples)
    if failed is not None and samples:
        samples = (replace(samples[0], usage=samples[0].usage + failed), *samples[1:])
    missing = n - len(samples)
    why = (str(errors[0]) if errors else next((r.error for r in replies if r.error), "")) if missing else ""
    return Reply(samples, replies[0].model, replies[0].system_fingerprint, missing, why)


def waiting(sample: Sample, limit: str) -> Sample:
    """`sample`, marked as one whose second try did not fit the budget: a run that goes on with more makes it."""
    return replace(sample, error=f"no room for a second try ({limit})" + (f"; {sample.error}" if sample.error else ""))


def awaits(sample: Sample) -> str:
    """The limit for which the second try of `sample` was not made; empty for a sample that is final."""
    found = _MARK.match(sample.error) if sample.error else None
    return found[1] if found else ""


def without_mark(sample: Sample) -> Sample:
    """`sample` as it was before `waiting`."""
    return replace(sample, error=_MARK.sub("", sample.error, count=1))
