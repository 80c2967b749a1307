"""Asking for structured output in the way that a backend has, and checking what came. Knows no HTTP; never trusts a backend's word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from branchwise.model.base import Message, Outcome, Request, Sample

__all__ = ["CHOICE_KEYS", "MODES", "SCHEMA_KEYS", "add_structure", "checked", "repair"]

MODES = ("response_format", "guided", "grammar", "prompt")
"""Ways of asking, the next one tried where a backend refuses or ignores one. The last always works, and is the least reliable."""
SCHEMA_KEYS = {"response_format": "response_format", "guided_json": "guided", "grammar": "grammar"}
CHOICE_KEYS = {"response_format": "response_format", "guided_choice": "guided", "grammar": "grammar"}
"""Which parameter belongs to which way."""

JSON_GRAMMAR = r"""root ::= object
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair ("," ws pair)*)? "}" ws
pair ::= string ":" ws value ws
array ::= "[" ws (value ws ("," ws value ws)*)? "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= [ \t\n]{0,20}
"""
_FENCE = "```"
_LANGUAGE = re.compile(r"\w{0,30}[ \t\r]{0,30}")


def add_structure(body: dict[str, Any], request: Request, schema_mode: str, choice_mode: str) -> None:
    """Put what `request` wants into `body`, in the given way."""
    if request.choices:
        schema = {"type": "object", "properties": {"choice": {"enum": list(request.choices)}}, "required": ["choice"]}
        grammar = "root ::= " + " | ".join(orjson.dumps(c).decode() for c in request.choices)
        words = "Reply with exactly one of these and nothing else: " + ", ".join(request.choices)
        _add(body, choice_mode, schema, {"guided_choice": list(request.choices)}, grammar, words)
    elif request.schema is not None:
        words = "Reply with one JSON object that fits this schema, and nothing else: " + orjson.dumps(request.schema).decode()
        _add(body, schema_mode, request.schema, {"guided_json": request.schema}, JSON_GRAMMAR, words)


def _add(body: dict[str, Any], mode: str, schema: Mapping[str, Any], guided: dict[str, Any], grammar: str, words: str) -> None:
    if mode == "response_format":
        closed = {**schema, "additionalProperties": schema.get("additionalProperties", False)} if schema.get("type") == "object" else schema
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": closed, "strict": True}}
    elif mode == "guided":
        body["extra_body"] = {**body.get("extra_body", {}), **guided}
    elif mode == "grammar":
        body["extra_body"] = {**body.get("extra_body", {}), "grammar": grammar}
    else:
        last = body["messages"][-1]
        body["messages"] = [*body["messages"][:-1], {**last, "content": f"{last['content']}\n\n{words}"}]


def checked(sample: Sample, request: Request) -> Sample:
    """`sample` with its text in canonical form, or `invalid` with the reason where it is not what was asked for."""
    if sample.outcome not in (Outcome.OK, Outcome.LENGTH):
        return sample
    if request.choices:
        found = _choice(sample.text, request.choices)
        if found is not None:
            return replace(sample, text=found, outcome=Outcome.OK)
        return replace(sample, outcome=Outcome.INVALID, error=f"none of: {', '.join(request.choices)}")
    if request.schema is None:
        return sample
    try:
        value = orjson.loads(_bare(sample.text))
    except orjson.JSONDecodeError as error:
        return replace(sample, outcome=Outcome.INVALID, error=f"not JSON ({error.msg})")
    if (wrong := misfit(value, request.schema)) is not None:
        return replace(sample, outcome=Outcome.INVALID, error=wrong)
    return replace(sample, text=orjson.dumps(value).decode(), outcome=Outcome.OK)


def _bare(text: str) -> str:
    """`text` without the fence around all of it."""
    bare = text.strip()
    end = bare.find("\n")
    if not (bare.startswith(_FENCE) and bare.endswith(_FENCE) and 0 < end <= len(bare) - len(_FENCE)):
        return text
    return bare[end + 1 : -len(_FENCE)] if _LANGUAGE.fullmatch(bare, len(_FENCE), end) else text


def _choice(text: str, choices: Sequence[str]) -> str | None:
    bare = _bare(text).strip()
    if bare.startswith("{"):
        try:
            bare = str(orjson.loads(bare).get("choice", ""))
        except orjson.JSONDecodeError:
            return None
    if bare in choices:
        return bare
    plain = bare.strip(" \t\n.!'\"*`").casefold()
    return next((c for c in choices if c.casefold() == plain), None)


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def misfit(value: Any, schema: Mapping[str, Any], where: str = "the reply") -> str | None:
    """Where `value` does not fit `schema`, or `None`.

    Knows type, enum, const, anyOf, minimum, maximum, minLength, maxLength, minItems, maxItems, items, properties, required and
    additionalProperties; what else a schema says is not checked. 7.0 is an integer, as in JSON Schema; true is no number.
    """
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else list(kinds or ())
    if any(name in _TYPES for name in names) and not any(_is_of(value, name) for name in names):
        return f"{where} must be {' or '.join(names)}"
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        return f"{where} must be one of {schema['enum']}"
    if "const" in schema and not _same(value, schema["const"]):
        return f"{where} must be {schema['const']!r}"
    return _unlike_any(value, schema, where) or _beyond(value, schema, where) or _wrong_inside(value, schema, where)


def _is_of(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, ()))


def _same(value: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, and not true."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _unlike_any(value: Any, schema: Mapping[str, Any], where: str) -> str | None:
    if not schema.get("anyOf"):
        return None
    found = [misfit(value, one, where) for one in schema["anyOf"]]
    faults = [fault for fault in found if fault is not None]
    return None if len(faults) < len(found) else " and ".join(dict.fromkeys(faults[:3]))


def _beyond(value: Any, schema: Mapping[str, Any], where: str) -> str | None:
    """The bound that a number, or the length of a text or list, does not keep."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        size, least, most, unit = value, "minimum", "maximum", ""
    elif isinstance(value, str):
        size, least, most, unit = len(value), "minLength", "maxLength", " characters long"
    elif isinstance(value, list):
        size, least, most, unit = len(value), "minItems", "maxItems", " items long"
    else:
        return None
    if least in schema and size < schema[least]:
        return f"{where} must be at least {schema[least]}{unit}"
    return f"{where} must be at most {schema[most]}{unit}" if most in schema and size > schema[most] else None


def _wrong_inside(value: Any, schema: Mapping[str, Any], where: str) -> str | None:
    if isinstance(value, dict):
        lacking = [k for k in schema.get("required", ()) if k not in value]
        if lacking:
            return f"{where} lacks {', '.join(map(repr, lacking))}"
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        if others is False and (more := [k for k in value if k not in known]):
            return f"{where} must not have {', '.join(map(repr, more[:3]))}"
        others = others if isinstance(others, Mapping) else {}
        inside = ((v, known.get(k, others), f"{where}.{k}") for k, v in value.items())
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        inside = ((v, schema["items"], f"{where}[{i}]") for i, v in enumerate(value))
    else:
        return None
    return next((wrong for v, s, w in inside if isinstance(s, Mapping) and (wrong := misfit(v, s, w)) is not None), None)


def repair(request: Request, sample: Sample) -> Request:
    """`request` asked once more, with the unfit reply and what is wrong with it."""
    wanted = f"one of: {', '.join(request.choices)}" if request.choices else f"JSON that fits {orjson.dumps(request.schema).decode()}"
    fault = Message("user", f"That cannot be used: {sample.error}. Reply with {wanted} and nothing else.")
    return replace(request, n=1, messages=(*request.messages, Message("assistant", sample.text or "(nothing)"), fault))
