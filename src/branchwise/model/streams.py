"""A streamed chat completion, put together as if it had come in one piece. Knows no HTTP and no meaning of fields."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from branchwise.errors import TransientError

__all__ = ["Received", "collect"]

T = TypeVar("T")


@dataclass(slots=True)
class Received:
    """What has come of a reply so far, for the case that no more of it comes."""

    begun: bool = False
    """The server has begun to reply."""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text of all choices, reasoning too."""
        return "".join(self.pieces)


async def collect(lines: AsyncIterator[str], name: str, received: Received | None = None) -> dict[str, Any]:
    """The whole completion from the lines of a server-sent event stream.

    Each choice has its own `usage` where the server reports one for each; an `error` event becomes the `error` of the result. Raises
    `TransientError` where the stream ends before every choice is finished (partial text is never a reply, but `received` has it), and where an
    event is not of the form of one. Usage in another form counts as none, as in a whole reply.
    """
    body: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    last: dict[str, Any] | None = None
    usages = 0
    pieces = [] if received is None else received.pieces
    async for line in lines:
        if not line.startswith("data:") or (data := line[5:].strip()) == "":
            continue
        if data == "[DONE]":
            break
        chunk = _event(data, name)
        if chunk.get("error"):
            return {"error": chunk["error"]}
        if chunk.get("object") == "error":
            return chunk
        body |= {k: v for k, v in chunk.items() if k not in ("choices", "usage") and v is not None}
        for delta in _of(chunk.get("choices") or [], list, name, "choices"):
            last = _add(choices, _of(delta, dict, name, "a choice"), pieces, name)
        if isinstance(chunk.get("usage"), dict):
            body["usage"] = chunk["usage"]
            usages += 1
            if last is not None and last["finish_reason"]:
                last["usage"] = chunk["usage"]
    open_ = [i for i, c in choices.items() if not c["finish_reason"]]
    if not choices or open_:
        raise TransientError(f"{name}: incomplete reply, the stream ended before it was finished")
    if usages < len(choices) or usages == 1:
        for choice in choices.values():
            choice.pop("usage", None)
    body["choices"] = list(choices.values())
    return body


def _event(data: str, name: str) -> dict[str, Any]:
    try:
        chunk = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise TransientError(f"{name}: the reply cannot be read: an event of the stream is no JSON ({error})") from None
    return _of(chunk, dict, name, "an event")


def _of(value: Any, kind: type[T], name: str, what: str) -> T:
    """`value`, which must be of this kind."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TransientError(f"{name}: the reply cannot be read: {what} of the stream is {type(value).__name__}, not {kind.__name__}")
    return value


def _add(choices: dict[int, dict[str, Any]], delta: dict[str, Any], pieces: list[str], name: str) -> dict[str, Any]:
    """Append one event to its choice, and its text to `pieces`. Log-probabilities in another form count as none, as in a whole reply."""
    index = _of(delta.get("index") or 0, int, name, "the index of a choice")
    choice = choices.setdefault(index, {"index": index, "finish_reason": None, "message": {}, "logprobs": None})
    message = choice["message"]
    for key, value in _of(delta.get("delta") or {}, dict, name, "a delta").items():
        if isinstance(value, str) and key != "role":
            message[key] = message.get(key, "") + value
            pieces.append(value)
    told = delta.get("logprobs")
    tokens = told.get("content") if isinstance(told, dict) else None
    if isinstance(tokens, list) and tokens:
        choice["logprobs"] = {"content": [*((choice["logprobs"] or {}).get("content", ())), *tokens]}
    if delta.get("finish_reason"):
        choice["finish_reason"] = _of(delta["finish_reason"], str, name, "a finish_reason")
    return choice
