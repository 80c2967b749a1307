"""Any server that speaks OpenAI's chat completions, as a LanguageModel. Knows no retries, budget or tree; every reply is checked."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import openai
import orjson

from branchwise.budget import Usage
from branchwise.errors import ContextOverflow, ModelError, PermanentError, Unsupported, UsageError
from branchwise.model.abilities import Abilities
from branchwise.model.base import Outcome, Reply, Request
from branchwise.model.faults import bytes_before_cut, model_error, perhaps_paid
from branchwise.model.parts import caught, joined, part
from branchwise.model.replies import cut, estimate, read_reply
from branchwise.model.secrets import OPENAI_URL, Secret, split_userinfo
from branchwise.model.streams import Received, collect
from branchwise.model.structure import add_structure, checked

__all__ = ["OpenAIChat"]

_RECEIVED: ContextVar[Received | None] = ContextVar("received", default=None)
"""Of the request that this task sends: the HTTP library tells it when the reply begins."""
MOST_SHAPES = 12
"""How many times one request may be refused and shaped anew: once for each thing that can be refused."""


class OpenAIChat:
    """`model` at `base_url` (default: OpenAI's own), through the official client with its own retries switched off.

    `key` is sent to the host of `base_url` only: redirects are not followed. `timeout` is seconds for one HTTP request. `abilities` is what
    is known of the server beforehand; the rest is learned from what it refuses. `context_note` is added to errors of too long a prompt.
    `stream` reads replies as streams, for servers that count each of n samples only there. `extra` is merged into each body.
    """

    def __init__(
        self,
        model: str,
        base_url: str = OPENAI_URL,
        *,
        key: Secret | None = None,
        name: str = "",
        timeout: float = 600.0,
        abilities: Abilities | None = None,
        context_note: str = "",
        stream: bool = False,
        extra: dict[str, Any] | None = None,
    ) -> None:
        url, user = split_userinfo(base_url)
        if not model:
            raise UsageError(f"no model is named for {url}; write {url}#NAME")
        self._model, self._url = model, url
        self._name = name or (f"openai:{model}" if url == OPENAI_URL else f"{url}#{model}")
        self.abilities = abilities or Abilities(self._name)
        self._note, self._stream = context_note, stream
        self._extra = dict(extra or {})
        self._secrets = tuple(s for s in ((key.reveal() if key else ""), (user[1] if user else "")) if s)
        self._client = _client(url, key, user, timeout)
        self._headers: dict[str, Any] = {} if key or user else {"Authorization": openai.Omit()}

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

    async def sample(self, request: Request, extra: dict[str, Any] | None = None) -> Reply:
        """`request.n` samples, or fewer with `missing` set where the server gives fewer. Raises `ModelError` and its kinds only.

        `extra` goes into this request's body.
        """
        if request.logprobs and self.abilities.logprobs is False:
            raise self._no_logprobs()
        width = self.abilities.max_n or request.n
        if request.n > width:
            return await self._split(request, width, extra)
        try:
            return await self._ask(request, extra)
        except _TooMany:
            return await self._split(request, self.abilities.max_n or 1, extra)

    async def _split(self, request: Request, width: int, extra: dict[str, Any] | None) -> Reply:
        parts = [part(request, at, min(width, request.n - at)) for at in range(0, request.n, width)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(caught(self.sample(p, extra))) for p in parts]
        results = [t.result() for t in tasks]
        lost = [(p.n, *r.spent) for p, r in zip(parts, results, strict=True) if isinstance(r, ModelError)]
        first = next((r for r in results if isinstance(r, ModelError)), None)
        rough = any(isinstance(r, ModelError) and r.estimated for r in results)
        calls, prompt, completion = (sum(each) for each in zip(*lost, strict=True)) if lost else (0, 0, 0)
        failed = Usage(calls=calls, requests=len(lost), prompt_tokens=prompt, completion_tokens=completion, estimated=rough)
        if first is not None and len(lost) == len(results):
            first.spent, first.estimated = (prompt, completion), rough
        return joined(results, request.n, failed if lost else None)

    async def _ask(self, request: Request, extra: dict[str, Any] | None) -> Reply:
        """One request, in as many shapes as it takes until the server does not refuse it."""
        able = self.abilities
        for refusals in range(MOST_SHAPES):
            modes = able.schema_mode, able.choice_mode
            body, received = able.shape(self._body(request, extra)), Received()
            try:
                reply = read_reply(await self._send(body, received), request, self._name)
            except Exception as error:
                if isinstance(error, openai.APIStatusError) and able.learn(error.status_code, error.body, body):
                    if request.n > (able.max_n or request.n):
                        raise _TooMany from None
                    if request.logprobs and able.logprobs is False:
                        raise self._no_logprobs() from None
                    continue
                raise _charged(await self._known(error), error, request, received) from None
            return self._judged(_with_requests(reply, refusals), request, "stop" in body, modes)
        raise PermanentError(f"{self._name}: refuses every shape of the request; last: {able.notices[-1] if able.notices else 'unknown'}")

    async def _known(self, error: Exception) -> BaseException:
        """The error of ours for `error`, with advice where the prompt is too long; a bug passes as it is."""
        known = model_error(error, self._name, self._secrets)
        if not isinstance(known, ContextOverflow):
            return known or error
        return ContextOverflow(f"{known}; {self._note or await self._advertised()}")

    async def _advertised(self) -> str:
        """What the server says of its context, to be held against what it refused (case: a context divided by parallel slots)."""
        advice = "shorten the prompt, or serve the model with a larger context"
        try:
            listed = orjson.loads((await self._client.models.with_raw_response.list()).content)["data"]
            entry = next((m for m in listed if m.get("id") == self._model), listed[0])
            most = next(entry[k] for k in ("context_length", "max_model_len", "context_window") if entry.get(k))
        except Exception:  # advice only: whatever goes wrong here must not hide the error
            return advice
        return f"the server advertises {most} tokens: where it divides them by parallel slots, each gets less; give it fewer, or {advice}"

    def _judged(self, reply: Reply, request: Request, stopped: bool, modes: tuple[str, str]) -> Reply:
        """`reply` after stops, structure and what it says of the backend's abilities."""
        able = self.abilities
        if any(s.reasoning for s in reply.samples):
            able.reasons = True
        elif able.reasons is None and any(s.usable for s in reply.samples):
            able.reasons = False
        if request.logprobs:
            self._check_logprobs(reply, request)
        samples = reply.samples if stopped or not request.stop else tuple(cut(s, request.stop) for s in reply.samples)
        if request.schema is not None or request.choices:
            samples = tuple(checked(s, request) for s in samples)
            kind = "choice" if request.choices else "schema"
            mode = modes[1 if request.choices else 0]
            if all(s.outcome is Outcome.INVALID for s in samples) and not any(s.finish == "length" for s in samples):
                able.next_mode(mode, kind)
        reply = replace(reply, samples=samples)
        if reply.missing and len(samples) < request.n:
            able.limit_n(len(samples))
        return _one_of_equals(reply, request, able)

    def _check_logprobs(self, reply: Reply, request: Request) -> None:
        usable = [s for s in reply.samples if s.usable]
        if usable and not any(s.logprobs for s in usable):
            self.abilities.logprobs = False
            raise self._no_logprobs()
        if usable and request.logprobs > 1 and all(len(token) < 2 for s in usable for token in s.logprobs or ()):
            raise Unsupported(f"{self._name} gives the log-probability of the chosen token only; choose another method or model")

    def _no_logprobs(self) -> Unsupported:
        return Unsupported(f"{self._name} gives no log-probabilities; choose a method without them, or another model")

    async def _send(self, body: dict[str, Any], received: Received) -> Any:
        """One HTTP request; the reply's JSON. What comes of it is noted in `received` as it comes."""
        _RECEIVED.set(received)
        if not self._stream:  # the typed method checks each field of the body again, which takes a sixth of a call's time
            fields = {k: v for k, v in body.items() if k not in ("extra_headers", "extra_body")} | body.get("extra_body", {})
            content = await self._client.post("/chat/completions", cast_to=bytes, body=fields, options={"headers": body["extra_headers"]})
            return orjson.loads(content)
        chat = self._client.chat.completions
        streaming = chat.with_streaming_response.create(**body, stream=True, stream_options={"include_usage": True})
        async with streaming as response:
            return await collect(response.iter_lines(), self._name, received)

    def _body(self, request: Request, extra: dict[str, Any] | None) -> dict[str, Any]:
        """The arguments of one chat completion. Stops are sent only to a backend known not to reason: others apply them there too."""
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "extra_headers": self._headers,
        }
        if self._extra or extra:
            body["extra_body"] = {**self._extra, **(extra or {})}
        if request.n > 1:
            body["n"] = request.n
        if request.stop and self.abilities.reasons is False:
            body["stop"] = list(request.stop)
        if request.seeds:
            body["seed"] = request.seeds[0] & 0x7FFFFFFF  # some servers read 32 bits, and the largest means random
        if request.logprobs:
            body |= {"logprobs": True, "top_logprobs": request.logprobs}
        add_structure(body, request, self.abilities.schema_mode, self.abilities.choice_mode)
        return body


class _TooMany(Exception):
    """The server refuses so many samples in one request; it is asked again in parts."""


def _charged(known: BaseException, error: Exception, request: Request, received: Received) -> BaseException:
    """`known` with an estimate of what a reply cost that was cut or did not come in time, where the server did not say: a quarter of the
    bytes of the prompt and of what came. An error that comes in place of the text costs nothing."""
    cut_off = perhaps_paid(error, received.begun) or (received.begun and "incomplete" in str(known))
    if isinstance(known, ModelError) and known.spent == (0, 0) and (cut_off or received.pieces):
        prompt = estimate("".join(message.content for message in request.messages))
        completion = estimate(received.text) if received.pieces else (bytes_before_cut(error) or 0) // 4
        known.spent, known.estimated = (prompt, min(completion, request.max_tokens * request.n)), True
    return known


def _with_requests(reply: Reply, more: int) -> Reply:
    """`reply` with the requests that were refused before it."""
    if not more:
        return reply
    first = replace(reply.samples[0], usage=reply.samples[0].usage + Usage(requests=more))
    return replace(reply, samples=(first, *reply.samples[1:]))


def _one_of_equals(reply: Reply, request: Request, able: Abilities) -> Reply:
    """One sample of n that are all the same under one seed: the server draws them alike, and the rest must be asked for one by one."""
    texts = {s.text for s in reply.samples}
    alike = len(reply.samples) > 1 and len(texts) == 1 and len(next(iter(texts))) >= 24
    if not alike or not request.seeds or request.temperature < 0.3 or request.schema is not None or request.choices:
        return reply
    able.limit_n(1)
    spent = sum((s.usage for s in reply.samples[1:]), reply.samples[0].usage)
    first = replace(reply.samples[0], usage=spent)
    return replace(reply, samples=(first,), missing=request.n - 1, error="the server gives equal samples under one seed")


def _client(url: str, key: Secret | None, user: tuple[str, str] | None, timeout: float) -> openai.AsyncOpenAI:
    """The official client: no retries, no redirects, nothing taken from the environment for a loopback address."""
    loopback = (urlsplit(url).hostname or "") in ("127.0.0.1", "::1", "localhost")
    options: dict[str, Any] = {"follow_redirects": False, "trust_env": not loopback, "event_hooks": {"response": [_begins]}}
    http = openai.DefaultAsyncHttpxClient(**options)
    return openai.AsyncOpenAI(
        api_key=key.reveal() if key else "none",
        base_url=url,
        organization="",
        project="",
        timeout=timeout,
        max_retries=0,
        http_client=http,
        default_headers={"Authorization": _basic(user)} if user and not key else {},
    )


async def _begins(response: Any) -> None:
    """The head of a reply is here, and its body follows."""
    received = _RECEIVED.get()
    if received is not None and response.is_success:
        received.begun = True


def _basic(user: tuple[str, str]) -> str:
    import base64
    from urllib.parse import unquote

    return "Basic " + base64.b64encode(":".join(map(unquote, user)).encode()).decode()
