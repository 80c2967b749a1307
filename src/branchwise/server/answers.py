"""The replies of the chat protocol: choices, usage, chunks of a stream. Knows results, no HTTP and no search."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from branchwise.budget import Usage
from branchwise.model.scripted import tokens
from branchwise.server.chat import Chat
from branchwise.server.search import Found, described

__all__ = ["Answer", "answer_of", "chunk", "completion", "extension", "new_id", "usage_of"]

Answer = tuple[str, str]
"""A text and why it ends: `stop`, or `length`."""


def new_id() -> str:
    """The name of one completion."""
    return f"chatcmpl-{secrets.token_hex(12)}"


def answer_of(found: Found, chat: Chat) -> Answer:
    """The answer, ended before the first of the stops and at the most `max_tokens` long (a token is taken for four bytes of UTF-8).

    `length` also where the model's reply was cut at its limit, and where a budget ended the search before it was through (that
    of thoughts is how best_first and others end, so it is `stop`).
    """
    result = found.result
    assert result is not None and result.answer is not None  # noqa: PT018
    text, finish = result.answer, "stop"
    thought = result.node.thought if result.node is not None else ""
    spent = result.unfinished and result.stop_reason.startswith("budget:") and result.stop_reason != "budget:nodes"
    if spent or any(thought and thought in reply for reply in found.cut):
        finish = "length"
    ends = [place for stop in chat.stops if (place := text.find(stop)) >= 0]
    if ends:
        text, finish = text[: min(ends)], "stop"
    if chat.limit is not None and tokens(text) > chat.limit:
        text, finish = text.encode("utf-8", "replace")[: 4 * chat.limit].decode("utf-8", "ignore"), "length"
    return text, finish


def usage_of(founds: Sequence[Found]) -> dict[str, Any]:
    """What all calls of all searches took."""
    total = sum((found.usage for found in founds), Usage())
    return {
        "prompt_tokens": total.prompt_tokens,
        "completion_tokens": total.completion_tokens,
        "total_tokens": total.tokens,
        "prompt_tokens_details": {"cached_tokens": total.cached_prompt_tokens},
        "completion_tokens_details": {"reasoning_tokens": total.reasoning_tokens},
    }


def extension(founds: Sequence[Found]) -> dict[str, Any]:
    """The `branchwise` field of a reply: calls and cost of the whole, and each search."""
    total = sum((found.usage for found in founds), Usage())
    return {
        "calls": total.calls, "requests": total.requests, "cost_usd": None if total.cost is None else total.cost / 1e6,
        "estimated": total.estimated, "missing": sum(found.refusal is not None for found in founds),
        "searches": [
            described(found) | ({"error": found.refusal.body()["error"]} if found.refusal is not None else {}) for found in founds
        ],
    }  # fmt: skip


def completion(founds: Sequence[Found], chat: Chat, created: int) -> dict[str, Any]:
    """The reply as a whole. A search without an answer has no choice; `missing` counts those."""
    choices = []
    for index, found in enumerate(founds):
        if found.refusal is None:
            text, finish = answer_of(found, chat)
            message = {"role": "assistant", "content": text, "refusal": None}
            choices.append({"index": index, "message": message, "finish_reason": finish, "logprobs": None})
    return {
        "id": new_id(), "object": "chat.completion", "created": created, "model": chat.model, "choices": choices,
        "usage": usage_of(founds), "branchwise": extension(founds),
    }  # fmt: skip


def chunk(name: str, created: int, chat: Chat, index: int, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """One piece of a stream."""
    piece: dict[str, Any] = {
        "id": name, "object": "chat.completion.chunk", "created": created, "model": chat.model,
        "choices": [{"index": index, "delta": delta, "finish_reason": finish, "logprobs": None}],
    }  # fmt: skip
    if chat.stream_options is not None and chat.stream_options.include_usage:
        piece["usage"] = None
    return piece
