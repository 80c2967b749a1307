"""A reward model behind an endpoint: the form of question and reply, faults, money; against a server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from branchwise import BestFirst, Budget, Method, Propose, RetryPolicy, Routed, UsageError, best_path, solve
from branchwise.errors import ContextOverflow, ModelError, PermanentError, TransientError, Unsupported
from branchwise.model.base import Message, Request
from branchwise.model.reward import RewardEndpoint, read_reward
from branchwise.model.scripted import Scripted
from branchwise.model.secrets import Secret
from branchwise.thought.reward_model import RewardModel
from support.models import Says
from support.worlds import PROMPTS, Drawn

ASKED = Request((Message("user", "a problem"), Message("assistant", "one\ntwo")), 1, "evaluate", 0.0, 1)


class Task(Drawn):
    prompts = PROMPTS


class Endpoint:
    """What it was asked, and what it replies: a status and a body, or a function of the body."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.reply: Any = {"value": 0.5}
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.bodies.append(body)
            state.headers.append(dict(self.headers))
            reply = state.reply(body) if callable(state.reply) else state.reply
            data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(state.status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/score"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ({"value": 0.25, "reason": "short"}, {"value": 0.25, "reason": "short"}), ({"score": 1}, {"value": 1}),
        ({"data": [{"index": 0, "object": "score", "score": 0.75}]}, {"value": 0.75}),
        ({"data": [{"index": 0, "object": "pooling", "data": [0.1, 0.9]}]}, {"value": 0.9}),
        ({"data": [{"data": [[0.1], [0.8]]}]}, {"value": 0.8}),
        ({"value": True}, None), ({"value": "0.5"}, None), ({"data": []}, None), ({}, None), ([0.5], None), ({"value": float("nan")}, None),
    ],
)  # fmt: skip
def test_forms_of_the_reply(reply: object, value: object) -> None:
    assert read_reward(reply) == value


async def test_the_question_is_the_problem_and_the_state(endpoint: Endpoint) -> None:
    endpoint.reply = {"value": 0.5, "usage": {"prompt_tokens": 12, "total_tokens": 12}}
    async with RewardEndpoint(endpoint.url, "judge", key=Secret("sk-secret-secret")) as model:
        reply = await model.sample(ASKED)
        assert (model.name, model.identity) == (f"reward:{endpoint.url}#judge",) * 2
    assert endpoint.bodies == [
        {
            "problem": "a problem", "state": "one\ntwo", "model": "judge",
            "messages": [{"role": "user", "content": "a problem"}, {"role": "assistant", "content": "one\ntwo"}],
        }
    ]  # fmt: skip
    assert endpoint.headers[0]["Authorization"] == "Bearer sk-secret-secret"
    assert reply.samples[0].usage.calls == 1
    assert reply.samples[0].usage.prompt_tokens == 12


@pytest.mark.parametrize(
    ("status", "reply", "error"),
    [
        (500, b"oops", TransientError), (429, {"error": "slow down"}, TransientError), (401, {"detail": "no"}, PermanentError),
        (302, b"", PermanentError), (400, {"error": "maximum context length is 512"}, ContextOverflow),
        (200, b"not json", TransientError), (200, {"reward": 1}, TransientError),
    ],
)  # fmt: skip
async def test_faults_are_errors_of_ours(endpoint: Endpoint, status: int, reply: object, error: type[ModelError]) -> None:
    endpoint.status, endpoint.reply = status, reply
    async with RewardEndpoint(endpoint.url) as model:
        with pytest.raises(error):
            await model.sample(ASKED)


async def test_no_server_is_transient_and_text_is_not_its_trade(endpoint: Endpoint) -> None:
    async with RewardEndpoint("http://127.0.0.1:9/score") as model:
        with pytest.raises(TransientError):
            await model.sample(ASKED)
        with pytest.raises(Unsupported):
            await model.sample(Request((Message("user", "write"),)))


async def test_a_run_is_valued_metered_and_taped(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.reply = lambda body: {"value": 0.9 if body["state"] == "two" else 0.4}
    method = Method(generate=Propose(k=2), evaluate=RewardModel(), search=BestFirst(depth=1), pick=best_path)
    trace = tmp_path / "run.jsonl"
    async with RewardEndpoint(endpoint.url) as reward:
        model = Routed(Scripted([{"replies": ["1. one\n2. two"]}]), {"evaluate": reward})
        result = await solve(Task({}), method, model, trace=trace, budget=Budget(calls=20))
        again = await solve(Task({}), method, model, resume=trace)
    assert result.path == again.path == ["two"]
    assert result.by_role["evaluate"].calls == 2
    assert len(endpoint.bodies) == 2


async def test_a_fault_at_one_state_leaves_it_unknown_after_the_retries(endpoint: Endpoint) -> None:
    endpoint.reply = lambda body: {"value": 0.4} if body["state"] == "two" else {}
    method = Method(generate=Propose(k=2), evaluate=RewardModel(), search=BestFirst(depth=1), pick=best_path)
    async with RewardEndpoint(endpoint.url) as reward:
        model = Routed(Scripted([{"replies": ["1. one\n2. two"]}]), {"evaluate": reward})
        result = await solve(Task({}), method, model, retry=RetryPolicy(attempts=2, base=0))
    assert [node.value for node in result.tree] == [None, 0.4]
    assert len(endpoint.bodies) == 3


@pytest.mark.parametrize(
    ("squash", "reply", "value"),
    [("none", "0.3", 0.3), ("none", "1.7", None), ("none", "-0.1", None), ("sigmoid", "0", 0.5), ("sigmoid", "-1e9", 0.0), ("sigmoid", "1e9", 1.0)],
)
async def test_a_value_out_of_range_is_unknown_unless_it_is_squashed(squash: Any, reply: str, value: float | None) -> None:
    found = (await RewardModel(squash=squash)(Says(f'{{"value": {reply}}}'), Task({}), [("a",)]))[0]
    assert found.value == (None if value is None else pytest.approx(value))
    with pytest.raises(UsageError):
        RewardModel(squash="tanh")  # type: ignore[arg-type]
