"""The API as an OpenAPI document, made from the same models that check requests. Knows no request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

import branchwise
from branchwise.cli.settings import LIMITS
from branchwise.server.asked import OWN, allowed
from branchwise.server.chat import Chat
from branchwise.server.config import CEILINGS, Config

__all__ = ["document"]

_ERRORS = {
    "400": "The request, a setting or the conversation cannot be used; `param` names the field",
    "401": "A token is needed", "403": "A foreign host name or origin", "404": "No such model, run or address",
    "409": "It cannot be done to this run now, and nothing was changed", "413": "The body is too large",
    "415": "The body is no JSON", "422": "The search ended without an answer; what it spent is told",
    "429": "The queue is full, or the key's budget is spent", "499": "The client went away", "500": "A fault in the server",
    "502": "The model behind the server failed", "503": "The server is stopping, or its model is overloaded",
}  # fmt: skip


def document(config: Config, models: Sequence[str] = ()) -> dict[str, Any]:
    """The document for a server with `config`, whose model names are `models`."""
    chat = Chat.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas = chat.pop("$defs", {})
    chat["properties"]["model"] = {"anyOf": [{"enum": list(models)}, chat["properties"]["model"]]}
    chat["properties"]["branchwise"] = {"anyOf": [_settings(config), {"type": "null"}]}
    example = {"model": next(iter(models), "io"), "messages": [{"role": "user", "content": "Should we cache the sessions?"}]}
    error = {
        "type": "object", "required": ["error"],
        "properties": {"error": {
            "type": "object", "required": ["message", "type", "param", "code"],
            "properties": {"message": {"type": "string"}, "type": {"type": "string"}, "param": _or_null("string"), "code": _or_null("string")},
        }, "branchwise": {"type": "object"}},
    }  # fmt: skip
    schemas |= {"Chat": chat, "Error": error, "Completion": _COMPLETION, "Models": _MODELS, "Model": _MODEL, "Health": _HEALTH}
    schemas |= {"Act": _act(), "Steered": _STEERED}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Branchwise", "version": branchwise.__version__, "description": "Searches over thoughts as chat completions."},
        "paths": {
            "/v1/chat/completions": {"post": {
                "operationId": "chat", "summary": "Search for an answer",
                "requestBody": {"required": True, "content": {"application/json": {"schema": _ref("Chat"), "example": example}}},
                "responses": {
                    "200": {"description": "The answer", "content": {
                        "application/json": {"schema": _ref("Completion")}, "text/event-stream": {"schema": _EVENT},
                    }},
                    **_errors("400", "401", "403", "404", "413", "415", "422", "429", "502", "503"),
                },
            }},
            "/v1/models": {"get": _get("models", "What can be named as a model", "Models", "401", "403")},
            "/v1/models/{name}": {"get": _get("model", "One of them", "Model", "401", "403", "404") | {
                "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}],
            }},
            "/runs/{id}/steer": {"post": {
                "operationId": "steer", "summary": "Lead a search while it goes on",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string", "pattern": _RUN}}],
                "requestBody": {"required": True, "content": {"application/json": {
                    "schema": _ref("Act"), "example": {"act": "prune", "node": 7},
                }}},
                "responses": {
                    "200": {"description": "It is done", "content": {"application/json": {"schema": _ref("Steered")}}},
                    **_errors("400", "401", "403", "404", "409", "413", "415", "499", "500"),
                },
            }},
            "/health": {"get": _get("health", "Whether it takes requests", "Health", "403") | {}},
            "/metrics": {"get": {
                "operationId": "metrics", "summary": "Counters for Prometheus",
                "responses": {"200": {"description": "Text format", "content": {"text/plain": {"schema": {"type": "string"}}}},
                              **_errors("401", "403")},
            }},
        },
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }  # fmt: skip


def _act() -> dict[str, Any]:
    """What can be done to a run, and what each act needs beside its name."""
    node = {"node": {"type": "integer", "minimum": 0, "maximum": (1 << 53) - 1}}
    whole = {"type": "integer", "exclusiveMinimum": 0, "maximum": 10**14}
    amount = {name: {"type": "number", "exclusiveMinimum": 0, "maximum": 1e14} for name in ("cost", "seconds")}
    more = dict.fromkeys(("calls", "tokens", "nodes"), whole) | amount
    budget = {"budget": {"type": "object", "additionalProperties": False, "minProperties": 1, "properties": more}}
    forms: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("pause", "go_on"), {}), (("prune", "favour", "approve"), node), (("add",), node | {"thought": {"type": "string", "minLength": 1}}),
        (("budget",), budget),
    ]  # fmt: skip
    return {"oneOf": [
        {"type": "object", "additionalProperties": False, "required": ["act", *needs], "properties": {"act": {"enum": acts}, **needs}}
        for acts, needs in forms
    ]}  # fmt: skip


def _settings(config: Config) -> dict[str, Any]:
    """The `branchwise` field."""
    properties: dict[str, Any] = {name: {"type": "boolean", "default": default} for name, default in OWN.items()}
    for name, param in allowed().items():
        kind = _limit(name, config) if name in LIMITS else _type(param)
        if (most := CEILINGS.get(str(param.name))) is not None and "maximum" not in kind and "anyOf" not in kind:
            kind["maximum"] = most
        text = getattr(param, "help", None)
        properties[name] = {"anyOf": [kind, {"type": "null"}]} | ({"description": text} if text else {})
    properties["task"]["anyOf"][0]["enum"] = list(config.tasks)
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _type(param: click.Parameter) -> dict[str, Any]:
    kind = param.type
    if isinstance(kind, click.types.BoolParamType):
        return {"type": "boolean"}
    if isinstance(kind, (click.IntRange, click.FloatRange)):
        whole = isinstance(kind, click.IntRange)
        found: dict[str, Any] = {"type": "integer" if whole else "number"}
        found |= {} if kind.min is None else {"minimum": kind.min}
        return found | ({} if kind.max is None else {"maximum": kind.max})
    if isinstance(kind, click.types.IntParamType):
        return {"type": "integer", "minimum": -(1 << 63) + 1, "maximum": (1 << 63) - 1}
    if isinstance(kind, click.Choice):
        return {"type": "string", "enum": [choice for choice in kind.choices if choice != "ask"]}
    return {"type": "string"}


def _limit(name: str, config: Config) -> dict[str, Any]:
    most = getattr(config.budget, LIMITS[name])
    number: dict[str, Any] = {"type": "number" if name in ("max_cost", "max_seconds") else "integer", "exclusiveMinimum": 0}
    most = most or CEILINGS.get(name)
    return number | {"maximum": most} if most is not None else {"anyOf": [number, {"const": "none"}]}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(kind: str) -> dict[str, Any]:
    return {"type": [kind, "null"]}


def _errors(*codes: str) -> dict[str, Any]:
    return {code: {"description": _ERRORS[code], "content": {"application/json": {"schema": _ref("Error")}}} for code in codes}


def _get(name: str, summary: str, schema: str, *errors: str) -> dict[str, Any]:
    good = {"description": summary, "content": {"application/json": {"schema": _ref(schema)}}}
    return {"operationId": name, "summary": summary, "responses": {"200": good, **_errors(*errors)}}


_EVENT = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
_RUN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
_STEERED = {
    "type": "object", "required": ["run", "act", "paused", "live"],
    "properties": {"run": {"type": "string"}, "act": {"type": "string"}, "paused": {"type": "boolean"}, "live": {"type": "boolean"}},
}  # fmt: skip
_MODEL = {
    "type": "object", "required": ["id", "object", "created", "owned_by"],
    "properties": {"id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"}, "owned_by": {"type": "string"}},
}  # fmt: skip
_MODELS = {
    "type": "object", "required": ["object", "data"],
    "properties": {"object": {"const": "list"}, "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}}},
}  # fmt: skip
_HEALTH = {
    "type": "object", "required": ["status", "version", "running", "waiting"],
    "properties": {
        "status": {"enum": ["ok", "stopping"]}, "version": {"type": "string"},
        "running": {"type": "integer"}, "waiting": {"type": "integer"},
    },
}  # fmt: skip
_COMPLETION = {
    "type": "object", "required": ["id", "object", "created", "model", "choices", "usage", "branchwise"],
    "properties": {
        "id": {"type": "string"}, "object": {"const": "chat.completion"}, "created": {"type": "integer"}, "model": {"type": "string"},
        "choices": {"type": "array", "minItems": 1, "items": {
            "type": "object", "required": ["index", "message", "finish_reason"],
            "properties": {
                "index": {"type": "integer"}, "finish_reason": {"enum": ["stop", "length"]},
                "message": {
                    "type": "object", "required": ["role", "content"],
                    "properties": {"role": {"const": "assistant"}, "content": {"type": "string"}},
                },
            },
        }},
        "usage": {
            "type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
            "properties": {name: {"type": "integer", "minimum": 0} for name in ("prompt_tokens", "completion_tokens", "total_tokens")},
        },
        "branchwise": {"type": "object"},
    },
}  # fmt: skip
