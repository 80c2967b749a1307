"""The application: routes of the API and of the page, behind the guards. Knows no search."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from branchwise.server.runs import Runs

__all__ = ["build", "page_routes"]


def page_routes(runs: Runs) -> list[BaseRoute]:
    """The routes of the viewer, where it is installed."""
    try:
        viewer = importlib.import_module("branchwise.server.viewer")
    except ModuleNotFoundError:
        return []
    found: list[BaseRoute] = viewer.routes(runs)
    return found


def build(runs: Runs, more: Sequence[BaseRoute] = ()) -> Starlette:
    """The application over the traces of `runs`."""
    return Starlette(routes=[*more, *page_routes(runs)])
