"""The client's own model, reached by MCP sampling, as a LanguageModel. Knows no search.

Up to protocol 2025-11-25 the server asks in the middle of a call. Since 2026-07-28 it cannot: what is to be sampled is handed out in rounds,
as the result of the call, and the call comes back with the replies. Both end in the same futures here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from branchwise.budget import Usage
from branchwise.errors import PermanentError, Unsupported
from branchwise.model.base import Outcome, Reply, Request, Sample
from branchwise.model.scripted import tokens

__all__ = ["ClientModel"]

Ask = Callable[[types.CreateMessageRequestParams], Awaitable[types.CreateMessageResult]]


class ClientModel:
    """Samples through `ask`, or, where there is none, puts the requests into `pending` and waits for `answered`."""

    name = identity = "client:sampling"

    def __init__(self, ask: Ask | None, changed: Callable[[], None]) -> None:
        self._ask, self._changed = ask, changed
        self._number = 0
        self.pending: dict[str, tuple[types.CreateMessageRequestParams, asyncio.Future[types.CreateMessageResult]]] = {}

    async def sample(self, request: Request) -> Reply:
        """`request.n` samples; tokens are estimated, as clients do not tell them."""
        if request.logprobs or request.choices:
            raise Unsupported("a client that samples gives no log-probabilities; choose another evaluator")
        results = await asyncio.gather(*(self._one(request) for _ in range(request.n)))
        return Reply(tuple(self._sample(request, result, i) for i, result in enumerate(results)), model=results[0].model)

    async def _one(self, request: Request) -> types.CreateMessageResult:
        params = _params(request)
        if self._ask is not None:
            try:
                return await self._ask(params)
            except MCPError as error:
                raise PermanentError(f"the client did not sample: {error}") from None
        self._number += 1
        key = f"call-{self._number}"
        reply: asyncio.Future[types.CreateMessageResult] = asyncio.get_running_loop().create_future()
        self.pending[key] = (params, reply)
        self._changed()
        try:
            return await reply
        finally:
            self.pending.pop(key, None)

    def requests(self) -> types.InputRequests:
        """What waits for the client."""
        return {key: types.CreateMessageRequest(params=params) for key, (params, _) in self.pending.items()}

    def answered(self, responses: Mapping[str, Any]) -> None:
        """The replies of a round; what the client left out fails."""
        for key, (_, reply) in list(self.pending.items()):
            result = responses.get(key)
            if reply.done():
                continue
            if isinstance(result, types.CreateMessageResult):
                reply.set_result(result)
            else:
                reply.set_exception(PermanentError("the client sent no reply to what it was asked to sample"))

    def _sample(self, request: Request, result: types.CreateMessageResult, index: int) -> Sample:
        text = result.content.text if isinstance(result.content, types.TextContent) else ""
        prompt = tokens("".join(message.content for message in request.messages)) if index == 0 else 0
        usage = Usage(1, 1, 0, prompt, 0, tokens(text), estimated=True)
        outcome = Outcome.LENGTH if result.stop_reason == "maxTokens" else Outcome.OK if text.strip() else Outcome.EMPTY
        return Sample(text, outcome, finish=result.stop_reason or "", usage=usage)


def _params(request: Request) -> types.CreateMessageRequestParams:
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    messages = [
        types.SamplingMessage(role=message.role, content=types.TextContent(type="text", text=message.content))
        for message in request.messages
        if message.role != "system"
    ]
    return types.CreateMessageRequestParams(
        messages=messages, system_prompt=system or None, max_tokens=request.max_tokens, temperature=request.temperature,
        stop_sequences=list(request.stop) or None,
    )  # fmt: skip
