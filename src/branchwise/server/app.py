"""The application: routes of the API and of the page behind the guard. Knows no search."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Sequence
from types import ModuleType

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from branchwise.server.api import routes as api_routes
from branchwise.server.completions import refused
from branchwise.server.faults import Refusal
from branchwise.server.guard import TOO_LARGE, Guard
from branchwise.server.search import Service
from branchwise.server.steer import steer_route

__all__ = ["build"]


def build(service: Service, more: Sequence[BaseRoute] = (), public: Collection[str] = ()) -> Starlette:
    """The application over `service`. `more` are further routes, and `public` paths that need no token."""
    viewer = _viewer()
    page: list[BaseRoute] = [] if viewer is None else viewer.routes(service.runs)
    public = {*public, *getattr(viewer, "PUBLIC", ())}
    config = service.config
    guard = Middleware(Guard, config=config, keys=service.keys, public=public)
    layers = [guard, Middleware(RequestBodyLimitMiddleware, max_body_size=config.body)]
    if config.origins:
        cors = Middleware(
            CORSMiddleware, allow_origins=sorted(config.origins), allow_methods=["GET", "POST"], allow_headers=["Authorization", "Content-Type"]
        )  # fmt: skip
        layers.insert(0, cors)
    return Starlette(
        routes=[*api_routes(service), steer_route(service), *more, *page], middleware=layers,
        exception_handlers={HTTPException: _http_error, Exception: _fault},
    )  # fmt: skip


def _viewer() -> ModuleType | None:
    """The page, where it is installed. It has `routes(runs)`, and in `PUBLIC` the paths of files that hold nothing of a run."""
    try:
        return importlib.import_module("branchwise.server.viewer")
    except ModuleNotFoundError:
        return None


async def _http_error(request: Request, error: Exception) -> Response:
    """What the framework refuses, in the form of all errors."""
    assert isinstance(error, HTTPException)
    texts = {404: "there is nothing at this address", 405: "this address does not take that method", 413: TOO_LARGE}
    reply = refused(Refusal(error.status_code, texts.get(error.status_code, error.detail), code=f"http_{error.status_code}"))
    reply.headers.update(error.headers or {})
    return reply


async def _fault(request: Request, error: Exception) -> Response:
    """A fault in the program: the HTTP server logs it, the client is not told more."""
    reply = refused(Refusal(500, "a fault in the server; its log has the details", code="internal_error"))
    reply.headers["X-Content-Type-Options"] = "nosniff"  # this one passes by the guard
    return reply
