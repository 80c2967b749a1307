"""The tape: every reply of a run, by the place in the tree where it was asked for. Knows no tree.

Resume is replay that runs past the end of the tape; there is no other checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from branchwise.budget import Usage
from branchwise.errors import ContextOverflow, MissingCall, ModelError, RateLimited, TraceError, TransientError
from branchwise.model.base import CallId, Outcome, Reply, Request, Sample
from branchwise.model.parts import awaits
from branchwise.trace import Call, Event, Started, Steered, Stopped, TapedSample, read_trace

__all__ = ["Tape", "TapeModel"]


_FAULTS: dict[str, type[ModelError]] = {kind.__name__: kind for kind in (TransientError, RateLimited, ContextOverflow)}


class Tape:
    """Samples by call and index. Empty by default."""

    def __init__(self) -> None:
        self._samples: dict[tuple[CallId, int], tuple[Sample, str, str]] = {}
        self._prompts: dict[tuple[str, int, str, int], str] = {}
        self.limits: dict[tuple[str, int], int] = {}
        """Tokens of a reply that a generating step (node, occurrence) was held to: it must ask alike when it is replayed."""
        self._faults: dict[tuple[CallId, int], Call] = {}
        self.started: Started | None = None
        self.solved = False
        """Whether the run came to a proven answer: then its replay needs no call that is not here."""
        self.acts: list[Steered] = []
        """What people did to the run, in order."""
        self._repeated = 0

    def __len__(self) -> int:
        return len(self._samples)

    @classmethod
    def load(cls, path: Path, notice: Callable[[str], None] = lambda text: None) -> Tape:
        """The tape in a trace. Raises `TraceError`."""
        try:
            return cls.of(read_trace(path, notice))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise TraceError(f"{path} holds a call that cannot be read ({error}): it is not a trace of this version of Branchwise") from error

    @classmethod
    def of(cls, events: Iterable[Event]) -> Tape:
        """The tape in events; of a sample recorded twice the first counts, unless it waited for its second try."""
        tape = cls()
        for event in events:
            if isinstance(event, Call):
                tape.add(event)
            elif isinstance(event, Started):
                tape.started = tape.started or event
                tape._repeated = 0
            elif isinstance(event, Stopped):
                tape.solved = tape.solved or event.reason == "solved"
            elif isinstance(event, Steered):
                tape._steered(event)
        return tape

    def add(self, call: Call) -> None:
        """Put one call on the tape."""
        where = CallId(call.node, call.occurrence, call.role, call.digest, call.repeat)
        self._prompts[(call.node, call.occurrence, call.role, call.repeat)] = call.digest
        if call.role == "generate" and call.limit:
            self.limits.setdefault((call.node, call.occurrence), call.limit)
        if call.fault:
            self._faults[(where, call.first)] = call
        for index, taped in enumerate(call.samples, call.first):
            sample, old = _sample(taped), self._samples.get((where, index))
            if old is not None and not awaits(old[0]):
                continue
            if old is not None:
                sample = replace(sample, usage=old[0].usage + sample.usage)
            self._samples[(where, index)] = sample, call.model, call.system_fingerprint

    def _steered(self, act: Steered) -> None:
        """A run that was resumed repeats the acts before it takes new ones; a repeated one is the old one."""
        place = self._repeated
        same = (i for i in range(place, len(self.acts)) if replace(self.acts[i], dropped=()) == replace(act, dropped=()))
        found = next(same, None)
        if found is None:
            self.acts.append(act)
            found = len(self.acts) - 1
        self._repeated = found + 1

    def find(self, where: CallId, index: int) -> tuple[Sample, str, str] | None:
        """The sample, the model and the system fingerprint as recorded, or `None`."""
        return self._samples.get((where, index))

    def fault(self, where: CallId, index: int) -> ModelError | None:
        """The error that this call ended in, if it failed for good."""
        call = self._faults.get((where, index))
        return None if call is None else _FAULTS.get(call.fault, TransientError)(call.error)

    def missing(self, where: CallId, index: int) -> MissingCall:
        """The error that says which call the tape lacks, and whether its prompt has changed."""
        other = self._prompts.get((where.node, where.occurrence, where.role, where.repeat))
        why = f"; the tape has this call with another prompt or setting ({other})" if other and other != where.digest else ""
        return MissingCall(f"the tape lacks sample {index} of {where}{why}")


def _sample(taped: TapedSample) -> Sample:
    logprobs = None if taped.logprobs is None else tuple(dict(token) for token in taped.logprobs)
    usage = Usage.from_json(taped.usage)
    return Sample(taped.text, Outcome(taped.outcome), taped.reasoning, taped.finish, usage, logprobs, taped.error)


class TapeModel:
    """A recorded run as a model (`--model tape:FILE`): the same requests get the same replies, at the recorded cost, offline."""

    recorded = True

    def __init__(self, tape: Tape, path: Path) -> None:
        if tape.started is None:
            raise TraceError(f"{path} holds no run that could be replayed")
        self.tape, self.run = tape, tape.started.run
        self.name = f"tape:{path}"
        self.identity = str(self.run.get("model", self.name))

    @classmethod
    def open(cls, path: Path) -> TapeModel:
        """Read a trace. Raises `TraceError`."""
        return cls(Tape.load(path), path)

    async def sample(self, request: Request) -> Reply:
        """As recorded. Raises `MissingCall` with the name of a call that is not on the tape."""
        if request.id is None:
            raise MissingCall("a tape answers only the calls of a run")
        samples, model, system = [], "", ""
        for index in range(request.first, request.first + request.n):
            found = self.tape.find(request.id, index)
            if found is None:
                raise self.tape.fault(request.id, index) or self.tape.missing(request.id, index)
            sample, model, system = found
            samples.append(sample)
        return Reply(tuple(samples), model, system)


def taped(sample: Sample) -> TapedSample:
    """A sample as it goes on the tape."""
    usage: dict[str, Any] = sample.usage.to_json()
    return TapedSample(sample.text, sample.outcome.value, usage, sample.reasoning, sample.finish, sample.error, sample.logprobs)
