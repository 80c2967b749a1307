"""A model whose replies are a function of the request, with latency, faults and short replies; and parts that need no model."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from branchwise import Evaluation, ModelError, Outcome, Proposal, Proposals, Reply, Request, Size, State, Usage
from branchwise.budget import Bound
from branchwise.model.base import Sample
from support.worlds import Drawn

Fault = Callable[[Request, int], Exception | None]
"""The error of the n-th attempt (from 0) at a request, if it is to fail."""


def request_bytes(request: Request) -> int:
    return sum(len(m.content.encode("utf-8", "replace")) for m in request.messages)


class FakeModel:
    """Counts what it is asked. `jitter` gives each request a random number of turns of the event loop to wait: latency without time.

    `greedy` spends the most that a request may: the prompt counted once a sample, every reply at its limit.
    """

    def __init__(
        self,
        text: Callable[[Request, int], str],
        *,
        jitter: int | None = None,
        turns: int = 12,
        fault: Fault | None = None,
        short: int = 0,
        greedy: bool = False,
        seconds: float = 0.0,
        log: int | None = None,
        name: str = "fake",
    ) -> None:
        self._text, self._fault, self._short, self._greedy, self._seconds, self._log = text, fault, short, greedy, seconds, log
        self._jitter = None if jitter is None else Random(jitter)
        self._turns = turns
        self.name = self.identity = name
        self.calls = self.flying = self.most = self.cancelled = 0
        self.requests: list[Request] = []
        self.samples: list[tuple[str, int]] = []
        self.tries: Counter[tuple[str, int]] = Counter()

    async def sample(self, request: Request) -> Reply:
        self.calls += request.n
        self.requests.append(request)
        self.flying += request.n
        self.most = max(self.most, self.flying)
        where = (str(request.id), request.first)
        tried, self.tries[where] = self.tries[where], self.tries[where] + 1
        for i in range(request.n):
            self.samples.append((str(request.id), request.first + i))
            if self._log is not None:
                os.write(self._log, f"{request.id}\t{request.first + i}\n".encode())
        try:
            if self._jitter is not None:
                for _ in range(self._jitter.randrange(self._turns)):
                    await asyncio.sleep(0)
            if self._seconds:
                await asyncio.sleep(self._seconds)
            error = self._fault(request, tried) if self._fault is not None else None
            if error is not None:
                raise error
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.flying -= request.n
        return self._reply(request)

    def _reply(self, request: Request) -> Reply:
        samples = []
        for i in range(max(0, request.n - self._short)):
            text = self._text(request, i)
            samples.append(Sample(text, Outcome.OK if text.strip() else Outcome.EMPTY, usage=self._usage(request, text, i)))
        return Reply(tuple(samples), self.name, missing=request.n - len(samples), error="too few" if self._short else "")

    def _usage(self, request: Request, text: str, i: int) -> Usage:
        if self._greedy:
            prompt = request_bytes(request) + 64 * len(request.messages)
            return Usage(1, int(i == 0), prompt_tokens=prompt, completion_tokens=request.max_tokens)
        prompt = request_bytes(request) // 4 if i == 0 else 0
        return Usage(1, int(i == 0), prompt_tokens=prompt, completion_tokens=min(request.max_tokens, len(text) // 4))


def silent(request: Request, i: int) -> str:
    raise ModelError(f"no call was expected: {request.role}")


@dataclass(frozen=True)
class Listed:
    """A generator that reads a drawn tree. One call a step where `asks`, none otherwise."""

    k: int = 9
    thought_bytes: int = 100

    async def __call__(self, model: object, problem: Drawn, state: State, k: int) -> Proposals:
        return Proposals(tuple(Proposal(thought) for thought in problem.children.get(state, [])[:k]))

    def bound(self, problem: object, size: Size, k: int) -> Bound:
        return Bound()


@dataclass(frozen=True)
class Known:
    """An evaluator that reads a drawn tree."""

    joint: bool = False

    async def __call__(self, model: object, problem: Drawn, states: Sequence[State]) -> list[Evaluation]:
        return [Evaluation(problem.values.get(state), (problem.values.get(state),)) for state in states]

    def bound(self, problem: object, size: Size, n: int) -> Bound:
        return Bound()


class Says:
    """A model that says these samples, in order, whatever it is asked."""

    name = identity = "says"

    def __init__(self, *samples: str | Sample) -> None:
        self.samples = [Sample(s) if isinstance(s, str) else s for s in samples]
        self.requests: list[Request] = []

    async def sample(self, request: Request) -> Reply:
        self.requests.append(request)
        return Reply(tuple(self.samples[: request.n]))
