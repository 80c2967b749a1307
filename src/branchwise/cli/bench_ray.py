"""`branchwise bench run --ray`: the same rows from a cluster. Holds no unit's logic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from branchwise.bench.desk import Desk
from branchwise.budget import Budget
from branchwise.errors import UsageError
from branchwise.solve import Stop

__all__ = ["run_on_ray"]


async def run_on_ray(
    desk: Desk, flags: Mapping[str, Any], limits: Budget, rates: Mapping[str, float | None], price: Callable[..., Any], *, jobs: int,
    parallel: int, stop: Stop, say: Callable[[str], None], command: str,
) -> tuple[bool, str]:  # fmt: skip
    """Run the units on the cluster. Raises `UsageError` without Ray."""
    raise UsageError("--ray is being built and cannot be used yet")
