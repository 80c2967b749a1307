"""A chat-completions server that misbehaves on request, one quirk a path. Knows nothing of Branchwise: any client can be tested with it.

    python tests/fault_server.py [--port 8099]     then point a client at http://127.0.0.1:8099/QUIRK/v1
    python tests/fault_server.py --list            prints every quirk with what it does

A reply's text depends on prompt, seed and sample, so that lost, doubled or mixed-up replies can be told. `GET /QUIRK/log` gives the request
bodies seen so far. A quirk may take an argument after a colon: `retry_after:0.2`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

Json = dict[str, Any]


@dataclass
class Call:
    """One request as a quirk sees it. `count` is how many requests this quirk had before; `argument` is what follows the colon."""

    body: Json
    headers: dict[str, str]
    argument: str
    count: int

    @property
    def n(self) -> int:
        return int(self.body.get("n") or 1)


@dataclass
class Answer:
    """What is sent back. `cut` closes the connection after that many bytes of the body, `reset` rudely, and `silence` is seconds before that.

    `delay` is seconds before the answer.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    reset: bool = False
    silence: float = 0.0
    delay: float = 0.0


Quirk = Callable[[Call], Answer]
QUIRKS: dict[str, Quirk] = {}


def quirk(function: Quirk) -> Quirk:
    """Register a quirk under its function's name; the docstring is its documentation."""
    QUIRKS[function.__name__] = function
    return function


# What a good server says


def text_of(body: Json, sample: int) -> str:
    """A text that depends on the last message, the seed and the sample."""
    return f"reply {sample} to {body['messages'][-1]['content'][-60:]!r} (seed {body.get('seed')})"


def choice(body: Json, i: int, content: Any = None, finish: str = "stop", **message: Any) -> Json:
    content = text_of(body, i) if content is None else content
    for stop in body.get("stop") or ():
        content = content.split(stop)[0] if isinstance(content, str) else content
    return {"index": i, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}


def usage(body: Json, completion: int, **details: Any) -> Json:
    prompt = sum(len(m["content"].encode()) for m in body["messages"]) // 4 + 1
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **details}


def completion(body: Json, choices: list[Json] | None = None, **changes: Any) -> Json:
    choices = [choice(body, i) for i in range(int(body.get("n") or 1))] if choices is None else choices
    fields = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body.get("model", "m"), "system_fingerprint": "fp_1",
        "choices": choices, "usage": usage(body, 10 * len(choices)),
    }  # fmt: skip
    return {**fields, **changes}


def ok(call: Call, *choices: Json, **changes: Any) -> Answer:
    return Answer(body=completion(call.body, list(choices) or None, **changes))


def fault(status: int, message: str, code: str | None = None, param: str | None = None, **headers: str) -> Answer:
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": param}
    return Answer(status, {"error": error}, {k.replace("_", "-"): v for k, v in headers.items()})


def sse(events: list[Any], done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(e)}\n\n" for e in events] + (["data: [DONE]\n\n"] if done else [])
    return "".join(lines).encode()


def chunk(text: str = "", finish: str | None = None, index: int = 0) -> Json:
    return {"id": "c", "model": "m", "choices": [{"index": index, "delta": {"content": text}, "finish_reason": finish}]}


# The server


class FaultServer:
    """`async with FaultServer() as server:` listens on loopback; `server.url("n_ignored")` is a base URL, `server.seen` the bodies."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.seen: dict[str, list[Json]] = {}
        self.headers: dict[str, list[dict[str, str]]] = {}
        self.open = self.most_open = 0
        self.aborted = 0
        """Requests whose client went away before the answer."""
        self._server: asyncio.Server | None = None

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}/v1"

    async def __aenter__(self) -> FaultServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 24)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ", 2)
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
                data = await reader.readexactly(int(headers.get("content-length", 0)))
                self.open += 1
                self.most_open = max(self.most_open, self.open)
                try:
                    answer = self._answer(method, path, headers, data)
                    if answer.delay and await self._left(reader, answer.delay):
                        self.aborted += 1
                        return
                finally:
                    self.open -= 1
                if not await self._send(writer, answer):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @staticmethod
    async def _left(reader: asyncio.StreamReader, delay: float) -> bool:
        """Wait; whether the client closed its side meanwhile."""
        try:
            return await asyncio.wait_for(reader.read(1), delay) == b""
        except TimeoutError:
            return False

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        """Whether the connection stays open."""
        raw = isinstance(answer.body, bytes)
        data: bytes = answer.body if raw else json.dumps(answer.body).encode()
        kind = "text/event-stream" if raw and data.startswith(b"data:") else "application/json"
        headers = {"content-type": kind, "content-length": str(len(data)), **answer.headers}
        head = f"HTTP/1.1 {answer.status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
        writer.write(head.encode("latin-1") + data[: answer.cut])
        await writer.drain()
        if answer.cut is not None and (answer.silence or answer.reset):  # a reset that came at once would overtake the data
            await asyncio.sleep(answer.silence or 0.05)
        if answer.reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return answer.cut is None

    def _answer(self, method: str, path: str, headers: dict[str, str], data: bytes) -> Answer:
        name, _, rest = path.lstrip("/").partition("/")
        kind, _, argument = unquote(name).partition(":")
        if kind not in QUIRKS:
            return fault(404, f"no quirk {kind}; there are {', '.join(sorted(QUIRKS))}")
        seen = self.seen.setdefault(name, [])
        if method == "GET":
            models = {"object": "list", "data": [{"id": "m", "object": "model", "context_length": 4096}]}
            return Answer(body=seen if rest == "log" else models)
        body = json.loads(data)
        call = Call(body, headers, argument, len(seen))
        seen.append(body)
        self.headers.setdefault(name, []).append(headers)
        answer = QUIRKS[kind](call)
        if body.get("stream") and answer.status == 200 and isinstance(answer.body, dict) and "choices" in answer.body:
            answer.body = streamed(answer.body)
        return answer


def streamed(body: Json) -> bytes:
    """A whole completion as a stream, two pieces a choice."""
    events: list[Json] = []
    for c in body["choices"] or ():
        text = c["message"]["content"] or ""
        events += [chunk(text[: len(text) // 2], None, c["index"]), chunk(text[len(text) // 2 :], c["finish_reason"], c["index"])]
    if "usage" in body:
        events.append({"choices": [], "usage": body["usage"]})
    return sse(events)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        description="A server that speaks OpenAI's chat completions and misbehaves on request: http://127.0.0.1:PORT/QUIRK/v1, model m.",
        allow_abbrev=False,
    )
    parser.add_argument("--port", type=int, default=8099, help="where to listen, on this machine only (default: 8099; 0: any that is free)")
    parser.add_argument("--list", action="store_true", help="print every quirk and what it does, and stop")
    flags = parser.parse_args(arguments)
    if flags.list:
        for name, function in sorted(QUIRKS.items()):
            print(f"{name:24} {' '.join((function.__doc__ or '').split())}")  # noqa: T201
        return

    async def forever() -> None:
        async with FaultServer(flags.port) as server:
            print(f"listening; try {server.url('n_ignored')}", file=sys.stderr)  # noqa: T201
            await asyncio.Event().wait()

    asyncio.run(forever())


def _load_quirks() -> None:
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    path = Path(__file__).with_name("fault_quirks.py")
    spec = spec_from_file_location("fault_quirks", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules.setdefault("fault_server", sys.modules[__name__])
    spec.loader.exec_module(module)


_load_quirks()

if __name__ == "__main__":
    main(sys.argv[1:])
