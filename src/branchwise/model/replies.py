"""From the JSON of a chat completion to a typed Reply. Knows no HTTP; never trusts a field to be there or of its type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from branchwise.budget import Usage
from branchwise.errors import ModelError, TransientError
from branchwise.model.base import Outcome, Reply, Request, Sample
from branchwise.model.faults import status_error
from branchwise.model.reasoning import cut_at_stop, split_reasoning
from branchwise.model.refusals import body_status

__all__ = ["cut", "read_reply", "shares"]

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Choice:
    """One choice as read, before usage is shared out."""

    text: str
    reasoning: str
    finish: str
    outcome: Outcome
    logprobs: tuple[dict[str, float], ...] | None
    error: str = ""
    tokens: int | None = None
    """Its own completion tokens, where the server counts each choice."""


def read_reply(body: object, request: Request, name: str) -> Reply:
    """The samples in `body`, in order, with their shares of the usage. Raises the error that stands in the body, or `TransientError`."""
    if not isinstance(body, Mapping):
        raise TransientError(f"{name}: the reply is no JSON object but {type(body).__name__}; does the address end in /v1?")
    if body.get("error") or body.get("object") == "error":
        raise _charged(status_error(body_status(body), body, {}, name), body)
    choices = body.get("choices")
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise _charged(TransientError(f"{name}: the reply holds no choices (keys: {', '.join(map(str, body))})"), body)
    read = [_read_choice(c, body) for c in _in_order(choices)[: request.n]]
    if all(c.outcome is Outcome.INVALID for c in read):
        raise _charged(_failed(choices, body, name), body)
    counts = [c.tokens for c in read if c.tokens is not None]
    usages = shares(body.get("usage"), request, [c.reasoning + c.text for c in read], counts if len(counts) == len(read) else None)
    samples = tuple(
        Sample(c.text, c.outcome, c.reasoning, c.finish, usage, c.logprobs, c.error) for c, usage in zip(read, usages, strict=True)
    )
    missing = request.n - len(samples)
    return Reply(
        samples,
        model=_text(body.get("model")),
        system_fingerprint=_text(body.get("system_fingerprint")),
        missing=missing,
        error=f"asked for {request.n} samples, the server gave {len(samples)}" if missing else "",
    )


def _charged(error: ModelError, body: Json) -> ModelError:
    """`error` with the tokens that the server counted for a reply that holds nothing."""
    usage = _details(body, "usage")
    error.spent = (_count(usage, "prompt_tokens") or 0, _count(usage, "completion_tokens") or 0)
    return error


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _in_order(choices: Sequence[Any]) -> list[Any]:
    """By `index` where every choice has its own."""
    by_index = {c["index"]: c for c in choices if isinstance(c, Mapping) and isinstance(c.get("index"), int)}
    return [by_index[i] for i in sorted(by_index)] if len(by_index) == len(choices) else list(choices)


def _failed(choices: Sequence[Any], body: Json, name: str) -> ModelError:
    """No choice can be read: the error inside the first one, or one that names what is there."""
    first = choices[0]
    if isinstance(first, Mapping) and isinstance(first.get("error"), Mapping):
        return status_error(body_status(first), first, {}, name)
    keys = f"keys: {', '.join(map(str, body))}"
    inner = f"; of the first choice: {', '.join(map(str, first))}" if isinstance(first, Mapping) else ""
    return TransientError(f"{name}: no choice of the reply holds a message ({keys}{inner})")


def _read_choice(choice: object, body: Json) -> _Choice:
    if not isinstance(choice, Mapping):
        return _Choice("", "", "", Outcome.INVALID, None, f"a choice is {type(choice).__name__}")
    finish = _text(choice.get("finish_reason"))
    message = choice.get("message")
    if not isinstance(message, Mapping):
        message = {"content": choice["text"]} if isinstance(choice.get("text"), str) else None
    if finish == "error" or choice.get("error") or (message is None and finish != "content_filter"):
        return _Choice("", "", finish, Outcome.INVALID, None, f"no message (keys: {', '.join(map(str, choice))})")
    message = message or {}
    content, thought = _content(message.get("content"))
    inner, text, unclosed = split_reasoning(content)
    apart = message.get("reasoning_content") or message.get("reasoning")
    reasoning = "\n".join(filter(None, (_content(apart)[0], thought, inner)))
    refusal = _text(message.get("refusal"))
    outcome = _outcome(text, reasoning, finish, refusal, unclosed)
    tokens = _count(_details(choice, "usage"), "completion_tokens")
    if outcome is not Outcome.OK and outcome is not Outcome.LENGTH and unclosed:
        text = ""
    return _Choice(text, reasoning, finish, outcome, _logprobs(choice.get("logprobs")), refusal, tokens)


def _outcome(text: str, reasoning: str, finish: str, refusal: str, unclosed: bool) -> Outcome:
    if finish == "content_filter":
        return Outcome.FILTERED
    if refusal or finish == "refusal":
        return Outcome.REFUSED
    if unclosed or (reasoning.strip() and not text.strip()):
        return Outcome.TRUNCATED_IN_REASONING
    if not text.strip():
        return Outcome.EMPTY
    return Outcome.LENGTH if finish in ("length", "max_tokens", "MAX_TOKENS") else Outcome.OK


def _content(value: object) -> tuple[str, str]:
    """A string, or a list of parts, as (text, reasoning among the parts)."""
    if isinstance(value, str):
        return value, ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in value if isinstance(value, Sequence) else ():
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            kind = _text(part.get("type"))
            into = thoughts if kind in ("thinking", "reasoning", "thought") else texts
            into.append(_text(part.get("text")) or _content(part.get("thinking") or part.get("content"))[0])
    return "".join(texts), "".join(thoughts)


def _logprobs(value: object) -> tuple[dict[str, float], ...] | None:
    """A token each, {token: log-probability}; the older format of parallel lists is read too. `None` where there are none."""
    if not isinstance(value, Mapping):
        return None
    content = value.get("content")
    if isinstance(content, Sequence) and content:
        return tuple(_alternatives(t) for t in content if isinstance(t, Mapping))
    tokens, chosen = value.get("tokens"), value.get("token_logprobs")
    if not isinstance(tokens, Sequence) or not isinstance(chosen, Sequence) or not tokens:
        return None
    tops = value.get("top_logprobs")
    tops = tops if isinstance(tops, Sequence) and tops else [None] * len(tokens)
    pairs = ([*(top.items() if isinstance(top, Mapping) else ()), (token, own)] for token, own, top in zip(tokens, chosen, tops, strict=False))
    return tuple({str(k): float(v) for k, v in each if isinstance(v, int | float)} for each in pairs)


def _alternatives(token: Json) -> dict[str, float]:
    tops = token.get("top_logprobs")
    entries = [t for t in (tops if isinstance(tops, Sequence) else ()) if isinstance(t, Mapping)]
    return {_text(t.get("token")): float(t["logprob"]) for t in (*entries, token) if isinstance(t.get("logprob"), int | float)}


def cut(sample: Sample, stops: tuple[str, ...]) -> Sample:
    """`sample` up to the first stop, which the backend was not told of."""
    text, ended = cut_at_stop(sample.text, stops)
    if not ended or not sample.usable:
        return sample
    return replace(sample, text=text, outcome=Outcome.OK if text.strip() else Outcome.EMPTY, finish="stop")


def shares(usage: object, request: Request, texts: Sequence[str], counts: Sequence[int] | None = None) -> list[Usage]:
    """One usage a sample: tokens shared evenly, the remainder and all of the prompt on the first; `counts` are the samples' own.

    Where the server reports none, or nothing for a reply that holds text, they are estimated at four bytes a token.
    """
    data = usage if isinstance(usage, Mapping) else {}
    prompt, completion = _count(data, "prompt_tokens"), _count(data, "completion_tokens")
    estimated = False
    if not prompt:
        prompt, estimated = estimate("".join(m.content for m in request.messages)), True
    if counts is not None:
        parts = list(counts)
    elif completion or not any(texts):
        parts = _even(completion or 0, len(texts))
    else:
        parts, estimated = [estimate(t) for t in texts], True
    reasoning = _even(_count(_details(data, "completion_tokens_details"), "reasoning_tokens") or 0, len(texts))
    cached = _count(_details(data, "prompt_tokens_details"), "cached_tokens") or _count(data, "cached_tokens") or 0
    return [
        Usage(
            calls=1,
            requests=0 if i else 1,
            prompt_tokens=0 if i else prompt,
            cached_prompt_tokens=0 if i else min(cached, prompt),
            completion_tokens=part,
            reasoning_tokens=reasoning[i],
            estimated=estimated,
        )
        for i, part in enumerate(parts)
    ]


def estimate(text: str) -> int:
    """Tokens of `text`, guessed: a quarter of its UTF-8 bytes, at least 1 unless it is empty."""
    return max(1, len(text.encode("utf-8", "surrogatepass")) // 4) if text else 0


def _even(total: int, among: int) -> list[int]:
    each, rest = divmod(total, among)
    return [each + (rest if i == 0 else 0) for i in range(among)]


def _count(data: Json, key: str) -> int | None:
    value = data.get(key)
    return int(value) if isinstance(value, int | float) and value >= 0 else None


def _details(data: Json, key: str) -> Json:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}
