"""No field of a reply is trusted to be there; usage is shared out exactly."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.errors import ModelError, PermanentError, RateLimited, TransientError
from branchwise.model.base import Message, Outcome, Request
from branchwise.model.replies import read_reply

REQUEST = Request((Message("user", "x" * 40),), n=3)


def body(*contents: Any, **changes: Any) -> dict[str, Any]:
    choices = [{"index": i, "finish_reason": "stop", "message": {"content": c}} for i, c in enumerate(contents)]
    return {"model": "m", "choices": choices, "usage": {"prompt_tokens": 11, "completion_tokens": 20}} | changes


def one(message: dict[str, Any] | None, finish: str | None = "stop") -> Any:
    return read_reply(body() | {"choices": [{"message": message, "finish_reason": finish}]}, REQUEST, "m").samples[0]


def test_usage_is_shared_evenly_with_the_remainder_and_the_prompt_on_the_first() -> None:
    reply = read_reply(body("a", "b", "c"), REQUEST, "m")
    assert [s.usage.completion_tokens for s in reply.samples] == [8, 6, 6]
    assert [s.usage.prompt_tokens for s in reply.samples] == [11, 0, 0]
    assert [s.usage.requests for s in reply.samples] == [1, 0, 0]
    assert [s.usage.calls for s in reply.samples] == [1, 1, 1]
    assert not any(s.usage.estimated for s in reply.samples)


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_shares_add_up(total: int, n: int) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": max(1, total)}
    reply = read_reply(body(*"abcdefghi"[:n], usage=usage), Request(REQUEST.messages, n=n), "m")
    assert sum(s.usage.completion_tokens for s in reply.samples) == max(1, total)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}, "none", {"prompt_tokens": None}])
def test_missing_usage_is_estimated_and_says_so(usage: Any) -> None:
    reply = read_reply(body("word " * 8, "b", usage=usage), REQUEST, "m")
    assert [s.usage.completion_tokens for s in reply.samples] == [10, 1]
    assert reply.samples[0].usage.prompt_tokens == 10
    assert all(s.usage.estimated for s in reply.samples)


def test_cached_and_reasoning_tokens_are_read() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": {"reasoning_tokens": 5}}
    usage = {"prompt_tokens": 11, "completion_tokens": 9, **details}
    first, second = read_reply(body("a", "b", usage=usage), REQUEST, "m").samples
    assert (first.usage.cached_prompt_tokens, second.usage.cached_prompt_tokens) == (8, 0)
    assert (first.usage.reasoning_tokens, second.usage.reasoning_tokens) == (3, 2)


def test_too_few_choices_are_kept_and_the_missing_counted() -> None:
    reply = read_reply(body("a", "b"), REQUEST, "m")
    assert reply.texts == ["a", "b"]
    assert reply.missing == 1
    assert "3" in reply.error


def test_too_many_choices_are_cut() -> None:
    assert len(read_reply(body(*"abcde"), REQUEST, "m").samples) == 3


def test_choices_are_put_in_order_of_their_index() -> None:
    data = body("a", "b", "c")
    data["choices"].reverse()
    assert read_reply(data, REQUEST, "m").texts == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("message", "finish", "outcome", "text"),
    [
        ({"content": "hi"}, "stop", Outcome.OK, "hi"),
        ({"content": "hi"}, None, Outcome.OK, "hi"),
        ({"content": "hi"}, "length", Outcome.LENGTH, "hi"),
        ({"content": " \n"}, "stop", Outcome.EMPTY, " \n"),
        ({"content": None}, "stop", Outcome.EMPTY, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "stop", Outcome.OK, "ab"),
        ({"content": [{"type": "thinking", "thinking": "no"}, {"type": "text", "text": "b"}]}, "stop", Outcome.OK, "b"),
        ({"content": "x"}, "content_filter", Outcome.FILTERED, "x"),
        (None, "content_filter", Outcome.FILTERED, ""),
        ({"content": None, "refusal": "no"}, "stop", Outcome.REFUSED, ""),
        ({"content": "", "reasoning_content": "hm"}, "length", Outcome.TRUNCATED_IN_REASONING, ""),
        ({"content": "", "reasoning_content": "hm"}, "stop", Outcome.TRUNCATED_IN_REASONING, ""),
        ({"content": None, "reasoning": "hm"}, "length", Outcome.TRUNCATED_IN_REASONING, ""),
        ({"content": "<think>hm"}, "length", Outcome.TRUNCATED_IN_REASONING, ""),
        ({"content": "<think>Answer: 5? no.</think> 72"}, "stop", Outcome.OK, "72"),
    ],
)
def test_outcomes(message: dict[str, Any] | None, finish: str | None, outcome: Outcome, text: str) -> None:
    sample = one(message, finish)
    assert (sample.outcome, sample.text) == (outcome, text)


def test_reasoning_is_kept_apart() -> None:
    sample = one({"content": "<think>b</think>c", "reasoning_content": "a"})
    assert (sample.text, sample.reasoning) == ("c", "a\nb")


@pytest.mark.parametrize("choices", [None, [], "", {}, [None], [{"message": None}], [{}], [{"message": None, "finish_reason": "stop"}]])
def test_replies_without_a_message_are_an_error_with_the_keys(choices: Any) -> None:
    with pytest.raises(TransientError, match="model, choices, usage"):
        read_reply(body() | {"choices": choices}, REQUEST, "m")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "x"}, RateLimited),
        ({"code": "429", "message": "x"}, RateLimited),
        ({"type": "rate_limit_exceeded", "message": "x"}, RateLimited),
        ({"code": 401, "message": "x"}, PermanentError),
        ({"message": "x"}, TransientError),
        ("just text", TransientError),
    ],
)
def test_an_error_in_a_200_is_mapped_by_the_code_in_it(error: Any, kind: type[ModelError]) -> None:
    with pytest.raises(kind) as found:
        read_reply({"error": error}, REQUEST, "m")
    assert type(found.value) is kind


def test_one_broken_choice_among_good_ones_is_invalid() -> None:
    data = body("a", "b")
    data["choices"][1] = {"index": 1, "finish_reason": "error", "error": {"code": 502}}
    assert [s.outcome for s in read_reply(data, REQUEST, "m").samples] == [Outcome.OK, Outcome.INVALID]


def test_log_probabilities_of_both_formats() -> None:
    tops = [{"token": "a", "logprob": -1}, {"token": "b", "logprob": -2}]
    new = {"content": [{"token": "a", "logprob": -1, "top_logprobs": tops}]}
    old = {"tokens": ["a"], "token_logprobs": [-1], "top_logprobs": [{"b": -2}]}
    for value in (new, old):
        data = body("a")
        data["choices"][0]["logprobs"] = value
        logprobs = read_reply(data, REQUEST, "m").samples[0].logprobs
        assert logprobs is not None
        assert dict(logprobs[0]) == {"a": -1.0, "b": -2.0}


@pytest.mark.parametrize(
    "value",
    [
        {"tokens": [["a"], {}], "token_logprobs": [-1, -2], "top_logprobs": [[], "x"]},
        {"tokens": ["a"], "token_logprobs": ["x"], "top_logprobs": 7},
        {"content": [{"token": ["a"], "logprob": -1, "top_logprobs": [None, {"token": {}, "logprob": []}]}]},
    ],
)
def test_log_probabilities_of_no_format_raise_nothing(value: Any) -> None:
    data = body("a")
    data["choices"][0]["logprobs"] = value
    for token in read_reply(data, REQUEST, "m").samples[0].logprobs or ():
        assert all(isinstance(k, str) and isinstance(v, float) for k, v in token.items())


KEYS = ("choices", "message", "content", "usage", "error", "index", "finish_reason", "logprobs", "tokens", "code", "text", "metadata",
        "raw", "prompt_tokens", "top_logprobs", "token_logprobs", "reasoning")  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(LEAVES, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(KEYS), x, max_size=4), max_leaves=25)


@given(JSON)
def test_nothing_but_our_errors_comes_out_of_any_json(data: Any) -> None:
    choice = {"message": {"content": "a"}, "logprobs": data}
    for value in (data, {"choices": data}, {"choices": [data]}, {"choices": [{"message": data}]}, {"choices": [choice]}):
        with contextlib.suppress(ModelError):
            read_reply(value, REQUEST, "m")
