"""A streamed chat completion, put together as if it had come in one piece. Knows no HTTP and no meaning of fields."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from branchwise.errors import TransientError

__all__ = ["Received", "collect"]


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
    `TransientError` where the stream ends before every choice is finished: partial text is never a reply, but `received` has it.
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
        chunk = orjson.loads(data)
        if not isinstance(chunk, dict):
            raise TransientError(f"{name}: an event of the stream is no JSON object")
        if chunk.get("error"):
            return {"error": chunk["error"]}
        body |= {k: v for k, v in chunk.items() if k not in ("choices", "usage") and v is not None}
        for delta in chunk.get("choices") or ():
            last = _add(choices, delta, pieces)
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


def _add(choices: dict[int, dict[str, Any]], delta: dict[str, Any], pieces: list[str]) -> dict[str, Any]:
    """Append one event to its choice, and its text to `pieces`."""
    index = delta.get("index") or 0
    choice = choices.setdefault(index, {"index": index, "finish_reason": None, "message": {}, "logprobs": None})
    message = choice["message"]
    for key, value in (delta.get("delta") or {}).items():
        if isinstance(value, str) and key != "role":
            message[key] = message.get(key, "") + value
            pieces.append(value)
    tokens = (delta.get("logprobs") or {}).get("content")
    if tokens:
        choice["logprobs"] = {"content": [*((choice["logprobs"] or {}).get("content", ())), *tokens]}
    if delta.get("finish_reason"):
        choice["finish_reason"] = delta["finish_reason"]
    return choice
