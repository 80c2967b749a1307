"""The routes of the page: its files, and what it reads of runs. All GET, all read-only; knows no model, and no key but by its name.

Where tokens are needed, a key reads the runs that were started with it; all others are for it as if they were not there.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from branchwise.errors import UnknownName
from branchwise.server.runs import Runs
from branchwise.server.viewer.files import asset, scripts
from branchwise.server.viewer.follow import begins, follow, line_at
from branchwise.server.viewer.listing import Listing

__all__ = ["POLICY", "page_routes"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline and nothing from elsewhere: model text that became markup by a mistake of ours could still run nothing."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def page_routes(runs: Runs) -> list[BaseRoute]:
    """`/`, `/viewer/NAME`, `/runs`, `/runs/ID/events` and `/runs/ID/lines/BYTE`."""
    listing = Listing(runs)

    async def page(request: Request) -> Response:
        return _file("page.html")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        return _file(name) if name in (*scripts(), "page.css") else _error(404, "there is no such file")

    async def listed(request: Request) -> Response:
        return JSONResponse({"runs": await asyncio.to_thread(listing.read, request.state.key)}, headers=HEADERS)

    async def events(request: Request) -> Response:
        found = await asyncio.to_thread(_place, runs, request, request.query_params.get("from", "0"))
        if isinstance(found, Response):
            return found
        return StreamingResponse(follow(runs, request.path_params["id"], found[1]), media_type="application/x-ndjson", headers=HEADERS)

    async def line(request: Request) -> Response:
        found = await asyncio.to_thread(_place, runs, request, request.path_params["at"])
        if isinstance(found, Response):
            return found
        text = await asyncio.to_thread(line_at, *found)
        return _error(404, "no event begins there") if text is None else Response(text, media_type="application/json", headers=HEADERS)

    return [
        Route("/", page),
        Route("/viewer/{name}", static),
        Route("/runs", listed),
        Route("/runs/{id}/events", events),
        Route("/runs/{id}/lines/{at}", line),
    ]


def _place(runs: Runs, request: Request, at: str) -> tuple[Path, int] | Response:
    """The trace and the byte in it, or the reply that refuses them. A file that is no trace, and a run of another key, are not there."""
    id = request.path_params["id"]
    try:
        trace = runs.path(id)
    except UnknownName:
        trace = None
    if trace is None or not runs.is_shown(id, request.state.key):
        return _error(404, "there is no such run")
    if not (at.isascii() and at.isdecimal() and len(at) < 17):
        return _error(400, "a place in a trace is a number of bytes")
    byte = int(at)
    if byte and not (trace.is_file() and begins(trace, byte)):
        return _error(409, "no line of this trace begins there: the trace was replaced")
    return trace, byte


def _file(name: str) -> Response:
    return Response(asset(name), media_type=_TYPES[name.rpartition(".")[2]], headers=HEADERS)


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": {"message": message}}, status, headers=HEADERS)
