"""Judging passages: five marks and their spread, pairs in random order, ties, and what cannot be read."""

from __future__ import annotations

import pytest

from branchwise import Outcome, Request, UsageError
from branchwise.bench.judging import Mark, Preference, Winner, compare, judge, tally
from branchwise.model.base import Sample
from support.models import FakeModel, Says


async def test_five_marks_are_averaged_and_their_spread_is_told() -> None:
    marks = [
        "Fine.\nThus the coherency score is 7",
        "**Thus the coherency score is 8**",
        "I rate this 9/10",
        "8",
        "Thus the coherency score is 8.",
    ]
    found = await judge(Says(*marks), "A passage.")
    assert found.samples == (7, 8, 9, 8, 8)
    assert found.mean == 8
    assert found.spread == pytest.approx(0.7071, abs=1e-4)
    assert found.unread == 0


async def test_a_mark_out_of_scale_or_unreadable_is_no_mark() -> None:
    said = (
        "Thus the coherency score is 85",
        "It is good.",
        Sample("", Outcome.EMPTY),
        "Thus the coherency score is 0",
        "Thus the coherency score is 6",
    )
    found = await judge(Says(*said), "A passage.")
    assert found.samples == (None, None, None, None, 6)
    assert (found.mean, found.spread, found.unread) == (6, None, 4)
    assert (await judge(Says("7"), "A passage.", samples=3)).samples == (7, None, None)
    assert Mark(()).mean is None
    with pytest.raises(UsageError):
        await judge(Says(), "x", samples=0)


async def test_the_passage_is_shown_as_it_is_braces_and_all() -> None:
    model = FakeModel(lambda request, i: "7")
    await judge(model, "A {{first}} {passage}.")
    assert "A {{first}} {passage}." in model.requests[0].messages[-1].content
    assert model.requests[0].role == "judge"


def prefers(word: str) -> FakeModel:
    def reply(request: Request, i: int) -> str:
        first = request.messages[-1].content.index(f"The {word} passage.") < request.messages[-1].content.index("Passage 2:")
        return f"Both are short.\nThe more coherent passage is {1 if first else 2}"

    return FakeModel(reply)


async def test_the_order_is_random_and_the_winner_is_told_of_the_passages_not_of_the_places() -> None:
    found = [await compare(prefers("good"), "The good passage.", "The bad passage.", seed=1, item=str(n)) for n in range(40)]
    assert {one.winner for one in found} == {Winner.A}
    assert 8 < sum(one.swapped for one in found) < 32
    again = [await compare(prefers("good"), "The good passage.", "The bad passage.", seed=1, item=str(n)) for n in range(40)]
    assert again == found


async def test_a_judge_that_loves_the_first_place_is_seen() -> None:
    model = FakeModel(lambda request, i: "The more coherent passage is 1")
    found = tally([await compare(model, "One.", "Two.", seed=1, item=str(n)) for n in range(40)])
    assert found.first == found.count == 40
    assert 8 < found.a < 32


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("The more coherent passage is 1", Winner.A),
        ("Passage 1 is nice.\nThe more coherent passage is 2.", Winner.B),
        ("**The more coherent passage is Passage 2**", Winner.B),
        ("Passage 1 is more coherent than passage 2.", Winner.A),
        ("The two passages are similarly coherent", Winner.TIE),
        ("The passages are equally coherent.", Winner.TIE),
        ("I cannot say.", Winner.UNREAD),
        ("", Winner.UNREAD),
        ("Passage 1 is fun. Passage 2 is not.", Winner.UNREAD),
    ],
)
async def test_a_comparison_is_read_from_its_last_statement(text: str, winner: Winner) -> None:
    for item in map(str, range(20)):
        found = await compare(Says(text), "One.", "Two.", seed=0, item=item)
        if not found.swapped:
            assert found.winner is winner
            return


async def test_equal_passages_tie_without_a_call() -> None:
    model = FakeModel(lambda request, i: "The more coherent passage is 1")
    assert (await compare(model, "One  two.", "One two.", seed=0, item="1")).winner is Winner.TIE
    assert model.calls == 0


def test_a_tally_keeps_ties_and_unread_ones_apart() -> None:
    found = tally([Preference(winner, False) for winner in (Winner.A, Winner.A, Winner.B, Winner.TIE, Winner.UNREAD)])
    assert (found.a, found.b, found.ties, found.unread, found.count, found.first) == (2, 1, 1, 1, 4, 2)
