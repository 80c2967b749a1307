"""What a language model is to the rest: one method, typed outcomes. Knows no provider, no budget and no tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, Protocol

from branchwise.budget import Usage
from branchwise.records import record

__all__ = ["CallId", "LanguageModel", "Message", "Outcome", "Reply", "Request", "Role", "Sample", "fingerprint", "identity_of"]


class Outcome(StrEnum):
    """How one sample ended. Only `ok` and `length` carry content that may become a thought."""

    OK = "ok"
    LENGTH = "length"
    TRUNCATED_IN_REASONING = "truncated_in_reasoning"
    FILTERED = "filtered"
    EMPTY = "empty"
    REFUSED = "refused"
    INVALID = "invalid"


Role = Literal["system", "user", "assistant"]
"""Who speaks a message."""


@record(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: str


@record(frozen=True, slots=True)
class CallId:
    """Where in a run a request stands; the same in every run of the same tree, whatever the latency.

    `node` names the node by its child indexes ("0.2"), `occurrence` counts the steps issued on it, `digest` is the fingerprint of the
    request and `repeat` counts equal requests within one step.
    """

    node: str
    occurrence: int
    role: str
    digest: str
    repeat: int = 0

    def __str__(self) -> str:
        node = self.node or "root"
        return f"{self.role} at {node} (step {self.occurrence}, prompt {self.digest}, repeat {self.repeat})"


@record(frozen=True, slots=True)
class Request:
    """`n` samples of one prompt. Units: `max_tokens` in tokens of one reply; `temperature` >= 0."""

    messages: tuple[Message, ...]
    n: int = 1
    role: str = "generate"
    temperature: float = 0.7
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()
    schema: dict[str, Any] | None = field(default=None, hash=False)
    choices: tuple[str, ...] = ()
    logprobs: int = 0
    seeds: tuple[int, ...] = ()
    """One seed a sample, filled in by the Seeded layer; empty asks for the backend's own randomness."""
    first: int = 0
    """Index of the first of the `n` samples: 3 where samples 0 to 2 are had already."""
    id: CallId | None = None
    step: int | None = None
    """The engine's step that this request belongs to, for the accounts."""
    free: bool = False
    """Nobody is paid for the reply (a person gives it): no budget stands in its way."""
    firm: bool = False
    """`max_tokens` is a share of the run's tokens: no attempt may ask for more."""
    lost: Sample | None = None
    """A first reply that is had and paid for, and cannot be used: only the second try is to be made."""


@record(frozen=True, slots=True)
class Sample:
    """One reply text. `text` is content only: reasoning is kept apart and never becomes a thought.

    `usage` is this sample's share of its request: one call, an even share of the completion tokens; the first sample of a request carries the
    prompt tokens and the request itself. `finish` is the raw finish reason. `logprobs` is a list, a token each, of
    {token: log-probability}.
    """

    text: str
    outcome: Outcome = Outcome.OK
    reasoning: str = ""
    finish: str = ""
    usage: Usage = Usage(calls=1)
    logprobs: tuple[dict[str, float], ...] | None = None
    error: str = ""

    def costing(self, usage: Usage) -> Sample:
        """The same sample with other accounts."""
        return Sample(self.text, self.outcome, self.reasoning, self.finish, usage, self.logprobs, self.error)

    @property
    def usable(self) -> bool:
        """Whether `text` may be read as a thought or a value."""
        return self.outcome in (Outcome.OK, Outcome.LENGTH) and bool(self.text.strip())


@record(frozen=True, slots=True)
class Reply:
    """The samples of one request, in order. `missing` counts those that could not be had, with the error that says why."""

    samples: tuple[Sample, ...]
    model: str = ""
    """The model as the server reported it."""
    system_fingerprint: str = ""
    missing: int = 0
    error: str = ""

    @property
    def texts(self) -> list[str]:
        """The usable texts, in order."""
        return [s.text for s in self.samples if s.usable]


class LanguageModel(Protocol):
    """Anything that can be asked for samples. Raises only errors of `branchwise.errors`."""

    @property
    def name(self) -> str:
        """The name that users give to `--model`; never holds a secret."""
        ...

    @property
    def identity(self) -> str:
        """What makes replies comparable: backend, address and model. Part of cache keys and of the resume check."""
        ...

    async def sample(self, request: Request) -> Reply:
        """`request.n` samples, in order."""
        ...


def identity_of(model: LanguageModel, role: str) -> str:
    """The identity of what serves `role`: a model that is several by role, or a layer before one, has a method of this name."""
    by_role: Callable[[str], str] | None = getattr(model, "identity_of", None)
    return model.identity if by_role is None else by_role(role)


def fingerprint(request: Request) -> str:
    """16 hexadecimal digits over everything that shapes a reply except the sample's index and seed."""
    hasher = blake2b(digest_size=8)
    for message in request.messages:
        hasher.update(f"{message.role}\0{message.content}\0".encode("utf-8", "surrogatepass"))
    hasher.update(_settings(request.temperature, request.max_tokens, request.stop, request.choices, request.logprobs))
    if request.schema is not None:
        hasher.update(repr(sorted(request.schema.items())).encode("utf-8", "surrogatepass"))
    return hasher.hexdigest()


@lru_cache(maxsize=256, typed=True)
def _settings(*settings: object) -> bytes:
    """The settings of a request as bytes; one run has few of them. Typed: 1 and 1.0 are equal, and written otherwise."""
    return repr(settings).encode("utf-8", "surrogatepass")
