"""The files of the page, as they lie in the package. Knows no server."""

from __future__ import annotations

from functools import cache
from importlib import resources

__all__ = ["asset", "scripts"]


@cache
def asset(name: str) -> str:
    """The text of a file of the page."""
    return resources.files("branchwise.server.viewer").joinpath("page", name).read_text("utf-8")


@cache
def scripts() -> tuple[str, ...]:
    """The names of the page's scripts, sorted."""
    folder = resources.files("branchwise.server.viewer").joinpath("page")
    return tuple(sorted(file.name for file in folder.iterdir() if file.name.endswith(".js")))
