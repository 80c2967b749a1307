"""MCP over stdio: the tools `deliberate` and `compare_options`, with progress and budgets. Knows no HTTP."""

from __future__ import annotations

import asyncio
import dataclasses
import secrets
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPDeprecationWarning
from pydantic import BaseModel, Field

import branchwise
from branchwise.cli.text import plural
from branchwise.errors import UsageError
from branchwise.server.arguments import strict_tool
from branchwise.server.asked import Request, read_asked
from branchwise.server.chat import Chat
from branchwise.server.compare import MOST_OPTIONS, comparison
from branchwise.server.config import CEILINGS
from branchwise.server.faults import Refusal, of_usage
from branchwise.server.keys import OPEN_DOOR
from branchwise.server.sampling import ClientModel
from branchwise.server.search import Found, Job, Service, Upstream
from branchwise.trace import Call, Event, Expanded

__all__ = ["CLIENT", "Comparison", "Deliberation", "Judged", "Tools"]

CLIENT = "client:sampling"
"""The spec of the client's own model."""
_SETTLED = 0.02
"""Seconds without a new request after which a round of sampling is handed out."""
_PATIENCE = 600.0
"""Seconds that a search waits for its client to come back."""

Positive = Annotated[int, Field(ge=1)]


class Deliberation(BaseModel):
    """What a search found."""

    answer: str
    solved: bool | None = Field(description="true: proven by a program; null: no program can tell")
    unfinished: bool = Field(description="whether a limit cut the search short")
    stop_reason: str
    confidence: float = Field(description="mean value of the thoughts on the path, 0 to 1")
    path: list[str] = Field(description="the thoughts that lead to the answer")
    calls: int
    tokens: int
    cost_usd: float | None = Field(description="null where the price is unknown")
    run: str = Field(description="name of the trace")
    warnings: list[str]


class Judged(BaseModel):
    """One option."""

    option: str
    value: float | None = Field(description="mean of the judgements, 0 to 1")
    samples: list[float | None]
    reason: str


class Comparison(Deliberation):
    """Options in order of their value; `answer` is the recommendation."""

    options: list[Judged]


@dataclasses.dataclass
class Running:
    """A search that a call began, and that a later call may go on to wait for."""

    job: Job
    model: ClientModel | None
    task: asyncio.Task[list[Found]] = dataclasses.field(init=False)
    changed: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)
    calls: int = 0
    thoughts: int = 0
    told: int = 0
    rounds: int = 0

    def event(self, index: int, event: Event) -> None:
        """One event of the search."""
        if isinstance(event, Call):
            self.calls += len(event.samples)
        elif isinstance(event, Expanded):
            self.thoughts += len(event.births)
        self.changed.set()


class Tools:
    """The tools over a service. `rounds` is how often a client comes back with samples before it gives up (its default is 10)."""

    def __init__(self, service: Service, rounds: int = 10) -> None:
        self._service, self._rounds = service, rounds
        self._waiting: dict[str, Running] = {}

    def server(self) -> MCPServer:
        """The server with both tools."""
        tools = [strict_tool(self.deliberate, f"{_DELIBERATE} Tasks: {_tasks(self._service)}."), strict_tool(self.compare_options, _COMPARE)]
        return MCPServer(
            "branchwise", version=branchwise.__version__, log_level="WARNING",
            instructions="Searches over a language model's thoughts: deliberate for a hard problem, compare_options to choose between options.",
            tools=tools,
        )  # fmt: skip

    async def deliberate(
        self, ctx: Context[Any, Any], problem: Annotated[str, Field(min_length=1)], context: str = "", task: str | None = None,
        method: str | None = None, k: Positive | None = None, breadth: Positive | None = None, depth: Positive | None = None,
        samples: Positive | None = None, max_calls: Positive | None = None, max_tokens_total: Positive | None = None,
        max_cost: Annotated[float, Field(gt=0)] | None = None, max_seconds: Annotated[float, Field(gt=0)] | None = None, seed: int | None = None,
    ) -> Deliberation | types.InputRequiredResult:  # fmt: skip
        """See _DELIBERATE."""
        own = {
            "k": k, "breadth": breadth, "depth": depth, "samples": samples, "max_calls": max_calls, "max_tokens_total": max_tokens_total,
            "max_cost": max_cost, "max_seconds": max_seconds, "seed": seed,
        }  # fmt: skip

        def asked() -> Request:
            config = self._service.config
            name = (task or config.task).lower()
            found = config.tasks.get(name)
            default = found.default_method if found is not None else "io"
            messages: list[dict[str, str]] = [{"role": "user", "content": problem}]
            if context.strip():
                messages.insert(0, {"role": "system", "content": context})
            chat = Chat.model_validate({"model": f"{name}/{method or default}", "messages": messages, "branchwise": own})
            return read_asked(chat, config, self._specs())

        outcome = await self._run(ctx, asked)
        return outcome if isinstance(outcome, types.InputRequiredResult) else Deliberation(**_told(outcome))

    async def compare_options(
        self, ctx: Context[Any, Any], question: Annotated[str, Field(min_length=1)],
        options: Annotated[list[str], Field(min_length=2, max_length=MOST_OPTIONS)],
        criteria: list[str] | None = None, context: str = "", samples: Annotated[int, Field(ge=1, le=CEILINGS["samples"])] = 2,
        max_calls: Positive | None = None, seed: int | None = None,
    ) -> Comparison | types.InputRequiredResult:  # fmt: skip
        """See _COMPARE."""

        def asked() -> Request:
            own = {"max_calls": max_calls, "seed": seed}
            chat = Chat.model_validate({"model": "open/best_first", "messages": [{"role": "user", "content": question}], "branchwise": own})
            base = read_asked(chat, self._service.config, self._specs())
            found, compared = comparison(question, options, criteria or [], context, samples)
            (search,) = base.searches
            search = dataclasses.replace(search, problem=found, method=compared, own=True)
            return dataclasses.replace(base, searches=(search,))

        outcome = await self._run(ctx, asked)
        return outcome if isinstance(outcome, types.InputRequiredResult) else Comparison(**_told(outcome), options=_judged(outcome))

    def _specs(self) -> dict[str, str]:
        return {name: upstream.spec for name, upstream in self._service.upstreams.items()}

    async def _run(self, ctx: Context[Any, Any], asked: Callable[[], Request]) -> Found | types.InputRequiredResult:
        """Begin a search, or go on with the one whose samples come back, until it ends or needs samples. Raises `ToolError`."""
        state = ctx.request_state
        running = self._begin(ctx, asked) if state is None else self._waiting.pop(state, None)
        if running is None:
            raise ToolError("the search that these samples belong to has ended")
        if running.model is not None and state is not None:
            running.model.answered(ctx.input_responses or {})
        try:
            return await self._attend(ctx, running)
        except asyncio.CancelledError:
            running.job.abandon()
            await asyncio.wait((running.task,))
            raise

    def _begin(self, ctx: Context[Any, Any], asked: Callable[[], Request]) -> Running:
        try:
            request = asked()
            service = self._service
            changed: list[Callable[[], None]] = []
            model = None
            if next(iter(service.upstreams.values())).spec == CLIENT:
                model = ClientModel(_back_channel(ctx), lambda: changed[0]())
                service = service.over({name: Upstream(CLIENT, model) for name in service.upstreams})
            account = service.keys.find(OPEN_DOOR)
            assert account is not None
            running = Running(service.admit(request, account), model)
        except UsageError as error:
            raise ToolError(str(of_usage(error))) from None
        except (Refusal, ValueError) as error:
            raise ToolError(str(error)) from None
        changed.append(running.changed.set)
        running.task = asyncio.create_task(running.job.run(running.event))
        running.task.add_done_callback(lambda _: running.changed.set())
        return running

    async def _attend(self, ctx: Context[Any, Any], running: Running) -> Found | types.InputRequiredResult:
        while not running.task.done():
            await running.changed.wait()
            running.changed.clear()
            if running.calls > running.told:
                running.told = running.calls
                total = running.job.request.searches[0].budget.calls
                await ctx.report_progress(running.calls, total, f"{plural(running.calls, 'call')}, {plural(running.thoughts, 'thought')}")
            if running.model is not None and running.model.pending and await self._settled(running):
                return self._hand_out(running)
        (found,) = running.task.result()
        if found.refusal is not None:
            raise ToolError(str(found.refusal))
        return found

    async def _settled(self, running: Running) -> bool:
        """Whether the search has nothing to do until its samples come."""
        size = -1
        while not running.task.done() and size != len(running.model.pending if running.model is not None else ()):
            size = len(running.model.pending if running.model is not None else ())
            await asyncio.sleep(_SETTLED)
        return not running.task.done()

    def _hand_out(self, running: Running) -> types.InputRequiredResult:
        assert running.model is not None
        running.rounds += 1
        if running.rounds > self._rounds:
            running.job.abandon()
            text = f"the search needs more than the {self._rounds} rounds of samples that clients take"
            raise ToolError(f"{text}; lower depth, or use a method of few rounds (io, cot, tot_bfs)")
        token = secrets.token_urlsafe(16)
        self._waiting[token] = running

        def forget() -> None:
            if self._waiting.pop(token, None) is not None:
                running.job.abandon()

        asyncio.get_running_loop().call_later(_PATIENCE, forget)
        return types.InputRequiredResult(input_requests=running.model.requests(), request_state=token)

    async def close(self) -> None:
        """End every search; traces are whole when this returns."""
        self._service.stop()
        for running in self._waiting.values():
            running.job.abandon()
        if tasks := [running.task for running in self._waiting.values()]:
            await asyncio.wait(tasks)


def _back_channel(ctx: Context[Any, Any]) -> Any:
    """How to ask the client in the middle of a call; `None` where its protocol hands samples out in rounds. Raises `Refusal`."""
    capabilities = ctx.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise Refusal(400, "this client does not sample for servers; start `branchwise mcp` with --model SPEC")
    session = ctx.session
    if (ctx.protocol_version or "") >= "2026-07-28" or not session.can_send_request:
        return None

    async def ask(params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            waiting = session.create_message(
                params.messages, max_tokens=params.max_tokens, system_prompt=params.system_prompt, temperature=params.temperature,
                stop_sequences=params.stop_sequences, related_request_id=ctx.request_id,
            )  # fmt: skip
        result: types.CreateMessageResult = await waiting
        return result

    return ask


def _told(found: Found) -> dict[str, Any]:
    result = found.result
    assert result is not None and result.answer is not None  # noqa: PT018
    usage = found.usage
    return {
        "answer": result.answer, "solved": result.solved, "unfinished": result.unfinished, "stop_reason": result.stop_reason,
        "confidence": round(result.confidence, 6), "path": result.path, "calls": usage.calls, "tokens": usage.tokens,
        "cost_usd": None if usage.cost is None else usage.cost / 1e6, "run": found.run, "warnings": list(result.warnings),
    }  # fmt: skip


def _judged(found: Found) -> list[Judged]:
    assert found.result is not None
    nodes = [node for node in found.result.tree if node.depth == 1]
    nodes.sort(key=lambda node: (node.value is None, -(node.value or 0.0), node.birth))
    return [Judged(option=node.thought, value=node.value, samples=list(node.samples), reason=node.reason) for node in nodes]


def _tasks(service: Service) -> str:
    return "; ".join(f"{name} ({task.summary}; methods {', '.join(task.methods)})" for name, task in service.config.tasks.items())


_DELIBERATE = (
    "Solve a hard problem or question by searching over several lines of thought, judging and pruning them, under a budget. `context` is material "
    "to read. `method` chooses the search, `k`, `breadth`, `depth` and `samples` its size (each only where the method has it); `max_calls`, "
    "`max_tokens_total`, `max_cost` (dollars) and `max_seconds` bound what it may spend."
)
_COMPARE = (
    "Compare 2 to 20 given options for a question: each is scored `samples` times by itself, by the `criteria` where some are given; the best one is "
    "written up against the strongest other one."
)

