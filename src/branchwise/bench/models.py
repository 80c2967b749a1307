"""The models of a bench as routes: several servers as one, roles by label, each request paid for in advance. Knows no provider."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from branchwise.bench.balance import Balanced
from branchwise.bench.grid import Route
from branchwise.bench.purse import Pursed, Till
from branchwise.bench.spec import Contestant
from branchwise.budget import Price
from branchwise.model.base import LanguageModel
from branchwise.model.layers.limited import Limited
from branchwise.model.registry import parse_spec
from branchwise.model.routed import Routed

__all__ = ["Open", "RoutePrice", "route_opened"]

Open = Callable[[str], AbstractAsyncContextManager[LanguageModel]]
"""Opens one server by its name."""
RoutePrice = Price | Mapping[str, Price | None] | None
"""Of all roles, or by role; `None` where it is unknown."""


@asynccontextmanager
async def route_opened(
    route: Route, contestants: Mapping[str, Contestant], open_one: Open, till: Till, price: RoutePrice, on_empty: Callable[[], None], *,
    parallel: int, owner: str = "", first: int = 0,
) -> AsyncIterator[LanguageModel]:  # fmt: skip
    """The model of a route, ready for units: `parallel` calls at once, paid for at `till`. `first` is the server that is asked first."""
    async with AsyncExitStack() as stack:
        models: dict[str, LanguageModel] = {}
        for label in dict.fromkeys((route.base, *route.others.values())):
            servers = contestants[label].servers
            parts = [await stack.enter_async_context(open_one(server)) for server in servers]
            remote = len(parts) > 1 or parse_spec(servers[0]).kind == "http"
            models[label] = Balanced(label, parts, first=first) if remote else parts[0]
        roles = {role: models[label] for role, label in route.others.items()}
        model = Routed(models[route.base], roles) if roles else models[route.base]
        yield Limited(Pursed(model, till, price, on_empty, owner), parallel)
