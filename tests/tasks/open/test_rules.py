"""What ends an open thought: whole phrases, in four languages, the last one counts; and when two thoughts are the same."""

from __future__ import annotations

import pytest

from branchwise import COMPLETE, OPEN, Kind
from branchwise.tasks.open.rules import answer_in, language, marked, normal, terminal


@pytest.mark.parametrize(
    "text",
    [
        "The answer is 42.",
        "Final answer: take the train",
        "In conclusion, we should wait",
        "Solution: use a queue",
        "Result: it holds",
        "SOLUTION： use a queue",
        "Ｔｈｅ ａｎｓｗｅｒ ｉｓ ４２",
        "答案是42",
        "综上所述，应该等待",
        "结论：等待",
        "따라서 정답은 42",
        "결론적으로 기다린다",
        "答えは42です",
        "Assume the opposite; that is a contradiction, so the answer is yes.",
    ],
)
def test_a_thought_that_concludes_is_complete(text: str) -> None:
    assert terminal(text) == COMPLETE


@pytest.mark.parametrize(
    "text",
    [
        "This is impossible.",
        "It cannot be solved this way",
        "It can’t be solved",
        "There is no solution",
        "That is a contradiction",
        "ＩＭＰＯＳＳＩＢＬＥ",
        "这不可能",
        "此题无解",
        "前后矛盾",
        "이것은 불가능하다",
        "이 문제는 풀 수 없다",
        "これは矛盾している",
        "The answer is 5? No, that is impossible.",
    ],
)
def test_a_thought_that_says_there_is_no_way_is_a_dead_end(text: str) -> None:
    assert terminal(text).kind is Kind.DEAD
    assert terminal(text).reason.startswith("it says")


@pytest.mark.parametrize(
    "text",
    [
        "Therefore we look at the cost next",
        "This is impossibly good",
        "The resolution: lower it",
        "As a result: more load",
        "It is not impossible to cache it",
        "There is no contradiction here",
        "We need an answer soon",
        "Solutions differ",
        "没有矛盾",
        "모순이 없다",
    ],
)
def test_other_thoughts_are_open(text: str) -> None:
    """ "Therefore" alone opens half of all middle steps."""
    assert terminal(text) == OPEN


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use a queue.", "use  a QUEUE"),
        ("Take 42%", "Ｔａｋｅ ４２%"),
        ("“Wait”, he said", "wait he said"),
        ("먼저, 캐시", "먼저 캐시"),
    ],
)
def test_thoughts_that_differ_in_writing_only_are_one(one: str, other: str) -> None:
    assert normal(one) == normal(other)


def test_thoughts_that_differ_in_a_sign_are_two() -> None:
    assert normal("raise it by -5%") != normal("raise it by 5")


def test_an_answer_is_what_follows_its_last_marker_over_all_lines() -> None:
    assert answer_in("Think.\nAnswer: first\n\nAnswer: take the bus.\nThe train was late.") == "take the bus.\nThe train was late."
    assert answer_in("**Answer:** take the bus") == "take the bus"
    assert answer_in("답: 버스") == "버스"
    assert answer_in("take the bus") == "take the bus"
    assert answer_in("  \n ") is None
    assert not marked("the answer: none on this line start")


@pytest.mark.parametrize(
    ("question", "name", "settles"),
    [
        ("Should we use SQLite?", "the language of the question", "The answer is"),
        ("SQLite를 써도 될까?", "Korean", "정답은"),
        ("我们应该用缓存吗？", "Chinese", "答案是"),
        ("キャッシュを使うべきか", "Japanese", "答えは"),
        ("", "the language of the question", "The answer is"),
        ("What does 茶 mean in English?", "the language of the question", "The answer is"),
    ],
)
def test_the_script_of_a_question_tells_its_language(question: str, name: str, settles: str) -> None:
    assert language(question) == (name, settles)
