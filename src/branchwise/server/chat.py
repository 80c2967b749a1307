"""A chat completion request as it comes in: what is honoured, and what is refused by name. Knows no search and no server."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.errors import nearest
from branchwise.server.faults import Refusal

__all__ = ["Chat", "Message", "Part", "read_chat"]

_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)
_INT64 = (1 << 63) - 1


class Part(BaseModel):
    """A part of a message: text; anything else cannot be searched over."""

    model_config = _STRICT
    type: Literal["text"]
    text: str


class Message(BaseModel):
    """One message of the conversation. One of the assistant may also hold what a reply holds beside its text, as far as that is empty."""

    model_config = _STRICT
    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[Part]
    name: Annotated[str, Field(pattern="^[A-Za-z0-9_-]{1,64}$")] | None = None

    @property
    def text(self) -> str:
        """The content; parts are joined as they are."""
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """What to add to a stream."""

    model_config = _STRICT
    include_usage: bool | None = None


class ResponseFormat(BaseModel):
    """Text is the only format: an answer is what the search found."""

    model_config = _STRICT
    type: Literal["text"]


class Chat(BaseModel):
    """The request. `None` is the same as left out."""

    model_config = _STRICT
    model: Annotated[str, Field(min_length=1, max_length=200, description="[TASK/]METHOD[@UPSTREAM], see /v1/models")]
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    n: Annotated[int, Field(ge=1, le=1000, description="Independent searches, with seeds that count up from `seed`")] | None = None
    seed: Annotated[int, Field(ge=-_INT64 - 1, le=_INT64)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=_INT64, description="Length of one answer")] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=_INT64, description="The same")] | None = None
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    stop: Annotated[str, Field(min_length=1)] | Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=16)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    user: Annotated[str, Field(max_length=512)] | None = None
    branchwise: Annotated[dict[str, Any], Field(description="Settings of the search, named like the flags of `branchwise solve`")] | None = None

    @property
    def limit(self) -> int | None:
        """The longest answer, in tokens."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts before which an answer ends."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())


NEUTRAL: dict[str, tuple[Any, ...]] = {
    "top_p": (1, 1.0), "frequency_penalty": (0, 0.0), "presence_penalty": (0, 0.0), "logit_bias": ({},), "logprobs": (False,),
    "top_logprobs": (0,), "tools": ([],), "tool_choice": ("none", "auto"), "parallel_tool_calls": (True, False), "functions": ([],),
    "function_call": ("none", "auto"), "modalities": (["text"],), "audio": (), "prediction": (), "reasoning_effort": ("none",),
    "verbosity": ("medium",), "service_tier": ("auto", "default"), "store": (False,), "metadata": ({},), "web_search_options": (),
    "safety_identifier": (), "prompt_cache_key": (), "prompt_cache_retention": (), "top_k": (), "min_p": (), "repetition_penalty": (1, 1.0),
}  # fmt: skip
"""Fields of the protocol that a search cannot honour, each with the values that ask for nothing; any other value is refused by name."""
_REPLIED = ("refusal", "annotations", "audio", "tool_calls", "function_call", "reasoning_content", "reasoning", "parsed")
"""Fields that clients and servers put into a reply beside its text. They come back when the reply is made part of the next request."""
_ADDRESSES = ("base_url", "api_base", "api_key", "api_url", "upstream", "upstream_url", "endpoint", "url", "headers", "extra_headers", "proxy")


def read_chat(body: bytes) -> Chat:
    """The request that `body` states. Raises `Refusal` (400) that names the field at fault."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, f"the body is no JSON: {error}", code="invalid_json") from None
    if not isinstance(data, dict):
        raise Refusal(400, "the body must be a JSON object", code="invalid_json")
    for name in _ADDRESSES:
        if name in data:
            raise Refusal(400, f"{name} is refused: where models are, is set when the server starts", param=name, code="unknown_parameter")
    for name, neutral in NEUTRAL.items():
        if name in data and (value := data.pop(name)) is not None and not any(type(value) is type(v) and value == v for v in neutral):
            raise Refusal(400, f"{name} is not supported: a search over thoughts has no use for it", param=name, code="unsupported_parameter")
    if isinstance(messages := data.get("messages"), list):
        data["messages"] = [_message(message, place) for place, message in enumerate(messages)]
    form = data.get("response_format")
    if isinstance(form, dict) and form.get("type") in ("json_object", "json_schema"):
        text = f"response_format {form['type']} is not supported: an answer is the text that the search found"
        raise Refusal(400, text, param="response_format", code="unsupported_parameter")
    try:
        chat = Chat.model_validate(data)
    except ValidationError as error:
        raise _told(error) from None
    if chat.max_tokens is not None and chat.max_completion_tokens is not None and chat.max_tokens != chat.max_completion_tokens:
        raise Refusal(400, "max_tokens and max_completion_tokens differ; give one", param="max_completion_tokens", code="invalid_value")
    return chat


def _message(message: Any, place: int) -> Any:
    """`message` without what a reply of a model holds beside its text: fields that are empty, and its reasoning, which is no part of the
    conversation. Raises `Refusal` where it holds a call of a tool or the like, or no text at all."""
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return message
    where = f"messages[{place}]"
    for name in _REPLIED:
        if message.get(name) and not name.startswith("reasoning"):
            text = f"{where}.{name} is not supported: of an earlier reply a search takes the text only"
            raise Refusal(400, text, param=f"{where}.{name}", code="unsupported_parameter")
    if message.get("content") is None:
        text = f"{where}.content is null: an earlier reply without text says nothing to a search; leave the message out"
        raise Refusal(400, text, param=f"{where}.content", code="invalid_value")
    return {name: value for name, value in message.items() if name not in _REPLIED}


def _told(error: ValidationError) -> Refusal:
    """The first fault, with the place where it is; nothing of the input is repeated but names of fields."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = [part for part in fault["loc"] if isinstance(part, int) or str(part) in _FIELDS or fault["type"] == "extra_forbidden"]
    param = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")[:200] or None
    if fault["type"] == "extra_forbidden":
        name = str(fault["loc"][-1])[:100]
        hint = nearest(name, Chat.model_fields) if len(fault["loc"]) == 1 else ""
        return Refusal(400, f"unknown field {name!r}{hint.split('; known:')[0]}", param=param, code="unknown_parameter")
    return Refusal(400, f"{param or 'the body'}: {fault['msg']}", param=param, code="invalid_value")


_FIELDS = {*Chat.model_fields, *Message.model_fields, *Part.model_fields, *StreamOptions.model_fields}
