"""What the server was started with: limits, tasks, folder. Fixed from then on; no request changes it. Knows no HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from branchwise.budget import Budget
from branchwise.model.layers.retrying import RetryPolicy
from branchwise.tasks import TASKS, Task
from branchwise.tasks.open import OPEN_TASK

__all__ = ["CEILINGS", "Config"]

CEILINGS: Mapping[str, int] = {
    "k": 64, "samples": 64, "breadth": 64, "depth": 64, "rounds": 64, "child_limit": 64, "shots": 64, "window": 64, "rollouts": 1_000,
    "patience": 1_000, "max_steps": 10_000, "max_nodes": 100_000, "max_tokens": 32_768, "generate_max_tokens": 32_768,
    "evaluate_max_tokens": 32_768, "answer_max_tokens": 32_768,
}  # fmt: skip
"""The most that a request may set each of these to, whatever its budget is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """One server. Every default is stated in docs/server.md."""

    tasks: Mapping[str, Task] = field(default_factory=lambda: dict(TASKS))
    """By the name that a request gives; a request can name no other, and no file."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The file of each task that one describes."""
    task: str = OPEN_TASK.name
    """The task of a model name that names none."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Settings of every search, below those of a request."""
    role_models: Mapping[str, str] = field(default_factory=dict)
    """Names of other models by role (evaluate, answer), for methods that have calls of that role."""
    budget: Budget = field(default_factory=lambda: Budget(calls=400, seconds=600))
    """The limits of one request: its default and its ceiling."""
    searches: int = 4
    """Searches at once."""
    queue: int = 64
    """Searches of one key that wait."""
    parallel: int = 8
    """Model calls at once, of all searches together."""
    choices: int = 8
    """The largest n."""
    body: int = 1 << 18
    """Bytes of a request's body."""
    hosts: frozenset[str] = frozenset({"localhost", "127.0.0.1", "::1"})
    """Host names that requests may carry; where a token is needed, also any address in numbers."""
    origins: frozenset[str] = frozenset()
    """Pages of other origins that may call, such as http://localhost:3000."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    """How a model call is tried again."""
    grace: float = 20.0
    """Seconds that requests have to end when the server stops."""
