"""Replies go on the tape as they arrive, and are taken from it where it has them. Knows no provider."""

from __future__ import annotations

import time
from dataclasses import replace

from branchwise.budget import Usage
from branchwise.errors import ContextOverflow, ModelError, OutOfBudget, TransientError
from branchwise.ledger import Ledger
from branchwise.model.base import LanguageModel, Outcome, Reply, Request, Sample
from branchwise.model.layers.metered import request_bound
from branchwise.model.parts import awaits, without_mark
from branchwise.model.tape import Tape, taped
from branchwise.trace import Call, Recorder

__all__ = ["Taped"]


class Taped:
    """A sample on the tape is admitted and charged as it was recorded; the others are asked for, charged below and recorded."""

    def __init__(self, inner: LanguageModel, tape: Tape, recorder: Recorder, ledger: Ledger) -> None:
        self._inner, self._tape, self._recorder, self._ledger = inner, tape, recorder, ledger

    @property
    def name(self) -> str:
        """That of the backend."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """That of the backend."""
        return self._inner.identity

    async def sample(self, request: Request) -> Reply:
        """The samples in order, each from the tape or from the model."""
        if not len(self._tape) or request.id is None:
            return await self._live(request)
        samples: list[Sample] = []
        model = system = ""
        index, end, missing, error = request.first, request.first + request.n, 0, ""
        while index < end:
            found = self._tape.find(request.id, index)
            if found is not None:
                sample, model, system = found
                self._replay(request, sample)
                if awaits(sample):
                    sample = await self._second_try(request, index, sample)
                samples.append(sample)
                index += 1
                continue
            stop = index + 1
            while stop < end and self._tape.find(request.id, stop) is None:
                stop += 1
            offset = index - request.first
            part = replace(request, n=stop - index, first=index, seeds=request.seeds[offset : offset + stop - index])
            reply = await self._live(part)
            samples.extend(reply.samples)
            model, system = reply.model, reply.system_fingerprint
            missing, error = missing + reply.missing, reply.error or error
            index = stop
        return Reply(tuple(samples), model, system, missing, error)

    async def _second_try(self, request: Request, index: int, sample: Sample) -> Sample:
        """What comes of a sample that an earlier run had no room to ask for once more; the tape keeps what that costs beside the first."""
        offset = index - request.first
        lost = replace(without_mark(sample), usage=Usage())
        again = replace(request, n=1, first=index, seeds=request.seeds[offset : offset + 1], lost=lost)
        return (await self._live(again)).samples[0]

    def _replay(self, request: Request, sample: Sample) -> None:
        bound = request_bound(replace(request, n=1))
        self._ledger.admit(request.step, bound)
        self._ledger.landed(request.step, bound)
        self._ledger.charge(request.step, request.role, self._ledger.replayed(sample.usage, request.role))

    async def _live(self, request: Request) -> Reply:
        if self._tape.solved and request.id is not None and request.role != "answer":  # what was in flight at the end is not asked for again
            raise self._tape.fault(request.id, request.first) or OutOfBudget("closed")
        started = time.monotonic()
        try:
            reply = _whole(await self._inner.sample(request), request.n)
        except (TransientError, ContextOverflow) as error:
            self._record(request, Reply(()), started, error)
            raise
        except OutOfBudget as stop:
            if isinstance(stop.reply, Reply) and request.lost is None:  # paid for: it is kept, and a run that goes on begins from it
                self._record(request, _whole(stop.reply, len(stop.reply.samples)), started)
            raise
        for sample in reply.samples:
            if sample.usage.cached_calls:  # what a cache gave is shown, and costs nothing
                self._ledger.charge(request.step, request.role, sample.usage)
        if reply.samples:
            self._record(request, reply, started)
        return reply

    def _record(self, request: Request, reply: Reply, started: float, error: ModelError | None = None) -> None:
        where = request.id
        if where is None:
            return
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        samples = [taped(sample) for sample in reply.samples]
        seconds = round(time.monotonic() - started, 4)
        fault, why = ("", "") if error is None else (type(error).__name__, str(error))
        self._recorder.write(
            Call(
                where.node, where.occurrence, where.role, where.digest, where.repeat, request.first, samples, reply.model,
                reply.system_fingerprint, messages, seconds, fault, why,
                request.max_tokens,
            )
        )  # fmt: skip


def _whole(reply: Reply, n: int) -> Reply:
    """`reply` with a sample for each that was asked for: one that did not come is `invalid`, so that a replay lacks it too and asks for no other.

    Lone surrogates, which a broken model can produce, are replaced: they are not text in any encoding, and would not come back from the tape.
    """
    samples = reply.samples
    for sample in samples:
        if not (_is_text(sample.text) and _is_text(sample.reasoning)):
            samples = tuple(replace(one, text=_as_text(one.text), reasoning=_as_text(one.reasoning)) for one in samples)
            break
    if len(samples) < n:
        none = Sample("", Outcome.INVALID, usage=Usage(), error=reply.error or f"asked for {n} samples, got {len(samples)}")
        samples += (none,) * (n - len(samples))
    return reply if samples is reply.samples else replace(reply, samples=samples, missing=0)


def _is_text(text: str) -> bool:
    return text.isascii() or _as_text(text) == text


def _as_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
