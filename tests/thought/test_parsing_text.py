"""Reasoning, markup and size: what is content, and that reading it takes linear time."""


import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.thought import parsing
from branchwise.thought.parsing import Scale, Split, inline, sentences, split_reasoning, strip_reasoning
from support.pace import within

REASONING = "6*4 is 24, fine.\n"
ANSWER = "Answer: (7-1)*4 = 24"


@pytest.mark.parametrize(
    "text",
    [
        f"{REASONING}</think>\n\n{ANSWER}",
        f"<think>{REASONING}</think>\n\n{ANSWER}",
        f"<think>\n{REASONING}<think>again</think> and more</think>{ANSWER}",
        f"{REASONING}</think> more </think>{ANSWER}",
        f"<THINK>{REASONING}</Think>\n{ANSWER}",
        f"<thinking>{REASONING}</thinking>{ANSWER}",
        f"<think></think>{ANSWER}",
        ANSWER,
    ],
)
def test_the_answer_is_what_follows_the_reasoning_with_and_without_its_opening_tag(text: str) -> None:
    assert strip_reasoning(text) == ANSWER
    assert not split_reasoning(text).truncated


def test_reasoning_that_is_cut_off_leaves_no_answer_and_says_so() -> None:
    assert split_reasoning("<think>try 8*3, then 9-") == Split("try 8*3, then 9-", "", True)
    assert split_reasoning("Hm. <think>try 8*3") == Split("try 8*3", "Hm.", True)


def test_text_without_tags_is_all_content() -> None:
    assert split_reasoning("The total is 18.") == Split("", "The total is 18.", False)


def test_the_answer_is_what_follows_the_last_block() -> None:
    assert strip_reasoning("<think>a</think>one <think>b</think>two") == "two"


def test_a_tag_in_quotation_marks_is_text() -> None:
    assert strip_reasoning("Close it with `</think>` please") == "Close it with `</think>` please"


@settings(deadline=None)
@given(st.lists(st.sampled_from(["<think>", "</think>", "a", " ", "\n", "`"]), max_size=30))
def test_nothing_is_lost_but_tags_and_space(parts: list[str]) -> None:
    text = "".join(parts)
    split = split_reasoning(text)
    joined = split.reasoning + split.content
    assert sorted(joined.replace("<think>", "").replace("</think>", "").replace(" ", "").replace("\n", "")) == sorted(
        text.replace("<think>", "").replace("</think>", "").replace(" ", "").replace("\n", "")
    )


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("**4 + 8 = 12**", "4 + 8 = 12"),
        ("**4 * 6 = 24** (left: 24)", "4 * 6 = 24 (left: 24)"),
        ("3 * 8 = 24", "3 * 8 = 24"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("`4 + 8`", "4 + 8"),
        ('"4 + 8"', "4 + 8"),
        ('"a" and "b"', '"a" and "b"'),
        ("__bold__ x", "bold x"),
        ("().__class__.__mro__", "().__class__.__mro__"),
        ("4 + 8 = 12**", "4 + 8 = 12"),
        ("*emphasis*", "emphasis"),
    ],
)
def test_emphasis_goes_and_operators_stay(line: str, bare: str) -> None:
    assert inline(line) == bare


def test_a_dot_in_a_number_ends_no_sentence() -> None:
    assert sentences("It is 3.5 cm. So yes!\nNo？好。是") == ["It is 3.5 cm.", "So yes!", "No？", "好。", "是"]


LABELS = ("sure", "likely", "impossible")
READERS = {
    "strip_reasoning": parsing.strip_reasoning,
    "list_items": parsing.list_items,
    "label": lambda text: parsing.label(text, LABELS),
    "score": lambda text: parsing.score(text, Scale(1, 10)),
    "vote": lambda text: parsing.vote(text, 5),
    "yes_no": parsing.yes_no,
    "final_answer": parsing.final_answer,
    "boxes": parsing.boxes,
    "json_object": parsing.json_object,
    "confidence": parsing.confidence,
    "unmarked": parsing.unmarked,
    "final_number": parsing.final_number,
    "before_run_on": parsing.before_run_on,
}
HOSTILE = [
    "9" * 1_000_000,
    "Score: " + "9" * 1_000_000,
    "(" * 20_000,
    "[" * 20_000,
    "{" * 20_000,
    '{"a":' * 20_000,
    '{"a":[' * 20_000,
    "\\boxed{" * 20_000,
    "<think>" * 50_000,
    "</think>" * 50_000,
    "**a" * 100_000,
    "*" * 500_000,
    "_a" * 200_000,
    "sure " * 100_000,
    "not " * 100_000 + "sure",
    "Answer:" * 50_000,
    "The best choice is " * 30_000,
    "#### 1\n" * 50_000,
    "no " * 100_000,
    "1/" * 200_000,
    "1. a\n" * 200_000,
    "1.a\n" * 75_000,
    "- a\n  - b\n" * 30_000,
    "1. a\n b\n\nc\n" * 25_000,
    "Final answer\n" * 25_000,
    "q: \n" * 75_000,
    "[" + '"a",' * 250_000 + '"a"]',
    "yes no " * 50_000,
    "。" * 300_000,
    "\ufdfa" * 300_000,
    "score is a " * 50_000,
    " " * 500_000 + "x",
    "answer" + " " * 200_000 + "x",
    "\nquestion" + " " * 200_000 + "x\n# question" + "\t" * 200_000 + "x",
    "final answer" + " " * 90_000 + "x",
    "\n" * 500_000,
    "answer" + " " * 500_000,
    "(low" * 100_000,
]


@pytest.mark.parametrize("reader", READERS)
def test_hostile_text_is_read_in_linear_time(reader: str) -> None:
    for text in HOSTILE:
        with within(1.0, text[:20]):
            READERS[reader](text)


TOKENS = [
    "1. ", "- ", "a", "9", "\n", " ", "<think>", "</think>", "**", "*", "`", "\"", "{", "}", "[", "]", "(", ")", "$",
    "\\boxed{", "Answer:", "is ", "answer ", "Question:", "question ", "yes", "no", "not ", "sure", "```", "####", "#",
    "score", "of ", "best ", "choice ", "1", "/", ".", "!", "=", "–", "是", "。", "①", "최종", "_", ":", "step ", "\t", "×",
    "\ufdfa", "maybe (low)",
]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
@settings(deadline=None, max_examples=10)
@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=5).map("".join), st.lists(st.sampled_from(TOKENS), max_size=2).map("".join))
def test_whatever_is_repeated_is_read_in_linear_time(reader: str, pattern: str, end: str) -> None:
    text = (pattern * (30_000 // len(pattern) + 1))[:30_000] + end
    with within(0.5):
        READERS[reader](text)


def test_of_a_reply_without_end_the_end_is_read() -> None:
    long = "so we go on and on, " * 20_000
    assert parsing.label(f"{long}. Judgement: sure", LABELS) == "sure"
    assert parsing.score(f"{long}. Score: 7", Scale(1, 10)) == 7
    assert parsing.score(f"{long} un{' ' * 99_999}7", Scale(1, 10)) is None, "what is left after the cut is not the whole reply"
    assert parsing.label("x" * 200_000 + "sure", LABELS) is None, "nor is half a word a word"


def test_more_than_a_list_can_hold_is_left_out() -> None:
    assert len(parsing.list_items("1. a\n" * 200_000)) == 20_000
    assert len(parsing.list_items("[" + '"a",' * 200_000 + '"a"]')) == 20_000


@settings(deadline=None)
@given(st.text(max_size=400) | st.text(alphabet=st.sampled_from("0189./-*()[]{}:\"'\\ \nabcesurno#%＝０。是①"), max_size=200))
def test_no_text_makes_a_reader_raise(text: str) -> None:
    for reader in READERS.values():
        reader(text)
