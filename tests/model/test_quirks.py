"""Each quirk of the fault server, and what becomes of it. `docs/models.md` is generated from the docstrings here (tools/conformance.py).

A test's docstring is "quirk, quirk: what the gateway does".
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from branchwise.budget import Budget, Usage
from branchwise.errors import ContextOverflow, ModelError, PermanentError, RateLimited, TransientError, Unsupported
from branchwise.ledger import Ledger
from branchwise.model.abilities import Abilities
from branchwise.model.base import Outcome, Reply, Request
from branchwise.model.layers.metered import Metered
from branchwise.model.layers.retrying import Retrying, RetryPolicy
from branchwise.model.openai_http import OpenAIChat

Ask = Callable[..., Request]
POLICY = RetryPolicy(attempts=4, base=0.001, deadline=5)


class Gateway:
    """One model behind the layers that face a backend, and what it has been sent."""

    def __init__(self, server: Any, quirk: str, policy: RetryPolicy = POLICY, **settings: Any) -> None:
        self.server, self.quirk = server, quirk
        self.chat = OpenAIChat("m", server.url(quirk), **settings)
        self.model = Retrying(self.chat, policy)

    async def sample(self, request: Request) -> Reply:
        return await self.model.sample(request)

    @property
    def sent(self) -> list[dict[str, Any]]:
        return list(self.server.seen.get(self.quirk, []))


@pytest.fixture
async def gateway(faults: Any) -> Any:
    made: list[Gateway] = []

    def make(quirk: str, policy: RetryPolicy = POLICY, **settings: Any) -> Gateway:
        made.append(Gateway(faults, quirk, policy, **settings))
        return made[-1]

    yield make
    for one in made:
        await one.chat.aclose()


def total(reply: Reply) -> Usage:
    return sum((s.usage for s in reply.samples), Usage())


@pytest.mark.parametrize("quirk", ["n_ignored", "n_refused"])
async def test_n_is_topped_up(gateway: Any, ask: Ask, quirk: str) -> None:
    """n_ignored, n_refused: topped up by single calls with distinct seeds; remembered, so that the next request starts with singles."""
    model = gateway(quirk)
    reply = await model.sample(ask(n=5, seeds=(1, 2, 3, 4, 5)))
    assert len(reply.samples) == 5
    assert reply.missing == 0
    assert len({b["seed"] for b in model.sent if not b.get("n")}) >= 4
    assert len(set(reply.texts)) == 5
    assert total(reply).calls == 5
    before = len(model.sent)
    await model.sample(ask(n=3, seeds=(6, 7, 8)))
    assert sorted(b["seed"] for b in model.sent[before:]) == [6, 7, 8]
    assert not any(b.get("n") for b in model.sent[before:])
    assert len(model.chat.abilities.notices) == 1


async def test_a_short_list_is_continued_with(gateway: Any, ask: Ask) -> None:
    """n_short: goes on with what is there, an empty sample is typed `empty`, the missing one is topped up."""
    reply = await gateway("n_short").sample(ask(n=3))
    assert [s.outcome for s in reply.samples] == [Outcome.OK, Outcome.EMPTY, Outcome.OK]


async def test_what_cannot_be_topped_up_is_counted_as_missing(gateway: Any, ask: Ask) -> None:
    """n_ignored (no attempts left): the reply says how many samples are missing."""
    reply = await gateway("n_ignored", RetryPolicy(attempts=1)).sample(ask(n=5))
    assert (len(reply.samples), reply.missing) == (1, 4)


async def test_one_seed_for_all_samples_is_noticed(gateway: Any, ask: Ask) -> None:
    """seed_fixes_text: equal samples under one seed are noticed; each sample gets its own seed; all draws are charged."""
    model = gateway("seed_fixes_text")
    reply = await model.sample(ask(n=4, seeds=(1, 2, 3, 4)))
    assert len(set(reply.texts)) == 4
    assert total(reply).calls == 4 + 3
    assert [len(set((await model.sample(ask(n=3, seeds=(7, 8, 9)))).texts)) for _ in range(2)] == [3, 3]


async def test_an_ignored_seed_gives_samples_that_differ(gateway: Any, ask: Ask) -> None:
    """seed_ignored: samples differ; a run is reproduced from its tape, not from the seed."""
    reply = await gateway("seed_ignored").sample(ask(n=4, seeds=(1, 2, 3, 4)))
    assert len(set(reply.texts)) == 4


@pytest.mark.parametrize("quirk", ["choices_null", "choices_empty", "message_null", "error_in_choice", "html"])
async def test_replies_without_content_are_retried_and_named(gateway: Any, ask: Ask, quirk: str) -> None:
    """choices_null, choices_empty, message_null, error_in_choice, html: a transient error that names the reply's keys; retried."""
    model = gateway(quirk)
    with pytest.raises(TransientError):
        await model.sample(ask())
    assert len(model.sent) == 4


@pytest.mark.parametrize(
    ("quirk", "outcome", "text"),
    [
        ("content_parts", Outcome.OK, "in two parts"),
        ("content_filter", Outcome.FILTERED, ""),
        ("refusal", Outcome.REFUSED, ""),
        ("whitespace", Outcome.EMPTY, ""),
    ],
)
async def test_odd_contents_are_typed(gateway: Any, ask: Ask, quirk: str, outcome: Outcome, text: str) -> None:
    """content_parts, content_filter, refusal, whitespace: one text, `filtered`, `refused`, `empty`; never a thought unless it is a text."""
    (sample,) = (await gateway(quirk).sample(ask())).samples
    assert (sample.outcome, sample.text.strip()) == (outcome, text)
    assert sample.usable == (outcome is Outcome.OK)


async def test_bare_choices_are_read(gateway: Any, ask: Ask) -> None:
    """no_index: choices without index, role, id or model are read in order; usage is estimated and says so."""
    reply = await gateway("no_index").sample(ask(n=3))
    assert len(set(reply.texts)) == 3
    assert total(reply).estimated


async def test_an_error_in_a_200_is_an_error(gateway: Any, ask: Ask) -> None:
    """error_on_200: mapped by the code in the body (429: rate limit)."""
    with pytest.raises(RateLimited):
        await gateway("error_on_200").sample(ask())


@pytest.mark.parametrize("code", ["-1", "0", "true", "1302"])
async def test_an_error_whose_code_is_no_status_is_transient(gateway: Any, ask: Ask, code: str) -> None:
    """error_on_200 (code -1, 0, true, 1302): a code that is no status of HTTP says nothing; transient, retried."""
    model = gateway(f"error_on_200:{code}")
    with pytest.raises(TransientError, match="slow down"):
        await model.sample(ask())
    assert len(model.sent) == 4


@pytest.mark.parametrize("quirk", ["stream_odd", "stream_odd:delta", "stream_odd:index", "stream_odd:text"])
async def test_an_odd_event_of_a_stream_is_transient(gateway: Any, ask: Ask, quirk: str) -> None:
    """stream_odd: an event that is not of the form of one is a transient error, retried; what had come is charged, `estimated`."""
    model = gateway(quirk, stream=True)
    with pytest.raises(TransientError, match="cannot be read"):
        await model.sample(ask())
    assert len(model.sent) == 4
    with pytest.raises(TransientError) as error:
        await model.chat.sample(ask())
    assert error.value.spent == (len(ask().messages[0].content) // 4, len("half of a ") // 4)
    assert error.value.estimated


@pytest.mark.parametrize("quirk", ["think_block", "think_close_only", "reasoning_field"])
async def test_reasoning_is_kept_apart(gateway: Any, ask: Ask, quirk: str) -> None:
    """think_block, think_close_only, reasoning_field: reasoning is kept apart and never is content, with or without the opening tag."""
    (sample,) = (await gateway(quirk).sample(ask())).samples
    assert (sample.text, sample.reasoning) == ("The answer is 72.", "Answer: 5? no.")


@pytest.mark.parametrize("quirk", ["reasoning_only", "reasoning_only:stop", "reasoning_only:null", "think_unclosed"])
async def test_an_answer_lost_to_thinking(gateway: Any, ask: Ask, quirk: str) -> None:
    """reasoning_only, think_unclosed: typed `truncated_in_reasoning`, tokens charged, no thought; asked for once more with twice the tokens."""
    model = gateway(quirk)
    reply = await model.sample(ask(max_tokens=300))
    assert reply.samples[0].outcome is Outcome.TRUNCATED_IN_REASONING
    assert not reply.texts
    assert total(reply).completion_tokens >= 10
    assert [b.get("max_tokens") for b in model.sent] == [300, 600]
    assert total(reply).calls == 2


async def test_stops_are_applied_to_content_only(gateway: Any, ask: Ask) -> None:
    """stop_in_reasoning: stops are not sent to a backend that reasons, nor to one not yet known; they are applied here, to content only."""
    model = gateway("stop_in_reasoning")
    for _ in range(3):
        (sample,) = (await model.sample(ask(stop=("\n", "Question:")))).samples
        assert (sample.text, sample.outcome) == ("The answer is 72.", Outcome.OK)
    assert not any(b.get("stop") for b in model.sent)


async def test_stops_are_sent_to_a_backend_that_does_not_reason(gateway: Any, ask: Ask) -> None:
    """good: stops are sent once the backend is known not to reason; the text is the same before and after."""
    model = gateway("good")
    texts = {(await model.sample(ask(stop=("(seed",)))).texts[0] for _ in range(2)}
    assert [bool(b.get("stop")) for b in model.sent] == [False, True]
    assert len(texts) == 1
    assert "(seed" not in texts.pop()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("quirk", ["usage_missing", "usage_missing:null", "usage_missing:zero"])
async def test_missing_usage_is_estimated(gateway: Any, ask: Ask, quirk: str, stream: bool) -> None:
    """usage_missing: tokens are estimated at four bytes each, marked `estimated`, and budgets use the estimate."""
    usage = total(await gateway(quirk, stream=stream).sample(ask("x" * 400)))
    assert usage.estimated
    assert usage.prompt_tokens == 100
    assert usage.completion_tokens > 5


@pytest.mark.parametrize(("quirk", "stream"), [("short_body", False), ("stream_cut", True), ("stream_error", True), ("short_body", True)])
async def test_partial_text_is_never_a_reply(gateway: Any, ask: Ask, quirk: str, stream: bool) -> None:
    """short_body, stream_cut, stream_error: an incomplete reply is a transient error, retried; its text is thrown away."""
    model = gateway(quirk, stream=stream)
    with pytest.raises(TransientError):
        await model.sample(ask())
    assert len(model.sent) == 4


@pytest.mark.parametrize(
    ("quirk", "stream", "completion"),
    [("stream_cut", True, 4), ("stream_error", True, 2), ("short_body", True, 10), ("short_body", False, 10)],
)
async def test_a_reply_cut_in_transit_is_paid_by_an_estimate(faults: Any, ask: Ask, quirk: str, stream: bool, completion: int) -> None:
    """short_body, stream_cut, stream_error: what had begun is charged a quarter of the bytes of prompt and reply, `estimated`."""
    ledger = Ledger(Budget(), None)
    async with OpenAIChat("m", faults.url(quirk), stream=stream) as chat:
        with pytest.raises(TransientError):
            await Retrying(Metered(chat, ledger), POLICY).sample(ask("x" * 400))
    assert ledger.spent.estimated
    assert (ledger.spent.calls, ledger.spent.prompt_tokens, ledger.spent.completion_tokens) == (4, 400, 4 * completion)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("quirk", ["reset", "stalled"])
async def test_a_reply_that_breaks_off_rudely_is_paid_too(faults: Any, ask: Ask, quirk: str, stream: bool) -> None:
    """reset, stalled: a reply that is reset or falls silent in its middle is a transient error, charged in the same way."""
    async with OpenAIChat("m", faults.url(quirk), stream=stream, timeout=0.5) as chat:
        with pytest.raises(TransientError) as error:
            await chat.sample(ask("x" * 400))
    assert error.value.spent[0] == 100
    assert error.value.estimated


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_that_says_nothing_is_charged_the_prompt(faults: Any, ask: Ask, stream: bool) -> None:
    """slow: a request that got no reply in time may have been worked on: its prompt is charged, `estimated`; one that reached nobody is not."""
    async with OpenAIChat("m", faults.url("slow:5"), stream=stream, timeout=0.3) as chat:
        with pytest.raises(TransientError, match="in time") as error:
            await chat.sample(ask("x" * 400))
    assert (error.value.spent, error.value.estimated) == ((100, 0), True)
    async with OpenAIChat("m", "http://127.0.0.1:9/v1", stream=stream) as chat:
        with pytest.raises(TransientError) as error:
            await chat.sample(ask("x" * 400))
    assert (error.value.spent, error.value.estimated) == ((0, 0), False)


async def test_the_parts_of_a_split_request_are_each_paid(faults: Any, ask: Ask) -> None:
    """short_body: of a request in parts each part that was cut is charged."""
    async with OpenAIChat("m", faults.url("short_body"), abilities=Abilities("m", max_n=1)) as chat:
        with pytest.raises(TransientError) as error:
            await chat.sample(ask("x" * 400, n=3, seeds=(1, 2, 3)))
    assert (error.value.spent, error.value.estimated) == ((300, 30), True)


async def test_a_request_that_no_reply_began_to_costs_nothing(faults: Any, ask: Ask) -> None:
    """status:500: nothing is charged for a request that was refused."""
    for stream in (False, True):
        async with OpenAIChat("m", faults.url("status:500"), stream=stream) as chat:
            with pytest.raises(TransientError) as error:
                await chat.sample(ask())
        assert (error.value.spent, error.value.estimated) == ((0, 0), False)


async def test_a_cut_reply_is_had_on_the_next_attempt(gateway: Any, ask: Ask) -> None:
    """short_body (twice): the third attempt's reply is whole."""
    model = gateway("short_body:2")
    assert len((await model.sample(ask())).texts) == 1
    assert len(model.sent) == 3


@pytest.mark.parametrize("quirk", ["context_400", "context_500", "quota", "status:401", "status:403", "status:404", "redirect"])
async def test_permanent_faults_are_not_retried(gateway: Any, ask: Ask, quirk: str) -> None:
    """context_400, context_500, quota, status, redirect: permanent faults are not retried; the message says what to do."""
    model = gateway(quirk)
    with pytest.raises(PermanentError) as error:
        await model.sample(ask())
    assert len(model.sent) == 1
    assert isinstance(error.value, ContextOverflow) == quirk.startswith("context")


async def test_a_context_divided_by_slots_is_explained(gateway: Any, ask: Ask) -> None:
    """slot_context: the message names what the server advertises and what it allowed, and hints at parallel slots."""
    model = gateway("slot_context")
    assert (await model.sample(ask("short"))).texts
    with pytest.raises(ContextOverflow, match=r"1024 tokens.*advertises 4096 tokens.*slots"):
        await model.sample(ask("word " * 2000))


@pytest.mark.parametrize(
    ("quirk", "least", "most"), [("retry_after:0.3", 0.3, 1.5), ("retry_after:ms:250", 0.25, 1.5), ("retry_after:-1", 0, 1.0)]
)
async def test_the_wait_of_the_server(gateway: Any, ask: Ask, quirk: str, least: float, most: float) -> None:
    """retry_after: Retry-After in seconds, milliseconds or as a date is honoured; nonsense falls back to our own backoff."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    model = gateway(quirk)
    assert (await model.sample(ask())).texts
    assert least <= loop.time() - start < most
    assert len(model.sent) == 2


@pytest.mark.parametrize("quirk", ["low_tier:0.3", "low_tier:body:0.3", "google_rate:0.3"])
async def test_a_rate_limit_that_speaks_of_billing_is_waited_out(gateway: Any, ask: Ask, quirk: str) -> None:
    """low_tier, google_rate: a rate limit however much it speaks of quota, billing and payment; the wait in header or body is honoured."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    model = gateway(quirk)
    assert (await model.sample(ask())).texts
    assert 0.3 <= loop.time() - start < 5
    assert len(model.sent) == 2


async def test_a_wait_past_the_deadline_is_an_error_at_once(gateway: Any, ask: Ask) -> None:
    """retry_after (120 s, deadline 5 s): a clear error at once instead of a wait that is too long."""
    with pytest.raises(RateLimited, match="deadline of 5 s"):
        await gateway("retry_after:120").sample(ask())
    with pytest.raises(RateLimited, match="deadline of 5 s"):
        await gateway("retry_after:date:120").sample(ask())


async def test_an_overloaded_server_is_tried_again(gateway: Any, ask: Ask) -> None:
    """flaky: a 503 without a wait is retried with backoff and jitter."""
    model = gateway("flaky:3")
    assert (await model.sample(ask())).texts
    assert len(model.sent) == 4


@pytest.mark.parametrize(
    ("refused", "kept"),
    [
        ("max_tokens", {"max_completion_tokens": 9}),
        ("temperature", {"max_tokens": 9}),
        ("stop", {}),
        ("seed", {}),
        ("max_tokens+temperature+seed", {}),
    ],
)
async def test_refused_parameters_are_mapped_or_dropped_once(gateway: Any, ask: Ask, refused: str, kept: dict[str, Any]) -> None:
    """refuses: a refused parameter is mapped (max_tokens) or left out, once, with a notice; remembered for the model."""
    model = gateway(f"refuses:{refused}")
    request = ask(max_tokens=9, temperature=0.5, stop=("(seed",), seeds=(1,))
    first = await model.sample(request)
    second = await model.sample(request)
    assert "(seed" not in "".join(first.texts + second.texts)
    sent = model.sent
    await model.sample(request)
    assert len(model.sent) == len(sent) + 1
    assert not set(refused.split("+")) & set(model.sent[-1])
    assert kept.items() <= model.sent[-1].items()
    assert len(model.chat.abilities.notices) == len(refused.split("+"))


async def test_a_refused_value_is_dropped_too(gateway: Any, ask: Ask) -> None:
    """refuses_default: a parameter of which only the default is allowed is left out."""
    model = gateway("refuses_default")
    assert (await model.sample(ask())).texts
    assert "temperature" not in model.sent[-1]


async def test_many_first_calls_at_once_learn_together(gateway: Any, ask: Ask) -> None:
    """refuses (32 calls at once): all succeed, one notice."""
    model = gateway("refuses:max_tokens+temperature")
    replies = await asyncio.gather(*(model.sample(ask(str(i))) for i in range(32)))
    assert all(r.texts for r in replies)
    assert len(model.chat.abilities.notices) == 2


async def test_a_refusal_that_teaches_nothing_is_permanent(gateway: Any, ask: Ask) -> None:
    """status (400): sent once; a parameter that we do not send cannot be left out."""
    model = gateway("status:400")
    with pytest.raises(PermanentError):
        await model.sample(ask())
    assert len(model.sent) == 1


@pytest.mark.parametrize("quirk", ["logprobs", "logprobs:old"])
async def test_log_probabilities_are_read(gateway: Any, ask: Ask, quirk: str) -> None:
    """logprobs: read in both formats."""
    (sample,) = (await gateway(quirk).sample(ask(logprobs=3))).samples
    assert sample.logprobs == ({"yes": -0.5, "no": -1.5, "so": -2.5},)


@pytest.mark.parametrize("quirk", ["logprobs:null", "refuses:logprobs"])
async def test_missing_log_probabilities_are_probed_once(gateway: Any, ask: Ask, quirk: str) -> None:
    """logprobs (null), refuses: a backend without log-probabilities is found out once, then refused before anything is paid; never 0.0."""
    model = gateway(quirk)
    for _ in range(3):
        with pytest.raises(Unsupported, match="log-probabilities"):
            await model.sample(ask(logprobs=3))
    assert len(model.sent) == 1


async def test_log_probabilities_without_alternatives(gateway: Any, ask: Ask) -> None:
    """logprobs (chosen): enough for one alternative, a clear error for more."""
    model = gateway("logprobs:chosen")
    assert (await model.sample(ask(logprobs=1))).samples[0].logprobs == ({"yes": -0.5},)
    with pytest.raises(Unsupported, match="chosen token only"):
        await model.sample(ask(logprobs=3))


SCHEMA = {"type": "object", "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 10}}, "required": ["score"]}


@pytest.mark.parametrize("way", ["response_format", "guided", "grammar", "prompt"])
async def test_structure_is_had_in_whichever_way(gateway: Any, ask: Ask, way: str) -> None:
    """schema: response_format, guided decoding, grammar, or prompt and check, whichever the backend has; remembered; always checked."""
    model = gateway(f"schema:{way}")
    for _ in range(2):
        (sample,) = (await model.sample(ask("Rate it.", schema=SCHEMA))).samples
        assert (sample.text, sample.outcome) == ('{"score":7}', Outcome.OK)
    before = len(model.sent)
    await model.sample(ask("Rate it.", schema=SCHEMA))
    assert len(model.sent) == before + 1


@pytest.mark.parametrize("way", ["response_format", "guided", "grammar"])
async def test_a_choice_is_had_in_whichever_way(gateway: Any, ask: Ask, way: str) -> None:
    """schema: the same for a choice among texts; the text is exactly one of them."""
    (sample,) = (await gateway(f"schema:{way}").sample(ask("Is it?", choices=("sure", "likely", "impossible")))).samples
    assert (sample.text, sample.outcome) == ("sure", Outcome.OK)


async def test_an_unfit_reply_is_repaired_once(gateway: Any, ask: Ask) -> None:
    """schema_ignored: an unfit reply is asked for once more with the fault named; both are charged; the next way is tried from then on."""
    model = gateway("schema_ignored")
    reply = await model.sample(ask("Rate it.", schema=SCHEMA))
    assert reply.samples[0].text == '{"score":7}'
    assert total(reply).calls == 2
    assert "not JSON" in model.sent[1]["messages"][-1]["content"]
    assert model.chat.abilities.schema_mode != "response_format"


async def test_what_cannot_be_repaired_is_invalid(gateway: Any, ask: Ask) -> None:
    """schema (never): after one repair the sample is `invalid` with the reason, and no thought."""
    model = gateway("schema:never")
    reply = await model.sample(ask("Rate it.", schema=SCHEMA))
    assert reply.samples[0].outcome is Outcome.INVALID
    assert not reply.texts
    assert "JSON" in reply.samples[0].error


async def test_an_abandoned_request_is_closed(gateway: Any, ask: Ask, faults: Any) -> None:
    """slow: a cancelled call closes its connection, so that the server can stop."""
    model = gateway("slow:20")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(model.sample(ask()), 0.3)
    for _ in range(50):
        await asyncio.sleep(0.02)
    assert faults.aborted == 1


async def test_failed_attempts_are_counted_as_requests(gateway: Any, ask: Ask) -> None:
    """mixed: under any mix of faults a reply is whole or an error of ours."""
    model = gateway("mixed:50")

    async def one(i: int) -> Reply | ModelError:
        try:
            return await model.sample(ask(f"item {i};", n=2, seeds=(i, i + 1000)))
        except ModelError as error:
            return error

    for i, reply in enumerate(await asyncio.gather(*map(one, range(100)))):
        if isinstance(reply, Reply):
            assert len(reply.samples) + reply.missing == 2
            assert all(f"item {i};" in t for t in reply.texts)
