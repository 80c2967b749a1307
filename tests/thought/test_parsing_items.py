"""Lists in model text: every proposal is found whole, nothing else is taken for one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.thought.parsing import list_items, unmarked

CASE_12 = (
    "Sure! Here are the possible next steps:\n\n1. **4 + 8 = 12** (left: 6 12)\n- 8 / 4 = 2 (left: 2 6)\n```\n6 - 4 = 2 (left: 2 8)\n```"
)


def test_chatter_numbers_bullets_bold_and_fences_give_three_proposals() -> None:
    assert list_items(CASE_12) == ["4 + 8 = 12 (left: 6 12)", "8 / 4 = 2 (left: 2 6)", "6 - 4 = 2 (left: 2 8)"]


def test_digits_of_an_equation_are_not_stripped_with_its_number() -> None:
    assert list_items("1. 10 - 4 = 6 (left: 5 6 6)\n2. 3 * 8 = 24") == ["10 - 4 = 6 (left: 5 6 6)", "3 * 8 = 24"]


@pytest.mark.parametrize(
    "line",
    [
        "10 - 4 = 6 (left: 5 6 6)",
        "1.5 + 2 = 3.5",
        "-1 + 5 = 4",
        "(8 - 4) * 6 = 24",
        "(8) * 3 = 24",
        "10:30 is late",
        "* 3",
        "2/3 + 10 = 32/3",
    ],
)
def test_a_line_that_only_looks_numbered_stays_whole(line: str) -> None:
    assert list_items(line if line != "* 3" else "a * 3") == [line if line != "* 3" else "a * 3"]


@pytest.mark.parametrize(
    "first",
    [
        "1.",
        "1)",
        "(1)",
        "[1]",
        "1:",
        "**1.**",
        "- ",
        "* ",
        "+ ",
        "• ",
        "•",
        "– ",
        "> 1.",
        "### 1.",
        "1、",
        "①",
        "１．",
        "１、",
        "（1）",
        "一、",
        "Step 1:",
        "**Option 1:**",
        "Thought 1.",
        "- 1.",
        "a)",
        "가.",
        "1\\.",
        "1\\)",
        "- [ ]",
        "* [x]",
        "[ ]",
        "a.",
    ],
)
def test_every_usual_marker_is_taken_off(first: str) -> None:
    assert list_items(f"{first} 4 + 8 = 12\n{first} 8 / 4 = 2") == ["4 + 8 = 12", "8 / 4 = 2"]
    assert unmarked(f"  {first} 3 * 8 = 24") == "3 * 8 = 24"


@pytest.mark.parametrize("text", ["1.4 + 8 = 12\n2.8 / 4 = 2\n3.6 - 4 = 2", "１．4 + 8 = 12\n２．8 / 4 = 2\n3.6 - 4 = 2"])
def test_markers_without_a_space_are_seen_where_the_lines_count_up(text: str) -> None:
    assert list_items(text) == ["4 + 8 = 12", "8 / 4 = 2", "6 - 4 = 2"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Sure! Here are the steps:\n", ""),
        ("Certainly, let us see.\n\n", "\n\nLet me know if you need more!"),
        ("Possible next steps:\n", "\n\nThese are all the options."),
        ("### Next steps\n", "\n\nI hope this helps."),
        ("好的，以下是三个方案：\n", "\n\n希望有帮助"),
        ("물론입니다! 다음은 단계입니다:\n", ""),
        ("<think>1. not this\n2. nor this</think>\n", ""),
        ("```text\n", "\n```"),
    ],
)
@pytest.mark.parametrize("body", ["1. one\n2. two", "- one\n- two", "one\ntwo", "1) one\n\n2) two"])
def test_preamble_and_closing_words_are_no_proposals(before: str, after: str, body: str) -> None:
    assert list_items(before + body + after) == ["one", "two"]


CHATTER = [
    "Hope this helps!", "I hope this helps.", "Let me know if you need more", "Feel free to ask.", "Good luck!", "Happy to elaborate.",
    "---\nThese are the steps.", "***\nEach of them keeps it simple.", "These steps are sound.", "Please choose one.", "Which one do you like?",
    "Would you like more?",
]  # fmt: skip


@pytest.mark.parametrize("after", CHATTER)
def test_closing_words_right_below_a_list_are_no_part_of_it(after: str) -> None:
    for body in ("1. one\n2. two", "- one\n- two", "a. one\nb. two", "- [ ] one\n- [ ] two", "```\n1. one\n2. two\n```", "```\none\ntwo\n```"):
        assert list_items(f"{body}\n{after}") == ["one", "two"]


@pytest.mark.parametrize("last", ["3. Hope this helps!", "- Let me know!", "3) Let me know which you prefer.", "- I hope this helps."])
def test_closing_words_behind_a_marker_are_no_proposal(last: str) -> None:
    assert list_items(f"1. one\n2. two\n{last}") == ["one", "two"]


def test_words_that_could_be_a_closing_are_kept_where_a_list_goes_on() -> None:
    assert list_items("1. Let me know the number\n2. I hope to find x") == ["Let me know the number", "I hope to find x"]
    assert list_items("1. a\nThese are long.\n2. b") == ["a These are long.", "b"]


def test_letters_are_markers_where_they_count() -> None:
    assert list_items("A. one\nB. two\nC. three") == ["one", "two", "three"]
    assert list_items("1. Plan\n   a. do\n   b. rest\n2. Next") == ["Plan\n- do\n- rest", "Next"]
    assert list_items("A. Smith wrote it\nC. Jones read it") == ["A. Smith wrote it", "C. Jones read it"]


def test_continuation_lines_belong_to_their_item() -> None:
    assert list_items("1. a long\n   thought\n2. next") == ["a long thought", "next"]
    assert list_items("1. **Plan A**\n   - do this\n   - do that\n2. Plan B") == ["Plan A\n- do this\n- do that", "Plan B"]
    assert list_items("1. Plan A\n- do this\n- do that\n2. Plan B\n- rest") == ["Plan A\n- do this\n- do that", "Plan B\n- rest"]


def test_paragraphs_below_items_are_kept_and_the_closing_paragraph_is_not() -> None:
    text = "1. **A**\n\nThis is a.\n\n2. **B**\n\nThis is b.\n\nI find both good."
    assert list_items(text) == ["A\nThis is a.", "B\nThis is b."]
    assert list_items("1. a\n2. b\n\nBoth keep the large numbers.") == ["a", "b"]


def test_a_first_line_without_its_number_is_the_first_item_when_the_next_is_two() -> None:
    assert list_items(" 10 - 4 = 6\n2. 5 + 6 = 11") == ["10 - 4 = 6", "5 + 6 = 11"]


def test_a_json_list_of_strings_is_a_list() -> None:
    assert list_items('```json\n["4 + 8 = 12", "8 / 4 = 2"]\n```') == ["4 + 8 = 12", "8 / 4 = 2"]


def test_nothing_is_found_in_nothing() -> None:
    assert list_items("") == list_items(" \n\n```\n```\n---\n") == list_items("<think>1. cut off") == []


EQUATION = st.builds("{} {} {} = {} (left: {} {})".format, *[st.integers(1, 99)] + [st.sampled_from("+-*/")] + [st.integers(1, 99)] * 4)
MARKS = st.sampled_from(["{}. ", "{}) ", "- ", "* ", "• ", "({}) ", "**{}.** ", "Step {}: "])


@settings(deadline=None)
@given(st.lists(EQUATION, min_size=1, max_size=8), MARKS, st.sampled_from(["{}", "**{}**", "`{}`"]), st.booleans(), st.booleans())
def test_any_list_of_equations_comes_back_whole(lines: list[str], mark: str, dress: str, chatter: bool, fence: bool) -> None:
    body = "\n".join(mark.format(number) + dress.format(line) for number, line in enumerate(lines, 1))
    text = (
        ("Sure! Here you go:\n\n" if chatter else "") + (f"```\n{body}\n```" if fence else body) + ("\n\nLet me know!" if chatter else "")
    )
    assert list_items(text) == lines


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("12.)(-*•#`> \n\tabc：、①=_<think/>[]\"'"), max_size=200))
def test_any_text_gives_clean_items(text: str) -> None:
    for item in list_items(text):
        assert item.strip()
