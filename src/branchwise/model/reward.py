"""A reward model behind an HTTP endpoint, as a LanguageModel for the role evaluate. Knows no search; its reply is checked.

It POSTs `{"model": NAME, "problem": TEXT, "state": TEXT, "messages": [user: problem, assistant: state]}` and reads one number from the
reply: `{"value": x}` or `{"score": x}`, each with an optional `"reason"`, or the form of vLLM's scoring and pooling routes,
`{"data": [{"score": x}]}` and `{"data": [{"data": [x]}]}` (of several numbers the last). Tokens told in `usage` are counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import openai
import orjson

from branchwise.budget import Usage
from branchwise.errors import TransientError, Unsupported
from branchwise.model.base import Outcome, Reply, Request, Sample
from branchwise.model.faults import model_error
from branchwise.model.secrets import Secret, split_userinfo

__all__ = ["RewardEndpoint", "read_reward"]


class RewardEndpoint:
    """`url` in full (for example http://127.0.0.1:8000/score); `model` goes into the body where it is given. Redirects are not followed."""

    def __init__(self, url: str, model: str = "", *, key: Secret | None = None, timeout: float = 120.0) -> None:
        self._url, user = split_userinfo(url)
        self._model = model
        self._secrets = tuple(s for s in (key.reveal() if key else "", user[1] if user else "") if s)
        loopback = (urlsplit(self._url).hostname or "") in ("127.0.0.1", "::1", "localhost")
        options: dict[str, Any] = {"follow_redirects": False, "trust_env": not loopback, "timeout": timeout, "auth": user}
        self._http = openai.DefaultAsyncHttpxClient(**options)
        self._headers = {"Authorization": f"Bearer {key.reveal()}"} if key else {}

    @property
    def name(self) -> str:
        """`reward:URL`, with the model after a # where one is named; no password."""
        return f"reward:{self._url}{'#' + self._model if self._model else ''}"

    @property
    def identity(self) -> str:
        """The same as `name`."""
        return self.name

    async def __aenter__(self) -> RewardEndpoint:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def sample(self, request: Request) -> Reply:
        """`request.n` times the same question. Raises `ModelError` and its kinds only."""
        if len(request.messages) != 2 or request.messages[1].role != "assistant":
            raise Unsupported(f"{self.name} values states for the evaluator reward; it writes no text")
        return Reply(tuple([await self._one(request) for _ in range(request.n)]), self._model or self.name)

    async def _one(self, request: Request) -> Sample:
        problem, state = (message.content for message in request.messages)
        body: dict[str, Any] = {
            "problem": problem, "state": state,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        }  # fmt: skip
        if self._model:
            body["model"] = self._model
        try:
            response = await self._http.post(self._url, json=body, headers=self._headers)
            if response.status_code != 200:
                raise openai.APIStatusError("", response=response, body=_json(response.content))
            data = orjson.loads(response.content)
        except Exception as error:
            raise model_error(error, self.name, self._secrets) or error from None
        found = read_reward(data)
        if found is None:
            raise TransientError(f"{self.name}: the reply holds no value; it should be {{\"value\": number}}")
        return Sample(orjson.dumps(found).decode(), Outcome.OK, finish="stop", usage=_usage(data))


def _json(content: bytes) -> object:
    try:
        return orjson.loads(content)
    except ValueError:
        return content.decode("utf-8", "replace")[:400]


def read_reward(data: object) -> dict[str, Any] | None:
    """`{"value": x, "reason": text}` from a reply in one of the forms above; `None` where it holds no finite number."""
    if not isinstance(data, Mapping):
        return None
    value = data.get("value", data.get("score"))
    if value is None and isinstance(data.get("data"), list) and data["data"] and isinstance(data["data"][0], Mapping):
        first = data["data"][0]
        value = first.get("score", first.get("data"))
    while isinstance(value, list) and value:
        value = value[-1]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    reason = data.get("reason")
    return {"value": value} | ({"reason": reason[:500]} if isinstance(reason, str) else {})


def _usage(data: Mapping[str, Any]) -> Usage:
    told = data.get("usage")
    numbers = [told.get(key) if isinstance(told, Mapping) else None for key in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (number if isinstance(number, int) and not isinstance(number, bool) and number > 0 else 0 for number in numbers)
    return Usage(1, 1, prompt_tokens=prompt, completion_tokens=completion)
