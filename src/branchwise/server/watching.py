"""What the server keeps of a search while it runs: its spending, replies that were cut, and the error that a failed one stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from branchwise.budget import Price, Usage
from branchwise.engine import Run
from branchwise.errors import ModelError
from branchwise.model.base import LanguageModel, Outcome, Reply, Request
from branchwise.server.runs import Live
from branchwise.solve import Stop
from branchwise.trace import Call, Event, Stopped

__all__ = ["Ear", "Keeping", "Watched"]


class Watched:
    """The model of one search; keeps the last error of a call, which tells what a failed search stands for."""

    def __init__(self, inner: LanguageModel) -> None:
        self._inner = inner
        self.fault: ModelError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def name(self) -> str:
        """That of the backend."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """That of the backend."""
        return self._inner.identity

    async def sample(self, request: Request) -> Reply:
        """The backend's reply."""
        try:
            return await self._inner.sample(request)
        except ModelError as error:
            self.fault = error
            raise


class Keeping(Stop):
    """A way to end a run that also keeps what broke it."""

    def __init__(self) -> None:
        super().__init__()
        self._run: Run | None = None

    def add(self, run: Run) -> None:
        """Called by `solve`."""
        self._run = run
        super().add(run)

    @property
    def raised(self) -> Exception | None:
        """The error that ended the run."""
        return None if self._run is None else self._run.raised


class Ear:
    """Listens to a search: its spending, and replies that were cut. `price` is the model's, by role where there are several."""

    def __init__(self, live: Live, also: Callable[[Event], None] | None, price: Price | Mapping[str, Price | None] | None = None) -> None:
        self._live, self._also, self._price = live, also, price
        self.usage = Usage()
        self.unsure = Usage()
        """The most that calls which were cut off in flight may have spent beyond `usage`: their server goes on for a while, and tells nobody."""
        self.cut: list[str] = []

    def __call__(self, event: Event) -> None:
        """One event."""
        if isinstance(event, Call):
            for sample in event.samples:
                self.usage += Usage.from_json(sample.usage)
                if sample.outcome == Outcome.LENGTH:
                    self.cut.append(sample.text)
        elif isinstance(event, Stopped):
            self.usage = Usage.from_json(event.usage)
            self.unsure = _at_most(event.usage.get("cut_off") or {}, self._price)
        self._live.on_event(event)
        if self._also is not None:
            self._also(event)


def _at_most(tokens: Mapping[str, int], price: Price | Mapping[str, Price | None] | None) -> Usage:
    """`tokens` at the dearest price; what they cost is unknown where one of the prices is."""
    prompt, completion = tokens.get("prompt_tokens", 0), tokens.get("completion_tokens", 0)
    if not prompt + completion:
        return Usage()
    costs = [None if one is None else one.cost(prompt, completion) for one in (price.values() if isinstance(price, Mapping) else [price])]
    known = [cost for cost in costs if cost is not None]
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cost=max(known) if len(known) == len(costs) else None, estimated=True)
