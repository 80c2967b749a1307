"""The page that shows runs: its files, the routes that serve it, and one self-contained file. Knows no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from branchwise.server.runs import Runs

__all__ = ["routes"]


def routes(runs: Runs) -> list[BaseRoute]:
    """The routes of the page over `runs`; needs the extra `server`, which `show --html` does not."""
    from branchwise.server.viewer.serving import page_routes

    return page_routes(runs)
