"""Any server that speaks OpenAI's chat completions, as a LanguageModel. Knows no retries, budget or tree; every reply is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import openai
import orjson

from branchwise.errors import ContextOverflow, ModelError, Unsupported, UsageError
from branchwise.model.base import Reply, Request
from branchwise.model.faults import model_error
from branchwise.model.replies import read_reply
from branchwise.model.secrets import Secret, split_userinfo
from branchwise.model.streams import collect

__all__ = ["OPENAI_URL", "OpenAIChat"]

OPENAI_URL = "https://api.openai.com/v1"


class OpenAIChat:
    """`model` at `base_url` (default: OpenAI's own), through the official client with its own retries switched off.

    `key` is sent to the host of `base_url` only: redirects are not followed. `timeout` is seconds for one HTTP request. `max_n` is the most
    samples that one request may ask for; more are asked for in several requests at once. `context_note` is added to errors of too long a
    prompt. `stream` reads replies as streams, for servers that count each of n samples only there. `extra` is merged into each body.
    """

    def __init__(
        self,
        model: str,
        base_url: str = OPENAI_URL,
        *,
        key: Secret | None = None,
        name: str = "",
        timeout: float = 600.0,
        max_n: int | None = None,
        context_note: str = "",
        stream: bool = False,
        extra: dict[str, Any] | None = None,
    ) -> None:
        url, user = split_userinfo(base_url)
        if not model:
            raise UsageError(f"no model is named for {url}; write {url}#NAME")
        self._model, self._url = model, url
        self._name = name or (f"openai:{model}" if url == OPENAI_URL else f"{url}#{model}")
        self._max_n, self._note, self._stream = max_n, context_note, stream
        self._extra = dict(extra or {})
        self._secrets = tuple(s for s in ((key.reveal() if key else ""), (user[1] if user else "")) if s)
        self._client = _client(url, key, user, timeout)

    @property
    def name(self) -> str:
        """`openai:MODEL`, `URL#MODEL`, or what it was given."""
        return self._name

    @property
    def identity(self) -> str:
        """Address without user and password, and the model."""
        return f"{self._url}#{self._model}"

    def __repr__(self) -> str:
        return f"OpenAIChat({self.identity!r})"

    async def __aenter__(self) -> OpenAIChat:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def sample(self, request: Request) -> Reply:
        """`request.n` samples, or fewer with `missing` set where the server gives fewer. Raises `ModelError` and its kinds only."""
        width = self._max_n or request.n
        if request.n <= width:
            return await self._ask(request)
        parts = [part(request, at, min(width, request.n - at)) for at in range(0, request.n, width)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_caught(self._ask, p)) for p in parts]
        return joined([t.result() for t in tasks], request.n)

    async def _ask(self, request: Request) -> Reply:
        try:
            body = await self._send(self._body(request))
        except Exception as error:
            known = model_error(error, self._name, self._secrets)
            if known is None:
                raise
            if isinstance(known, ContextOverflow) and self._note:
                known = ContextOverflow(f"{known}; {self._note}")
            raise known from None
        reply = read_reply(body, request, self._name)
        if request.logprobs and not any(s.logprobs for s in reply.samples) and any(s.usable for s in reply.samples):
            raise Unsupported(f"{self._name} gives no log-probabilities; choose a method without them, or another model")
        return reply

    async def _send(self, body: dict[str, Any]) -> Any:
        """One HTTP request; the reply's JSON."""
        chat = self._client.chat.completions
        if not self._stream:
            return orjson.loads((await chat.with_raw_response.create(**body)).content)
        streaming = chat.with_streaming_response.create(**body, stream=True, stream_options={"include_usage": True})
        async with streaming as response:
            return await collect(response.iter_lines(), self._name)

    def _body(self, request: Request) -> dict[str, Any]:
        """The arguments of one chat completion."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
        }
        if request.n > 1:
            body["n"] = request.n
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seeds:
            body["seed"] = request.seeds[0] & 0x7FFFFFFF  # some servers read 32 bits, and the largest means random
        if request.schema is not None:
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.schema, "strict": True}}
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        if self._extra:
            body["extra_body"] = self._extra
        return body


def _client(url: str, key: Secret | None, user: tuple[str, str] | None, timeout: float) -> openai.AsyncOpenAI:
    """The official client: no retries, no redirects, nothing taken from the environment for a loopback address."""
    loopback = (urlsplit(url).hostname or "") in ("127.0.0.1", "::1", "localhost")
    options: dict[str, Any] = {"follow_redirects": False, "trust_env": not loopback}
    http = openai.DefaultAsyncHttpxClient(**options)
    headers: dict[str, Any] = {}
    if key is None:
        headers["Authorization"] = _basic(user) if user else openai.Omit()
    return openai.AsyncOpenAI(
        api_key=key.reveal() if key else "none",
        base_url=url,
        organization="",
        project="",
        timeout=timeout,
        max_retries=0,
        http_client=http,
        default_headers=headers,
    )


def _basic(user: tuple[str, str]) -> str:
    import base64
    from urllib.parse import unquote

    return "Basic " + base64.b64encode(":".join(map(unquote, user)).encode()).decode()


async def _caught(ask: Callable[[Request], Any], request: Request) -> Reply | ModelError:
    """A failure as a value, so that it does not cancel its siblings, which are paid for."""
    try:
        reply: Reply = await ask(request)
        return reply
    except ModelError as error:
        return error


def part(request: Request, at: int, n: int) -> Request:
    """Samples `at` to `at + n` of `request`, as a request of its own."""
    return replace(request, n=n, first=request.first + at, seeds=request.seeds[at : at + n])


def joined(parts: list[Reply | ModelError], n: int) -> Reply:
    """Replies to the parts of one request as one reply. Raises the first error when no part succeeded."""
    replies = [p for p in parts if isinstance(p, Reply)]
    errors = [p for p in parts if isinstance(p, ModelError)]
    if not replies:
        raise errors[0]
    samples = tuple(s for r in replies for s in r.samples)
    why = str(errors[0]) if errors else next((r.error for r in replies if r.error), "")
    return Reply(samples, replies[0].model, replies[0].system_fingerprint, n - len(samples), why)
