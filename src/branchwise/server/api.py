"""The routes of the OpenAI-compatible API, and those for whoever runs the server. Knows no search."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

import branchwise
from branchwise.methods import METHODS
from branchwise.server.asked import model_ids, read_name
from branchwise.server.completions import Completions, json_reply, refused
from branchwise.server.faults import Refusal
from branchwise.server.metrics import CONTENT_TYPE
from branchwise.server.schema import document
from branchwise.server.search import Service
from branchwise.tasks import Task

__all__ = ["routes"]


def routes(service: Service) -> list[BaseRoute]:
    """All of them."""
    names = {name: (task, method) for name, task, method in model_ids(service.config, service.upstreams)}
    schema = document(service.config, list(names))

    def model(name: str, task: Task, method: str) -> dict[str, Any]:
        summary = f"{METHODS[method].summary} Task {task.name}: {task.summary}."
        return {"id": name, "object": "model", "created": service.started, "owned_by": "branchwise", "description": summary}

    async def models(request: Request) -> Response:
        return json_reply({"object": "list", "data": [model(name, *found) for name, found in names.items()]})

    async def one_model(request: Request) -> Response:
        name = request.path_params["name"]
        try:
            task, method, _ = read_name(name, service.config, service.upstreams)
        except Refusal as refusal:
            return refused(refusal)
        return json_reply(model(name, service.config.tasks[task], method))

    async def health(request: Request) -> Response:
        gate = service.gate
        state = {"status": "stopping" if service.stopping else "ok", "version": branchwise.__version__}
        return json_reply(state | {"running": gate.running, "waiting": gate.waiting}, 503 if service.stopping else 200)

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.page(), media_type=CONTENT_TYPE)

    async def openapi(request: Request) -> Response:
        return json_reply(schema)

    return [
        Route("/v1/chat/completions", Completions(service).reply, methods=["POST"]),
        Route("/v1/models", models, methods=["GET"]),
        Route("/v1/models/{name:path}", one_model, methods=["GET"]),
        Route("/health", health, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]
