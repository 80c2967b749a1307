"""A person as the model of the role evaluate. Knows no terminal: the function that asks is handed in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from branchwise.budget import Usage
from branchwise.errors import Unsupported
from branchwise.model.base import Outcome, Reply, Request, Sample

__all__ = ["Person"]


class Person:
    """Shows the text of a request through `ask` and gives back what was typed; one question at a time, each free of charge.

    Behind `Routed` its replies go on the tape like any other, so that a run that is gone on with does not ask again.
    """

    name = identity = "person"

    def __init__(self, ask: Callable[[str], Awaitable[str]]) -> None:
        self._ask = ask
        self._lock = asyncio.Lock()

    async def sample(self, request: Request) -> Reply:
        """One typed line for each sample. Raises `Unsupported` for what only a model can give."""
        if not request.free:
            raise Unsupported("a person answers the evaluator ask only; a model must be asked for the rest")
        samples: list[Sample] = []
        for _ in range(request.n):
            async with self._lock:
                text = await self._ask(request.messages[-1].content)
            samples.append(Sample(text, Outcome.OK if text.strip() else Outcome.EMPTY, finish="stop", usage=Usage()))
        return Reply(tuple(samples), self.name)
