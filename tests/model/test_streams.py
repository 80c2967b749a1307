"""A stream is put together as if it had come whole; no event of it is trusted to be of its form."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.errors import ModelError, TransientError
from branchwise.model.base import Message, Outcome, Reply, Request
from branchwise.model.replies import read_reply
from branchwise.model.streams import Received, collect


async def lines(events: list[Any]) -> AsyncIterator[str]:
    for event in events:
        yield event if isinstance(event, str) else f"data: {json.dumps(event)}"


def piece(text: str = "", finish: str | None = None, **changes: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish} | changes]}


def first(**changes: Any) -> list[Any]:
    """A stream whose first event is odd, and whose second would end it well."""
    return [piece("a") | changes, piece("b", "stop")]


async def test_pieces_are_joined() -> None:
    body = await collect(lines([piece("a"), piece("b", "stop"), {"choices": [], "usage": {"completion_tokens": 2}}, "data: [DONE]", "x"]), "m")
    assert body["choices"] == [{"index": 0, "finish_reason": "stop", "message": {"content": "ab"}, "logprobs": None}]
    assert body["usage"] == {"completion_tokens": 2}


@pytest.mark.parametrize(
    "events",
    [
        first(choices=[None]),
        first(choices=["x"]),
        first(choices=[[]]),
        first(choices="abc"),
        first(choices={"index": 0}),
        first(choices=True),
        [piece("a", index=[0]), piece("b", "stop")],
        [piece("a", index={"0": 0}), piece("b", "stop")],
        [piece("a", index="0"), piece("b", "stop")],
        [piece("a", index=True), piece("b", "stop")],
        [piece("a", delta="text"), piece("b", "stop")],
        [piece("a", delta=["text"]), piece("b", "stop")],
        [piece("a", delta=7), piece("b", "stop")],
        [piece("a", finish_reason=["stop"])],
        [piece("a", finish_reason={"a": 1})],
        [piece("a", finish_reason=True)],
        [None],
        [[]],
        [5],
        ["data: {"],
        ["data: not json"],
        ["data: 1e999"],
        [],
    ],
    ids=repr,
)
async def test_an_event_of_another_form_is_a_transient_error(events: list[Any]) -> None:
    with pytest.raises(TransientError, match=r"^m: (the reply cannot be read|incomplete reply)"):
        await collect(lines(events), "m")


@pytest.mark.parametrize("usage", [5, "many", [], [1], True, None, {"completion_tokens": "x"}])
async def test_usage_of_another_form_counts_as_none(usage: Any) -> None:
    reply = read_reply(await collect(lines([piece("word " * 8, "stop"), {"usage": usage}]), "m"), REQUEST, "m")
    assert reply.samples[0].usage.completion_tokens == 10
    assert reply.samples[0].usage.estimated


@pytest.mark.parametrize("odd", [5, "x", [], {"content": 5}, {"content": "ab"}, {"content": {"a": 1}}, {"content": None}])
async def test_log_probabilities_of_another_form_count_as_none(odd: Any) -> None:
    token = {"token": "b", "logprob": -0.5}
    body = await collect(lines([piece("a", logprobs=odd), piece("b", "stop", logprobs={"content": [token]})]), "m")
    assert body["choices"][0]["logprobs"] == {"content": [token]}


async def test_what_is_null_is_as_if_it_were_not_there() -> None:
    events = [piece(delta=None, index=None), piece(choices=None), {"choices": None}, piece("a", "stop", logprobs=None)]
    assert (await collect(lines(events), "m"))["choices"][0]["message"] == {"content": "a"}


async def test_an_error_in_either_form_is_the_error_of_the_reply() -> None:
    for event in ({"error": {"code": 503, "message": "worker died"}}, {"object": "error", "code": 503, "message": "worker died"}):
        received = Received()
        with pytest.raises(TransientError, match="worker died"):
            read_reply(await collect(lines([piece("half"), event]), "m", received), REQUEST, "m")
        assert received.text == "half"


REQUEST = Request((Message("user", "x" * 40),), n=2)
KEYS = ["choices", "index", "delta", "content", "reasoning_content", "finish_reason", "logprobs", "usage", "error", "object", "role", "model", "code"]
SCALAR = st.none() | st.booleans() | st.integers(-1, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["stop", "a", "error"])


def inside(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)


JSON = st.recursive(SCALAR, inside, max_leaves=10)
SHAPED = st.fixed_dictionaries(
    {"choices": st.lists(st.fixed_dictionaries({}, optional={"index": JSON, "delta": JSON, "finish_reason": JSON, "logprobs": JSON}), max_size=2)},
    optional={"usage": JSON, "error": SCALAR, "object": SCALAR},
)
EVENT = st.just(piece("a")) | st.just(piece("b", "stop")) | SHAPED | JSON | st.text(max_size=5).map(lambda text: f"data: {text}")


@given(st.lists(EVENT, max_size=4))
async def test_any_stream_is_a_reply_or_an_error_of_ours(events: list[Any]) -> None:
    with contextlib.suppress(ModelError):
        reply = read_reply(await collect(lines(events), "m"), REQUEST, "m")
        assert isinstance(reply, Reply)
        assert all(isinstance(sample.text, str) and isinstance(sample.outcome, Outcome) for sample in reply.samples)
