"""Every attempt is admitted by the ledger before it starts, and charged when it ends. Knows no provider."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from branchwise.budget import Bound, Usage
from branchwise.errors import MissingCall, ModelError, OutOfBudget
from branchwise.ledger import BARRED, Ledger
from branchwise.model.base import LanguageModel, Reply, Request, Sample, identity_of

__all__ = ["Metered", "request_bound"]

MESSAGE_TOKENS = 64
"""What a chat template can add to one message: an upper bound for the templates that we know."""

_NOTHING = Bound()


def request_bound(request: Request) -> Bound:
    """The most that one attempt can spend: a prompt has no more tokens than bytes; backends may count it once a sample."""
    if request.free:
        return _NOTHING
    prompt = sum(len(m.content.encode("utf-8", "replace")) + MESSAGE_TOKENS for m in request.messages)
    return Bound(request.n, prompt * request.n, request.max_tokens * request.n)


def _attempt(request: Request, error: BaseException) -> Usage:
    """What a failed attempt cost: its calls, and the tokens of a reply that was paid for and could not be read.

    Nobody tells what a request cost that was cut off, here or in transit: it is charged an estimate, and `Ledger.cut` knows what it can have been.
    """
    if isinstance(error, ModelError):
        prompt, completion = error.spent
        return Usage(calls=request.n, requests=1, prompt_tokens=prompt, completion_tokens=completion, estimated=error.estimated)
    prompt = sum(len(m.content.encode("utf-8", "replace")) for m in request.messages) // 4
    return Usage(calls=request.n, requests=1, prompt_tokens=max(1, prompt), estimated=True)


class Metered:
    """A retry costs what it costs: each attempt is `n` calls, whether it succeeds or not."""

    def __init__(self, inner: LanguageModel, ledger: Ledger) -> None:
        self._inner, self._ledger = inner, ledger

    @property
    def name(self) -> str:
        """That of the backend."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """That of the backend."""
        return self._inner.identity

    def identity_of(self, role: str) -> str:
        """That of what serves `role`."""
        return identity_of(self._inner, role)

    async def sample(self, request: Request) -> Reply:
        """The reply, with prices. Raises `OutOfBudget` before anything is sent."""
        ledger = self._ledger
        if ledger.barred and request.step in ledger.barred:
            return await self._barred(request)
        bound = request_bound(request) if ledger.capped else _NOTHING
        ledger.admit(request.step, bound)
        try:
            reply = await self._inner.sample(request)
        except (ModelError, asyncio.CancelledError) as error:
            if isinstance(error, MissingCall):
                raise
            failed = Usage() if request.free else _attempt(request, error)
            if not isinstance(error, ModelError) or error.estimated:
                ledger.cut += request_bound(request).less(failed)
            ledger.charge(request.step, request.role, ledger.priced(failed, request.role))
            raise
        finally:
            ledger.landed(request.step, bound)
        total, changed = None, False
        samples = list(reply.samples)
        for index, sample in enumerate(samples):
            usage = ledger.priced(sample.usage, request.role)
            total = usage if total is None else total + usage
            if usage is not sample.usage:
                samples[index], changed = sample.costing(usage), True
        ledger.charge(request.step, request.role, total or Usage())
        return Reply(tuple(samples), reply.model, reply.system_fingerprint, reply.missing, reply.error) if changed else reply

    async def _barred(self, request: Request) -> Reply:
        """Nothing is sent for a step that a person ended; what a recorded run had been given before is charged again, sample by sample."""
        samples: list[Sample] = []
        ledger, reply = self._ledger, Reply(())
        while ledger.recorded and len(samples) < request.n:
            index = len(samples)
            try:
                reply = await self._inner.sample(replace(request, n=1, first=request.first + index, seeds=request.seeds[index : index + 1]))
            except MissingCall:
                break
            samples.extend(sample.costing(ledger.priced(sample.usage, request.role)) for sample in reply.samples)
            ledger.charge(request.step, request.role, samples[-1].usage)
        if len(samples) < request.n:
            raise OutOfBudget(BARRED)
        return replace(reply, samples=tuple(samples))
