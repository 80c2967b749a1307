"""Reasoning is told from content, whichever tags are there (cases 1, 2, 4)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.model.reasoning import cut_at_stop, split_reasoning


@pytest.mark.parametrize(
    ("text", "reasoning", "content", "unclosed"),
    [
        ("6*4 is 24, fine.\n</think>\n\nAnswer: 24", "6*4 is 24, fine.", "Answer: 24", False),
        ("<think>6*4 is 24, fine.\n</think>\n\nAnswer: 24", "6*4 is 24, fine.", "Answer: 24", False),
        ("  <think>\n</think>\nhi", "", "hi", False),
        ("<think>try 8*3, then 9-", "try 8*3, then 9-", "", True),
        ("The total is 18.", "", "The total is 18.", False),
        ("<think>a <think>b</think> c</think> d", "a b c", "d", False),
        ("<think>a</think> b <think>c</think> d", "a b c", "d", False),
        ("<think>a</think> b <think>c", "a\nc", "b", True),
        ("Write <think> to begin.", "", "Write <think> to begin.", False),
        ("<THINK>a</Think>b", "a", "b", False),
        ("<thinking>a</thinking>b", "a", "b", False),
        ("", "", "", False),
        ("  indented stays", "", "  indented stays", False),
    ],
)
def test_tags(text: str, reasoning: str, content: str, unclosed: bool) -> None:
    assert split_reasoning(text) == (reasoning, content, unclosed)


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", " b ", "\n", "<", "5"]), max_size=30).map("".join))
def test_no_tag_is_left_after_a_closing_one_and_an_opening_tag_changes_nothing(text: str) -> None:
    _reasoning, content, unclosed = split_reasoning(text)
    assert "</think>" not in content
    if "</think>" in text:
        assert split_reasoning("<think>" + text)[1:] == (content, unclosed)
        assert "<think>" not in content


def test_long_texts_take_no_time() -> None:
    start = time.perf_counter()
    for text in ("<think>" * 50_000, "</think>" * 50_000, "<" * 1_000_000, "<think>" + "x" * 1_000_000):
        split_reasoning(text)
    assert time.perf_counter() - start < 1


def test_stops_cut_at_the_first() -> None:
    assert cut_at_stop("a\nb Question: c", ("Question:", "\n")) == ("a", True)
    assert cut_at_stop("abc", ("x", "")) == ("abc", False)
