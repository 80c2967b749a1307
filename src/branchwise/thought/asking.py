"""What every generator and evaluator does alike: settings of a call, rendering, asking. Knows no search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Message, Reply, Request
from branchwise.problem import Problem, State, fields
from branchwise.thought.base import Size
from branchwise.thought.prompts import prompt_for

__all__ = ["BYTES_PER_TOKEN", "MOST", "Sampling", "ask", "ask_bound", "render"]

BYTES_PER_TOKEN = 8
"""A reply of n tokens is taken for at most 8·n bytes; a longer one is dropped with that reason, so that worst cases hold."""

MOST = 10_000
"""The most thoughts, samples or votes of one step: more would fill the memory before the first call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How a role's replies are drawn."""

    temperature: float = 0.7
    """At least 0; 0.7 as in Yao et al. 2023."""
    max_tokens: int = 1024
    """Limit of one reply, in tokens; at least 1."""
    stop: tuple[str, ...] = ()
    """Strings at which a reply ends."""

    def __post_init__(self) -> None:
        if self.temperature < 0 or self.max_tokens < 1:
            raise UsageError(f"a temperature of {self.temperature} and {self.max_tokens} tokens a reply make no sense: at least 0 and 1")


def render(problem: Problem, name: str, state: State, more: Mapping[str, str]) -> tuple[Message, ...]:
    """The messages of prompt `name` for `state`."""
    values = fields(problem, state)
    prompt = prompt_for(problem, name, state, marks=values)
    values.update(more)
    return prompt.render(values)


async def ask(model: LanguageModel, messages: tuple[Message, ...], n: int, role: str, sampling: Sampling) -> Reply:
    """`n` samples of one prompt."""
    return await model.sample(
        Request(messages, n, role, sampling.temperature, sampling.max_tokens, sampling.stop),
    )


def ask_bound(problem: Problem, name: str, size: Size, n: int, sampling: Sampling, choices: int = 0, extra: int = 0) -> Bound:
    """The most that `n` samples of prompt `name` on a state of `size` can spend; a backend may count the prompt once a sample.

    `choices` states are listed in it, and `extra` bytes of other model text.
    """
    prompt = prompt_for(problem, name, first=size.state == 0).tokens(problem, size, choices) + extra
    return Bound(n, n * prompt, n * sampling.max_tokens)
