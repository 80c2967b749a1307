"""`branchwise bench run --ray`: the same rows from a cluster. Holds no unit's logic."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any

from branchwise.bench.desk import Desk
from branchwise.bench.purse import Sum
from branchwise.bench.ray_runner import connected, run_on_cluster
from branchwise.bench.ray_worker import Job
from branchwise.bench.runner import Events
from branchwise.budget import Budget
from branchwise.cli.bench_live import Live
from branchwise.cli.options import retry_policy
from branchwise.cli.places import environment
from branchwise.errors import UsageError
from branchwise.model.registry import parse_spec
from branchwise.solve import Stop

__all__ = ["run_on_ray"]


async def run_on_ray(
    desk: Desk, flags: Mapping[str, Any], limits: Budget, rates: Mapping[str, float | None], price: Callable[..., Any], *, jobs: int,
    parallel: int, seconds: float | None, stop: Stop, say: Callable[[str], None], command: str,
) -> tuple[bool, str]:  # fmt: skip
    """Run the units on the cluster: whether it was stopped, and the limit of the whole that is used up. Raises `UsageError` without Ray."""
    spec = desk.grid.spec
    for model in spec.models:
        if any(parse_spec(server).kind == "local" for server in model.servers):
            raise UsageError("on a cluster models are servers: start one, and name it with --models http://HOST:PORT/v1#NAME")
    routes = {unit.route.label: unit.route for unit in desk.grid.units}
    keys = {name: value for name, value in environment().items() if name.endswith("_API_KEY")}
    job = Job(
        contestants={model.label: model for model in spec.models}, prices={label: price(route) for label, route in routes.items()},
        parallel=parallel, limited=bool(limits.to_json()) or any(rates.values()), command=command,
        data={task: one["sha256"][:16] for task, one in desk.grid.data.items()}, environ=keys,
        key_file=str(flags["key_file"].resolve()) if flags["key_file"] else "", retry=retry_policy(flags),
    )  # fmt: skip
    spent = [desk.spent()]
    live = Live(desk, say, lambda: spent[0], quiet=flags["quiet"])

    def totals(now: Sum) -> None:
        spent[0] = now

    with _silent(), connected(flags["ray"]) as ray:
        async with live.shown():
            empty = await run_on_cluster(
                desk, ray, job, limits, calls_per_minute=rates["calls"], tokens_per_minute=rates["tokens"], workers=flags["workers"],
                jobs=jobs, stop=stop, seconds=seconds, events=Events(live.row, say), totals=totals,
            )  # fmt: skip
    live.close()
    timed = seconds is not None and stop.asked and not empty and live.elapsed >= seconds
    return stop.asked, empty or ("seconds" if timed else "")


@contextmanager
def _silent() -> Iterator[None]:
    """Standard output is for the result; Ray writes there when a worker dies, which we tell ourselves."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield
