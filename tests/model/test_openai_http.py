"""The client against a real HTTP server on loopback: what is sent, what comes back, and to whom the key goes."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import branchwise as bw
from branchwise.errors import ModelError, PermanentError, TransientError, Unsupported, UsageError
from branchwise.model.abilities import Abilities
from branchwise.model.base import CallId, Message, Outcome, Request
from branchwise.model.openai_http import OpenAIChat
from branchwise.model.secrets import Secret
from branchwise.model.tape import Tape
from branchwise.trace import Call, read_trace
from support.runs import random_method
from support.worlds import Toy

Ask = Callable[..., Request]


async def test_a_request_is_sent_as_asked(faults: Any) -> None:
    request = Request((Message("system", "be brief"), Message("user", "hi")), n=2, temperature=0.3, max_tokens=7, seeds=(5, 6), logprobs=3)
    async with OpenAIChat("m", faults.url("logprobs")) as model:
        await model.sample(request)
    (body,) = faults.seen["logprobs"]
    assert body == {
        "model": "m", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}], "n": 2,
        "temperature": 0.3, "max_tokens": 7, "seed": 5, "logprobs": True, "top_logprobs": 3,
    }  # fmt: skip


async def test_n_samples_come_back_with_model_and_fingerprint(faults: Any, ask: Ask) -> None:
    async with OpenAIChat("m", faults.url("good")) as model:
        reply = await model.sample(ask(n=4))
    assert len(set(reply.texts)) == 4
    assert (reply.model, reply.system_fingerprint, reply.missing) == ("m", "fp_1", 0)
    assert sum(s.usage.completion_tokens for s in reply.samples) == 40


async def test_the_fingerprint_of_the_system_is_in_the_trace_and_on_the_tape(faults: Any, tmp_path: Path) -> None:
    """Case 74: what produced a text can be told later, also where the seed did not fix it."""
    path = tmp_path / "trace.jsonl"
    async with OpenAIChat("m", faults.url("good")) as model:
        result = await bw.solve(Toy(1), random_method(Random(3)), model, seed=7, trace=path)
    calls = [event for event in read_trace(path) if isinstance(event, Call)]
    assert calls
    assert all((call.system_fingerprint, call.model) == ("fp_1", "m") for call in calls)
    assert [b["seed"] for b in faults.seen["good"]] == list(dict.fromkeys(b["seed"] for b in faults.seen["good"])), "no seed twice"
    tape = Tape.load(path)
    where = CallId(calls[0].node, calls[0].occurrence, calls[0].role, calls[0].digest, calls[0].repeat)
    found = tape.find(where, calls[0].first)
    assert found is not None
    assert found[2] == "fp_1"
    assert result.usage.calls == sum(len(call.samples) for call in calls)


async def test_more_samples_than_a_request_may_ask_for_take_several(faults: Any, ask: Ask) -> None:
    async with OpenAIChat("m", faults.url("good"), abilities=Abilities("m", max_n=4)) as model:
        reply = await model.sample(ask(n=10, seeds=tuple(range(10))))
    assert len(reply.samples) == 10
    assert sorted((b.get("n", 1), b["seed"]) for b in faults.seen["good"]) == [(2, 8), (4, 0), (4, 4)]


async def test_name_and_identity_hold_no_secret(faults: Any, ask: Ask) -> None:
    url = faults.url("status:401").replace("http://", "http://user:hunter22@")
    async with OpenAIChat("m", url, key=Secret("sk-topsecret1")) as model:
        with pytest.raises(PermanentError) as error:
            await model.sample(ask())
    shown = f"{model.name} {model.identity} {model!r} {error.value!r} {error.value.__context__!r} {vars(model)}"
    assert model.identity == f"{faults.url('status:401')}#m"
    for secret in ("hunter22", "topsecret"):
        assert secret not in shown.replace(str(vars(model)), "")


async def test_the_key_is_sent_and_a_password_where_there_is_no_key(faults: Any, ask: Ask) -> None:
    async with OpenAIChat("m", faults.url("good"), key=Secret("sk-1")) as model:
        await model.sample(ask())
    async with OpenAIChat("m", faults.url("good").replace("http://", "http://u:p%40@")) as model:
        await model.sample(ask())
    async with OpenAIChat("m", faults.url("good")) as model:
        await model.sample(ask())
    assert [h.get("authorization") for h in faults.headers["good"]] == ["Bearer sk-1", "Basic dTpwQA==", None]


async def test_redirects_are_not_followed(faults: Any, ask: Ask) -> None:
    target = faults.url("good") + "/chat/completions"
    async with OpenAIChat("m", faults.url("redirect:" + target.replace("/", "%2F")), key=Secret("sk-1")) as model:
        with pytest.raises(PermanentError, match="redirect"):
            await model.sample(ask())
    assert "good" not in faults.seen


async def test_nothing_is_taken_from_the_environment(faults: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch, fake_key: str) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "sk-from-environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with OpenAIChat("m", faults.url("good")) as model:
        await model.sample(ask())
    sent = str(faults.headers["good"])
    assert "sk-from-environment" not in sent
    assert fake_key not in sent


async def test_a_server_that_is_not_there_is_transient_and_named() -> None:
    async with OpenAIChat("m", "http://127.0.0.1:9/v1") as model:
        with pytest.raises(TransientError, match="no connection"):
            await model.sample(Request((Message("user", "x"),)))


async def test_a_slow_server_times_out(faults: Any, ask: Ask) -> None:
    async with OpenAIChat("m", faults.url("slow:5"), timeout=0.2) as model:
        with pytest.raises(TransientError, match="in time"):
            await model.sample(ask())


async def test_a_cancelled_call_closes_its_request(faults: Any, ask: Ask) -> None:
    async with OpenAIChat("m", faults.url("slow:20")) as model:
        task = asyncio.create_task(model.sample(ask()))
        while not faults.open:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(100):
            if faults.aborted:
                break
            await asyncio.sleep(0.02)
    assert faults.aborted == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("quirk", ["short_body", "stream_cut", "stream_error", "html", "choices_null", "message_null", "error_in_choice"])
async def test_broken_replies_are_transient(faults: Any, ask: Ask, quirk: str, stream: bool) -> None:
    async with OpenAIChat("m", faults.url(quirk), stream=stream) as model:
        with pytest.raises(TransientError):
            await model.sample(ask())


async def test_a_stream_gives_the_same_reply(faults: Any, ask: Ask) -> None:
    replies = []
    for stream in (False, True):
        async with OpenAIChat("m", faults.url("good"), stream=stream) as model:
            replies.append(await model.sample(ask(n=3, seeds=(1, 2, 3))))
    assert replies[0].samples == replies[1].samples


async def test_comments_in_a_stream_are_skipped(faults: Any, ask: Ask) -> None:
    async with OpenAIChat("m", faults.url("stream_comments"), stream=True) as model:
        assert (await model.sample(ask())).texts == ["whole text"]


@pytest.mark.parametrize(("quirk", "tokens"), [("logprobs", {"yes", "no", "so"}), ("logprobs:old", {"yes", "no", "so"})])
async def test_log_probabilities(faults: Any, ask: Ask, quirk: str, tokens: set[str]) -> None:
    async with OpenAIChat("m", faults.url(quirk)) as model:
        sample = (await model.sample(ask(logprobs=3))).samples[0]
    assert sample.logprobs is not None
    assert set(sample.logprobs[0]) == tokens


async def test_a_backend_without_log_probabilities_says_so(faults: Any, ask: Ask) -> None:
    async with OpenAIChat("m", faults.url("logprobs:null")) as model:
        with pytest.raises(Unsupported, match="log-probabilities"):
            await model.sample(ask(logprobs=3))


async def test_reasoning_never_is_content(faults: Any, ask: Ask) -> None:
    for quirk in ("think_block", "think_close_only", "reasoning_field"):
        async with OpenAIChat("m", faults.url(quirk)) as model:
            (sample,) = (await model.sample(ask())).samples
        assert sample.text == "The answer is 72."
        assert sample.reasoning == "Answer: 5? no."
    assert (sample.usage.reasoning_tokens, sample.usage.cached_prompt_tokens) == (7, 2)


@pytest.mark.parametrize("quirk", ["reasoning_only", "reasoning_only:stop", "reasoning_only:null", "think_unclosed"])
async def test_an_answer_lost_to_thinking_is_named_and_paid(faults: Any, ask: Ask, quirk: str) -> None:
    async with OpenAIChat("m", faults.url(quirk)) as model:
        (sample,) = (await model.sample(ask())).samples
    assert sample.outcome is Outcome.TRUNCATED_IN_REASONING
    assert sample.text == ""
    assert sample.usage.completion_tokens >= 10


async def test_one_failing_part_does_not_lose_the_others(faults: Any, ask: Ask) -> None:
    async with OpenAIChat("m", faults.url("flaky"), abilities=Abilities("m", max_n=1)) as model:
        reply = await model.sample(ask(n=4))
    assert (len(reply.samples), reply.missing) == (3, 1)
    assert "overloaded" in reply.error
    async with OpenAIChat("m", faults.url("status:500"), abilities=Abilities("m", max_n=1)) as model:
        with pytest.raises(ModelError):
            await model.sample(ask(n=4))


def test_a_server_without_a_model_name_is_refused() -> None:
    with pytest.raises(UsageError, match="#NAME"):
        OpenAIChat("", "http://127.0.0.1:1/v1")
