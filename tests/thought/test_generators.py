"""Generators: order, confidence, what is dropped and why, and when refining is done."""

from __future__ import annotations

from typing import Any

import pytest

from branchwise import Outcome, Propose, Refine, Rejected, Sample, Sampling, Size, UsageError
from branchwise.model.base import Sample as Said
from branchwise.problem import State
from support.models import FakeModel, Says
from support.worlds import PROMPTS, Drawn


class Task(Drawn):
    """A drawn problem with the toy's prompts; `read` keeps lower case words and rejects the word "bad"."""

    prompts = PROMPTS

    def read(self, state: State, text: str) -> str:
        if "bad" in text:
            raise Rejected("a bad word")
        return text.lower()


TASK = Task({})


async def thoughts(
    generator: Any, model: Any, k: int = 9, state: State = ()
) -> tuple[list[tuple[str, float | None]], list[tuple[str, str]]]:
    found = await generator(model, TASK, state, k)
    return [(p.thought, p.confidence) for p in found.thoughts], [(d.text, d.reason) for d in found.dropped]


async def test_propose_keeps_the_order_of_the_list_and_reads_confidence() -> None:
    model = Says("1. One\n2. Two (low)\n3. Three (certain)\n4. Four (medium)\n5. Five (high)")
    kept, dropped = await thoughts(Propose(), model)
    assert kept == [("three", 1.0), ("five", 0.5), ("four", 0.2), ("two", 0.1), ("one", None)]
    assert dropped == []


async def test_propose_merges_repeats_and_sums_confidence() -> None:
    model = Says("1. A (high)\n2. B (certain)\n3. C", "1. a (high)\n2. D (low)\n3. a (high)", "- A (medium)\n- c")
    kept, _ = await thoughts(Propose(repeats=3), model)
    assert kept == [("a", 0.5 + 0.5 + 0.2), ("b", 1.0), ("d", 0.1), ("c", None)], "twice in one list counts once"
    assert model.requests[0].n == 3


async def test_propose_drops_with_reasons() -> None:
    long = "x" * 501
    model = Says(
        f"1. fine\n2. bad idea\n3. {long}\n4. second\n5. third", Said("", Outcome.EMPTY), Said("half", Outcome.FILTERED, error="by rule")
    )
    kept, dropped = await thoughts(Propose(repeats=3), model, k=2)
    assert [thought for thought, _ in kept] == ["fine", "second"]
    assert dropped == [
        ("bad idea", "a bad word"),
        (long[:200], "longer than 500 bytes"),
        ("", "reply empty"),
        ("half", "reply filtered: by rule"),
        ("third", "beyond the 2 asked for"),
    ]


async def test_the_length_of_a_thought_is_counted_in_bytes() -> None:
    kept, dropped = await thoughts(Propose(longest=6), Says("1. 木木\n2. 木木木"))
    assert [thought for thought, _ in kept] == ["木木"]
    assert dropped == [("木木木", "longer than 6 bytes")]


async def test_sample_takes_each_reply_for_a_thought_in_order() -> None:
    model = Says(" First ", "bad", Said("cut", Outcome.LENGTH), Said("", Outcome.EMPTY), Said("no", Outcome.REFUSED), "Last")
    kept, dropped = await thoughts(Sample(k=6), model, k=6)
    assert kept == [("first", None), ("cut", None), ("last", None)]
    assert dropped == [("bad", "a bad word"), ("", "reply empty"), ("no", "reply refused")]


async def test_a_reply_that_was_cut_off_in_its_reasoning_is_no_thought() -> None:
    _, dropped = await thoughts(Sample(k=1), Says(Said("", Outcome.TRUNCATED_IN_REASONING, reasoning="hm")), k=1)
    assert dropped == [("", "reply truncated_in_reasoning")]


async def test_a_whole_answer_is_taken_as_it_is() -> None:
    kept, _ = await thoughts(Sample(k=1, whole=True), Says("\nA bad\nANSWER \n"), k=1)
    assert kept == [("A bad\nANSWER", None)]


async def test_a_reply_longer_than_its_tokens_allow_is_dropped() -> None:
    _, dropped = await thoughts(Sample(k=1, sampling=Sampling(max_tokens=2)), Says("x" * 17), k=1)
    assert dropped == [("x" * 17, "longer than 16 bytes")]


async def test_refine_answers_first_and_then_rewrites() -> None:
    model = Says("better")
    found = await Refine()(model, TASK, (), 1)
    assert (found.thoughts[0].thought, found.final) == ("better", False)
    found = await Refine()(model, TASK, ("draft",), 1)
    assert (found.thoughts[0].thought, found.final) == ("better", False)
    assert [request.messages[-1].content.split("\n")[0] for request in model.requests] == ["IO", "REFINE"]


async def test_refine_is_final_when_every_rewrite_says_the_same_again() -> None:
    assert (await Refine()(Says("same", "same"), TASK, ("x", "same"), 2)).final
    assert not (await Refine()(Says("same", "other"), TASK, ("x", "same"), 2)).final
    assert not (await Refine()(Says("same"), TASK, ("same", "other"), 1)).final
    assert not (await Refine()(Says(Said("", Outcome.EMPTY)), TASK, ("same",), 1)).final, "nothing said is no agreement"


@pytest.mark.parametrize("bad", [lambda: Propose(k=0), lambda: Propose(repeats=0), lambda: Sample(k=0), lambda: Refine(k=0)])
def test_bad_settings_are_refused(bad: Any) -> None:
    with pytest.raises(UsageError):
        bad()


@pytest.mark.parametrize("bad", [{"temperature": -0.1}, {"max_tokens": 0}])
def test_bad_sampling_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Sampling(**bad)


@pytest.mark.parametrize("generator", [Propose(repeats=3), Sample(k=4), Refine(k=2)], ids=["propose", "sample", "refine"])
async def test_a_generator_asks_for_no_more_than_its_bound(generator: Any) -> None:
    from branchwise.model.layers.metered import request_bound

    for state in ((), ("one",), ("one", "木" * 50, "three")):
        model = FakeModel(lambda request, i: "1. x")
        await generator(model, TASK, state, generator.k)
        worst = generator.bound(TASK, Size(len(TASK.prompt.encode()), sum(len(t.encode()) + 1 for t in state)), generator.k)
        asked = [request_bound(request) for request in model.requests]
        assert sum(b.calls for b in asked) <= worst.calls
        assert sum(b.prompt_tokens for b in asked) <= worst.prompt_tokens
        assert sum(b.completion_tokens for b in asked) <= worst.completion_tokens
