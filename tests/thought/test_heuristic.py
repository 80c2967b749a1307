"""The keyword score of section 3: its rules, whole words, three languages, and what it cannot tell."""

from __future__ import annotations

import pytest

from branchwise import Heuristic
from branchwise.budget import Bound
from branchwise.thought.base import Size
from branchwise.thought.heuristic import content_words, heuristic_score
from support.models import FakeModel, silent
from support.worlds import Drawn


def score(*thoughts: str) -> float:
    return heuristic_score(thoughts)[0]


@pytest.mark.parametrize(
    ("thought", "value"),
    [
        ("Look at the load", 0.45), ("Therefore it holds", 0.65), ("The solution is near", 0.65), ("An answer exists", 0.65),
        ("Because it is slow", 0.55), ("Since it is slow", 0.55), ("Thus it is slow", 0.55), ("First measure it", 0.55), ("Next measure it", 0.55),
        ("The step is small", 0.55), ("Maybe it is slow", 0.35), ("Perhaps not", 0.35), ("It might work", 0.35),
        ("Therefore, because of step two, it holds", 0.85), ("Therefore, because of step two, maybe", 0.75),
    ],
)  # fmt: skip
def test_each_rule_counts_once(thought: str, value: float) -> None:
    """0.5, less 0.05 for the depth of 1."""
    assert score(thought) == pytest.approx(value)
    assert score(f"{thought} {thought}") == pytest.approx(value)


@pytest.mark.parametrize(
    "thought", ["A sincere wish", "Almighty load", "Footsteps", "Nextdoor", "Firsthand", "Thusly", "Answerable", "Resolution"]
)
def test_words_count_whole(thought: str) -> None:
    assert score(thought) == pytest.approx(0.45)


@pytest.mark.parametrize(
    ("thought", "value"),
    [
        ("因此，答案是四十二", 0.65),
        ("因为缓存很慢", 0.55),
        ("首先测量负载", 0.55),
        ("也许可以缓存", 0.35),
        ("可能很慢", 0.35),
        ("这不可能", 0.45),
        ("测量负载", 0.45),
        ("따라서 캐시를 쓴다", 0.65),
        ("느리기 때문에 캐시한다", 0.55),
        ("먼저 부하를 잰다", 0.55),
        ("아마 느릴 것이다", 0.35),
        ("부하를 잰다", 0.45),
        ("그러므로 캐시한다", 0.65),
        ("느리므로 캐시한다", 0.55),
    ],
)
def test_chinese_and_korean_have_tables_of_their_own(thought: str, value: float) -> None:
    assert score(thought) == pytest.approx(value)


def test_full_width_letters_and_digits_are_the_same_words() -> None:
    assert score("Ｔｈｅｒｅｆｏｒｅ ｉｔ ｈｏｌｄｓ") == score("Therefore it holds")
    assert content_words("合計は４２円") == content_words("合計は42円")
    assert content_words("ＡＢＣ １２３") == {"abc", "123"}


def test_the_deeper_the_less() -> None:
    words = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta")
    assert [score(*words[:n]) for n in range(1, 5)] == [0.45, 0.4, 0.35, 0.3]
    assert score(*(f"word{n} other{n}" for n in range(12))) == 0.0


def test_a_thought_that_adds_nothing_new_counts_half() -> None:
    """Fewer than a fifth of its content words are new: 0 of 4 and 0 of 1 are, 1 of 5 is not fewer."""
    before = "measure the load of the cache"
    assert score(before, "the cache load measure") == pytest.approx(0.2)
    assert score(before, "measure load cache measure queue") == pytest.approx(0.4)
    assert score("one two three four", "one two three four five") == pytest.approx(0.4)
    assert score("one two three four five", "one two three four five six") == pytest.approx(0.2)
    assert score("测量缓存的负载", "测量缓存的负载") == pytest.approx(0.2)


def test_a_thought_without_any_content_word_adds_nothing_new_after_another() -> None:
    """0.5 - 0.05·2 = 0.4, halved: 0.2. As a first thought there is nothing before it: 0.5 - 0.05 = 0.45. One word of its own is enough."""
    for empty in ("So it is.", "And so on: then it is that.", "...", "→", "___"):
        assert score("measure the load", empty) == pytest.approx(0.2), empty
        assert score(empty) == pytest.approx(0.45), empty
    assert score("measure the load", "So it is 42.") == pytest.approx(0.4)
    assert heuristic_score(("measure the load", "So it is."))[1].endswith("nothing new × 0.5")


def test_a_paraphrase_scores_otherwise() -> None:
    """It reads words, not meaning: the same thought in other words loses what its words gave."""
    assert score("Therefore the solution is a queue, because order matters") > score("Hence a queue would do, as order matters")


def test_boilerplate_games_it() -> None:
    """Empty words that score high: this is why the docstring warns, and why `score` is there."""
    assert score("Therefore the answer follows, because of step one") == pytest.approx(0.85)
    assert score("Therefore the answer follows, because of step one") > score("The queue loses messages when the disk is full")
    assert "gamed" in (Heuristic.__doc__ or "")


async def test_it_costs_nothing_and_gives_its_rules_as_the_reason() -> None:
    evaluate = Heuristic()
    found = await evaluate(FakeModel(silent), Drawn({}), [("Therefore it holds",), ("maybe",)])
    assert [item.value for item in found] == [pytest.approx(0.65), pytest.approx(0.35)]
    assert found[0].reason == "conclusion +0.2, depth -0.05"
    assert evaluate.bound(Drawn({}), Size(10, 10), 5) == Bound()
    assert heuristic_score(()) == (0.5, "the root")
