"""Opens the models of a bench: several servers as one, roles by label, each request paid for in advance. Knows no unit."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from branchwise.bench.balance import Balanced
from branchwise.bench.grid import Route
from branchwise.bench.purse import Pursed, Till
from branchwise.bench.spec import Contestant, Spec
from branchwise.budget import Price
from branchwise.cli.opening import PullBar, opened
from branchwise.cli.settings import ROLES, model_name
from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel
from branchwise.model.layers.limited import Limited
from branchwise.model.prices import Prices
from branchwise.model.registry import parse_spec, price_of
from branchwise.model.routed import Routed

__all__ = ["check_models", "opener", "pricer", "server_names"]

RoutePrice = Price | dict[str, Price | None] | None


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
    servers: Mapping[str, Contestant] = {model.label: model for model in spec.models}

    @asynccontextmanager
    async def opened_route(route: Route) -> AsyncIterator[LanguageModel]:
        async with AsyncExitStack() as stack:
            models: dict[str, LanguageModel] = {}
            for label in dict.fromkeys((route.base, *route.others.values())):
                parts = [
                    await stack.enter_async_context(opened(server, parallel=parallel, key_file=key_file, say=say, bar=bar))
                    for server in servers[label].servers
                ]
                remote = len(parts) > 1 or parse_spec(servers[label].servers[0]).kind == "http"
                models[label] = Balanced(label, parts) if remote else parts[0]
            roles = {role: models[label] for role, label in route.others.items()}
            model = Routed(models[route.base], roles) if roles else models[route.base]
            yield Limited(Pursed(model, till, price(route), on_empty), parallel)

    return opened_route
