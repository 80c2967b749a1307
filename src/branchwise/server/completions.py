"""POST /v1/chat/completions: searches as a chat completion, whole or as a stream. Knows no method and no model."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import orjson
from starlette.requests import ClientDisconnect
from starlette.requests import Request as Http
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from branchwise.budget import Usage
from branchwise.server.answers import answer_of, chunk, completion, extension, new_id, usage_of
from branchwise.server.asked import Request, read_asked
from branchwise.server.chat import read_chat
from branchwise.server.faults import Refusal
from branchwise.server.progress import Narrator
from branchwise.server.search import LOG, Found, Job, Service
from branchwise.server.streaming import DONE, Gone, Outbox, Stream, data, unless_gone
from branchwise.trace import Event, Expanded

__all__ = ["Completions", "json_reply", "refused"]

GONE = 499
"""The status in the log and the metrics of a request whose client went away; nobody receives it."""


def json_reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON reply."""
    return Response(orjson.dumps(value), status, headers, "application/json")


def refused(refusal: Refusal) -> Response:
    """An error in OpenAI's form."""
    return json_reply(refusal.body(), refusal.status, refusal.headers)


class Completions:
    """The endpoint."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._specs = {name: upstream.spec for name, upstream in service.upstreams.items()}

    async def reply(self, http: Http) -> Response:
        """The reply. Never raises but on cancellation and faults in the program."""
        begun = time.monotonic()
        try:
            request = read_asked(read_chat(await _body(http)), self._service.config, self._specs)
            job = self._service.admit(request, http.state.account)
        except ClientDisconnect:
            return Response(status_code=GONE)
        except Refusal as refusal:
            self._ended(begun, refusal.status, refusal.code or "")
            return refused(refusal)
        if request.chat.stream:
            return _Streamed(self, job, begun)
        return await self._whole(http, job, begun)

    async def _whole(self, http: Http, job: Job, begun: float) -> Response:
        task = asyncio.create_task(job.run())
        try:
            founds = await unless_gone(http.receive, task)
        except Gone:
            job.abandon()
            self._ended(begun, GONE, "client_gone", await task)
            return Response(status_code=GONE)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,))
            raise
        try:
            _any_answer(founds)
            reply = json_reply(completion(founds, job.request.chat, int(time.time())))
            self._ended(begun, 200, "", founds)
        except Refusal as refusal:
            self._ended(begun, refusal.status, refusal.code or "", founds)
            reply = refused(refusal)
        return reply

    def _ended(self, begun: float, status: int, code: str, founds: Sequence[Found] = ()) -> None:
        """Count and log a request: no text of a user or a model, and no key but by its name."""
        seconds = time.monotonic() - begun
        self._service.metrics.answered(status, seconds)
        if not founds:
            LOG.info("chat %d %s %.3f s", status, code, seconds)
            return
        usage, asked = sum((found.usage for found in founds), Usage()), founds[0].asked
        cost = "unknown" if usage.cost is None else f"${usage.cost / 1e6:.6f}"
        LOG.info(
            "chat %d %s %.3f s, %s/%s on %s: %d calls, %d tokens, %s; runs %s", status, code or "ok", seconds, asked.task,
            asked.settings.method, asked.upstream, usage.calls, usage.tokens, cost, " ".join(found.run or "-" for found in founds),
        )  # fmt: skip


def _any_answer(founds: Sequence[Found]) -> None:
    """Raise the first refusal where no search has an answer."""
    refusals = [found.refusal for found in founds if found.refusal is not None]
    if len(refusals) == len(founds):
        refusals[0].more = {**extension(founds), **refusals[0].more}
        raise refusals[0]


async def _body(http: Http) -> bytes:
    """The body of a JSON request. A page of another origin cannot send one without asking first."""
    kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "the body must be JSON, sent with Content-Type: application/json", code="invalid_content_type")
    return await http.body()


class _Streamed(Response):
    """The same as a stream."""

    def __init__(self, owner: Completions, job: Job, begun: float) -> None:
        super().__init__()
        self._owner, self._job, self._begun = owner, job, begun

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Search, and send what there is to say."""
        outbox = Outbox()
        talk = _Talk(self._job.request, outbox)
        task = asyncio.create_task(self._job.run(talk.event, talk.found))
        task.add_done_callback(talk.end)
        status, code = 200, ""
        try:
            await Stream(outbox)(scope, receive, send)
            if outbox.failed is not None:
                status, code = getattr(outbox.failed, "status", 500), "in_stream"
        except Gone:
            status, code = GONE, "client_gone"
            self._job.abandon()
        except Refusal as refusal:
            status, code = refusal.status, refusal.code or ""
            await refused(refusal)(scope, receive, send)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,))
            raise
        self._owner._ended(self._begun, status, code, await task)


class _Talk:
    """Turns what happens into pieces of a stream."""

    def __init__(self, request: Request, outbox: Outbox) -> None:
        self._request, self._outbox = request, outbox
        self._name, self._created = new_id(), int(time.time())
        self._narrators = [Narrator() for _ in request.searches] if request.progress else []
        self._begun: set[int] = set()
        self._finishes: dict[int, str] = {}
        self._held: dict[int, str] = {}
        """Nothing is told before the first thought: until then a failure can still have a status of its own."""

    def event(self, index: int, event: Event) -> None:
        """Progress of one search."""
        if not self._narrators:
            return
        self._held[index] = self._held.get(index, "") + self._narrators[index].tell(event)
        thought = isinstance(event, Expanded) and event.births
        if (index in self._begun or thought) and (text := self._held.pop(index)):
            self._send(index, {"reasoning_content": text}, offered=True)

    def found(self, index: int, found: Found) -> None:
        """The answer of one search."""
        if found.refusal is None:
            text, self._finishes[index] = answer_of(found, self._request.chat)
            self._send(index, {"content": text})

    def end(self, task: asyncio.Task[list[Found]]) -> None:
        """Everything has ended: usage if asked for, or the error."""
        if task.cancelled() or task.exception() is not None:
            self._outbox.fail(Refusal(500, "a fault in the server; its log has the details", code="internal_error"), b"")
            return
        founds = task.result()
        try:
            _any_answer(founds)
        except Refusal as refusal:
            self._outbox.fail(refusal, data(refusal.body()))
            return
        chat, told = self._request.chat, {"branchwise": extension(founds)}
        ends = [chunk(self._name, self._created, chat, index, {}, finish) for index, finish in sorted(self._finishes.items())]
        if chat.stream_options is not None and chat.stream_options.include_usage:
            ends.append(ends[0] | {"choices": [], "usage": usage_of(founds)})
        ends[-1] |= told
        self._outbox.put(b"".join(map(data, ends)) + DONE)
        self._outbox.close()

    def _send(self, index: int, delta: dict[str, Any], offered: bool = False) -> None:
        if index not in self._begun:
            self._begun.add(index)
            delta = {"role": "assistant", "content": "", **delta}
        piece = data(chunk(self._name, self._created, self._request.chat, index, delta))
        if offered:
            self._outbox.offer(piece)
        else:
            self._outbox.put(piece)
