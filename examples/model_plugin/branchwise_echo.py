"""A backend as a plug-in: `branchwise solve ... --model echo:TEXT` answers every request with TEXT. Install with `pip install .` here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from branchwise.budget import Usage
from branchwise.model.base import LanguageModel, Reply, Request, Sample


class Echo:
    """All that a backend is: a name, an identity, and one method."""

    def __init__(self, text: str) -> None:
        self.name = self.identity = f"echo:{text}"
        self._text = text

    async def sample(self, request: Request) -> Reply:
        usage = Usage(calls=1, prompt_tokens=1, completion_tokens=1)
        return Reply(tuple(Sample(self._text, usage=usage) for _ in range(request.n)), model="echo")


@asynccontextmanager
async def open_echo(target: str) -> AsyncIterator[LanguageModel]:
    """The factory that the entry point names: open connections before the yield, close them after it."""
    yield Echo(target)
