"""POST /runs/ID/steer: a person's act on a run of this process. What it does is said in docs/steering.md. Knows no search.

Whoever may use the server may steer: with tokens, the runs of its own key only. A budget is raised within what the server allows a request and
what the key has left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from branchwise.errors import TraceError, UnknownName, UsageError
from branchwise.server.completions import json_reply, refused
from branchwise.server.faults import Refusal
from branchwise.server.keys import Spent
from branchwise.server.runs import Live
from branchwise.server.search import LOG, Service

__all__ = ["steer_route"]

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "pause": (), "go_on": (), "prune": ("node",), "favour": ("node",), "add": ("node", "thought"), "approve": ("node",), "budget": ("budget",),
}  # fmt: skip
"""What each act needs, and may have, beside its name."""
_TYPES: Mapping[str, tuple[type, str]] = {
    "node": (int, "the number of a thought in its run"), "thought": (str, "a text"), "budget": (dict, "an object such as {\"calls\": 20}"),
}  # fmt: skip


def steer_route(service: Service) -> Route:
    """The route."""

    async def steer(http: Request) -> Response:
        try:
            asked = _read(await _body(http))
            live = _found(service, http)
            by = live.owner if service.keys.needed else ""
            _do(service, live, asked, by)
        except ClientDisconnect:
            return Response(status_code=499)
        except Refusal as refusal:
            return refused(refusal)
        LOG.info("run %s: %s%s", live.id, asked["act"], f" by {by}" if by else "")
        return json_reply({"run": live.id, "act": asked["act"], "paused": live.steering.paused, "live": live.steering.active})

    return Route("/runs/{id}/steer", steer, methods=["POST"])


async def _body(http: Request) -> bytes:
    if http.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "the body must be JSON, sent with Content-Type: application/json", code="invalid_content_type")
    return await http.body()


def _read(body: bytes) -> dict[str, Any]:
    """The act in a body. Raises `Refusal` (400)."""
    try:
        asked = orjson.loads(body)
    except ValueError:
        raise Refusal(400, "the body is no JSON", code="invalid_json") from None
    act = asked.get("act") if isinstance(asked, dict) else None
    if not isinstance(act, str) or act not in _FIELDS:
        raise Refusal(400, f"act is one of {', '.join(_FIELDS)}", param="act", code="invalid_value")
    for name in asked:
        if name != "act" and name not in _FIELDS[act]:
            raise Refusal(400, f"{act} has no such field", param=str(name)[:64], code="unknown_parameter")
    for name in _FIELDS[act]:
        kind, what = _TYPES[name]
        if not isinstance(asked.get(name), kind) or isinstance(asked[name], bool):
            raise Refusal(400, f"{act} needs {name}: {what}", param=name, code="invalid_value")
    return asked  # type: ignore[no-any-return]


def _found(service: Service, http: Request) -> Live:
    """The run that is meant. Raises `Refusal` (403, 404, 409)."""
    run = http.path_params["id"]
    try:
        service.runs.path(run)
    except UnknownName:
        raise Refusal(404, "there is no such run", code="unknown_run") from None
    live = service.runs.live.get(run)
    if live is None:
        raise Refusal(409, "this run is not going on in this server, so it cannot be steered", code="not_running")
    if service.keys.needed and live.owner != http.state.account.name:
        raise Refusal(403, "this run was started with another key", code="foreign_run")
    return live


def _do(service: Service, live: Live, asked: Mapping[str, Any], by: str) -> None:
    steering, act = live.steering, asked["act"]
    try:
        if act == "budget":
            _raise(service, live, asked["budget"], by)
        else:
            getattr(steering, act)(*(asked[name] for name in _FIELDS[act]), by=by)
    except TraceError as error:
        raise Refusal(500, str(error), code="trace_failed") from error
    except UsageError as error:
        raise Refusal(409, str(error), code="refused") from None


def _raise(service: Service, live: Live, more: Mapping[str, Any], by: str) -> None:
    limits = live.steering.limits(more)
    for name, limit in limits.items():
        most = getattr(service.config.budget, name)
        if most is not None and limit > most:
            raise UsageError(f"this server allows a request {most:g} {name}; whoever starts it may allow more")
    try:
        live.grow(limits)
    except Spent as spent:
        raise UsageError(f"{spent}, or is held back for other searches") from None
    live.steering.raise_budget(**more, by=by)
