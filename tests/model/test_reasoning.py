"""Reasoning is told from content, whichever tags are there (cases 1, 2, 4)."""


import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.model.reasoning import Split, cut_at_stop, split_reasoning
from branchwise.thought import parsing
from support.pace import within

PAIRS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<THINK>", "</Think>"),
    ('<think budget="200">', "</think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
]
"""How models are known to mark their reasoning."""


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
@pytest.mark.parametrize(
    ("text", "reasoning", "content", "truncated"),
    [
        ("6*4 is 24, fine.\n[]\n\nAnswer: 24", "6*4 is 24, fine.", "Answer: 24", False),
        ("()6*4 is 24, fine.\n[]\n\nAnswer: 24", "6*4 is 24, fine.", "Answer: 24", False),
        ("  ()\n[]\nhi", "", "hi", False),
        ("()try 8*3, then 9-", "try 8*3, then 9-", "", True),
        ("Hm. ()try 8*3", "try 8*3", "Hm.", True),
        ("Hm, let me see\n()\ntry 8*3", "try 8*3", "Hm, let me see", True),
        ("The total is 18.", "", "The total is 18.", False),
        ("()a ()b[] c[] d", "a b c", "d", False),
        ("()a[] b ()c[] d", "a b c", "d", False),
        ("()a[] b ()c", "a\nc", "b", True),
        ("()a[] b ()c ()d", "a\nc d", "b", True),
        ("Write () to begin.", "", "Write () to begin.", False),
        ("Close it with `[]` please", "", "Close it with `[]` please", False),
        ("()Close it with `[]` please[] done", "Close it with `[]` please", "done", False),
        ("", "", "", False),
        ("  indented stays", "", "  indented stays", False),
    ],
)
def test_marks(opening: str, closing: str, text: str, reasoning: str, content: str, truncated: bool) -> None:
    def with_marks(text: str) -> str:
        return text.replace("()", opening).replace("[]", closing)

    wanted = Split(with_marks(reasoning), with_marks(content), truncated)
    assert split_reasoning(with_marks(text)) == wanted
    assert parsing.strip_reasoning(with_marks(text)) == wanted.content.strip(), "readers of text use the same list"


@pytest.mark.parametrize("text", ["[think] is a word", "<thinker>", "a < think > b", "<|channel|>final answer", "x◁y▷z", "[1] [THINKING]"])
def test_what_only_looks_like_a_mark_is_text(text: str) -> None:
    assert split_reasoning(text) == Split("", text, False)


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", " b ", "\n", "<", "5"]), max_size=30).map("".join))
def test_no_tag_is_left_after_a_closing_one_and_an_opening_tag_changes_nothing(text: str) -> None:
    _reasoning, content, unclosed = split_reasoning(text)
    assert "</think>" not in content
    if "</think>" in text:
        assert split_reasoning("<think>" + text)[1:] == (content, unclosed)
        assert "<think>" not in content


def test_long_texts_take_no_time() -> None:
    with within(2 * len(PAIRS)):
        for opening, closing in PAIRS:
            for text in (opening * 20_000, closing * 20_000, opening[:-1] * 20_000, f"{closing[:-1]} " * 20_000, f"`{closing}`" * 20_000):
                split_reasoning(text)
    for text in ("<" * 1_000_000, "<think>" + "x" * 1_000_000, "<think " * 200_000, "a <think>, " * 100_000, "<|end|><|start|>assistant" * 50_000):
        with within(1, text[:20]):
            split_reasoning(text)


def test_stops_cut_at_the_first() -> None:
    assert cut_at_stop("a\nb Question: c", ("Question:", "\n")) == ("a", True)
    assert cut_at_stop("abc", ("x", "")) == ("abc", False)
