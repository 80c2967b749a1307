"""The models of a bench from the command line: names checked, prices looked up, servers opened. Knows no unit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from branchwise.bench.grid import Route
from branchwise.bench.models import RoutePrice, route_opened
from branchwise.bench.purse import Till
from branchwise.bench.spec import Contestant, Spec
from branchwise.budget import Price
from branchwise.cli.opening import PullBar, opened
from branchwise.cli.settings import ROLES, model_name
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel
from branchwise.model.prices import Prices
from branchwise.model.registry import parse_spec, price_of
from branchwise.tasks import task as find_task
from branchwise.thought.likelihood import reads_alternatives

__all__ = ["check_models", "opener", "pricer", "server_names"]
def check_models(spec: Spec) -> None:
    """Refuse names that mean nothing, and models that cannot answer many problems. Raises `UsageError`."""
    for model in spec.models:
        for server in model.servers:
            if parse_spec(server).kind in ("tape", "reward"):
                raise UsageError(f"{model_name(server)} cannot answer the problems of a bench")
        if len(model.servers) > 1 and any(parse_spec(server).kind == "local" for server in model.servers):
            raise UsageError(f"model {model.label}: a model in this process is not one of several servers; give addresses")


def server_names(spec: Spec) -> dict[str, list[str]]:
    """The servers of each model by label, without passwords."""
    return {model.label: [model_name(server) for server in model.servers] for model in spec.models}


def pricer(spec: Spec, file: Path | None) -> Callable[[Route], RoutePrice]:
    """The price of a route: `None` where it is unknown; by role where models differ."""
    table = Prices.builtin() if file is None else Prices.load(file)
    by_label = {model.label: _dearest(model, table) for model in spec.models}

    def price(route: Route) -> RoutePrice:
        base = by_label[route.base]
        return {role: by_label[route.others.get(role, route.base)] for role in ROLES} if route.others else base

    return price


def _dearest(model: Contestant, table: Prices) -> Price | None:
    """That of the servers; the dearest where they differ, unknown where one is."""
    found = [price_of(server, table) for server in model.servers]
    known = [price for price in found if price is not None]
    return max(known, key=lambda price: (price.completion, price.prompt)) if len(known) == len(found) else None


def opener(
    spec: Spec, till: Till, price: Callable[[Route], RoutePrice], on_empty: Callable[[], None], *, parallel: int, key_file: Path | None,
    say: Callable[[str], None], bar: PullBar,
) -> Callable[[Route], AbstractAsyncContextManager[LanguageModel]]:  # fmt: skip
    """What `run_here` opens routes with."""
    contestants = {model.label: model for model in spec.models}
    alternatives = any(
        reads_alternatives(entry.make(find_task(task)).evaluate) for task, entries in spec.methods.items() for entry in entries
    )

    def open_one(server: str) -> AbstractAsyncContextManager[LanguageModel]:
        return opened(server, parallel=parallel, key_file=key_file, say=say, bar=bar, alternatives=alternatives)

    return lambda route: route_opened(route, contestants, open_one, till, price(route), on_empty, parallel=parallel)
