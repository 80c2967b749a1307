"""The page that shows runs: its files, the routes that serve it, and one self-contained file. Knows no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from branchwise.server.viewer.files import scripts

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from branchwise.server.runs import Runs

__all__ = ["PUBLIC", "routes"]

PUBLIC = ("/", "/viewer/page.css", *(f"/viewer/{name}" for name in scripts()))
"""The paths of the page's own files, which hold nothing of a run: they are served without a token, and the page then asks for one."""


def routes(runs: Runs) -> list[BaseRoute]:
    """The routes of the page over `runs`; needs the extra `server`, which `show --html` does not."""
    from branchwise.server.viewer.serving import page_routes

    return page_routes(runs)
