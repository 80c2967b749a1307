"""Labels, scores, votes, yes and no, confidence: the final statement, whole words, and no guesses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.errors import UsageError
from branchwise.thought.parsing import Scale, confidence, label, score, vote, yes_no

LABELS = ("sure", "likely", "impossible")
TEN = Scale(1, 10)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sure", "sure"),
        ("10 + 14 = 24\nsure", "sure"),
        ("**Likely**.", "likely"),
        ("IMPOSSIBLE!", "impossible"),
        ("Judgement: *sure*.", "sure"),
        ("It looks likely at first.\nimpossible", "impossible"),
        ("impossible? No.\n\nlikely", "likely"),
        ("I am not sure about it. likely", "likely"),
        ("It is not impossible, likely", "likely"),
        ("结果是likely。", "likely"),
        ("<think>sure</think>impossible", "impossible"),
        ("Sure, here is the evaluation: 3 * 3 = 9\nimpossible", "impossible"),
        ("I'm sure that 24 can be reached.", "sure"),
        ("ｓｕｒｅ", "sure"),
    ],
)
def test_the_last_label_stated_is_the_verdict(text: str, expected: str) -> None:
    assert label(text, LABELS) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "high",
        "I cannot judge",
        "not sure",
        "I'm not at all sure.",
        "This isn't likely",
        "unlikely",
        "surely",
        "sure/likely/impossible",
        "sure or likely",
        "Sure! Let me check: 10 + 14",
        "Make sure to use each number.",
        "Sure. Actually I am not sure.",
        "<think>sure",
        "assured",
        "neither likely",
    ],
)
def test_an_absent_denied_or_ambiguous_label_is_none(text: str) -> None:
    assert label(text, LABELS) is None


def test_labels_keep_their_spelling_and_may_have_several_words() -> None:
    assert label("VERY LIKELY", ("likely", "Very likely")) == "Very likely"
    assert label("答案是确定", ("确定", "可能")) == "确定"


@settings(deadline=None)
@given(
    st.sampled_from(LABELS), st.sampled_from(["{}", "**{}**", "{}.", "`{}`", "({})", "  {}  ", "Value: {}", "{}!", '"{}"']), st.booleans()
)
def test_a_label_is_read_in_any_dress(name: str, dress: str, upper: bool) -> None:
    text = "3 + 21 = 24\n" + dress.format(name.upper() if upper else name)
    assert label(text, LABELS) == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("There are 5 steps left, I rate this 9", 9),
        ("8/10", 8),
        ("an 8 out of 10", 8),
        ("Score: 7. (scale 1-10)", 7),
        ("**Score:** 7", 7),
        ("9", 9),
        ("9.", 9),
        ("Score (1-10): 7", 7),
        ("On a scale of 1 to 10, I rate this state 6.", 6),
        ("Score: 3\nFinal score: 7", 7),
        ("The maximum score is 10. Score: 4", 4),
        ("Rating: **8** out of 10", 8),
        ('{"score": 8, "reason": "3 of 4 steps"}', 8),
        ("| Score | 8 |", 8),
        ("I would give it an 8.", 8),
        ("Score: 7.5", 7.5),
        ("Score: 7,5", 7.5),
        ("4/5", 8),
        ("80%", 8),
        ("得分：８", 8),
        ("Score = 10/10", 10),
        ("I'd say 8/10 overall: 3 steps, 2 left", 8),
        ("<think>Score: 2</think>Score: 6", 6),
        ("Score: 1e1", 10),
        ("Score: 7e0", 7),
        ("Score for candidate 2: 7", 7),
        ("**Score for step 1:** 6", 6),
        ("Score of option 2: 9/10", 9),
        ("Rating (candidate 12): 7", 7),
        ("\\boxed{7}", 7),
        ("It is sound. $\\boxed{8}$.", 8),
        ("Score: \\boxed{7}", 7),
        ("The rating is $\\boxed{7/10}$", 7),
        ("\\boxed 7", 7),
        ("Score: 9. The answer is \\boxed{7}", 9),
        ("[Score] 8", 8),
        ("[Score]: 8", 8),
        ("[Score]8", 8),
        ("[ Score ] = 8", 8),
        ("[Score]\n8", 8),
        ("**[Score]**: 8/10", 8),
        ("[Final Score]: 8", 8),
        ("[Score (1-10)]: 8", 8),
        ("[Rating] 8 points", 8),
        ("The maximum score is 10. I rate this 7", 7),
        ("[Grade] is 8.", 8),
        ("[Reward]: 8", 8),
        ("[Score for candidate 2]: 8", 8),
        ("[Score]: [8]", 8),
        ("【评分】8", 8),
        ("<score>8</score>", 8),
        ("{score}: 8", 8),
        ("(Score): 8", 8),
        ("Score: +8", 8),
        ("+8", 8),
        ("[Analysis] 3 steps are wrong. [Score] 2", 2),
        ("[Score] 3\n[Score] 8", 8),
        ("<score>8</score> 3 steps are sound", 8),
    ],
)
def test_the_stated_score_is_read(text: str, expected: float) -> None:
    assert score(text, TEN) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "85",
        "Score: 85",
        "Score: 0",
        "Score: -3",
        "Score: 11/10",
        "Score: 1234567890123",
        "5 reasons why this is a 9",
        "high",
        "Score: seven",
        "Score: 7 - 8",
        "7/10 for logic, 9/10 for clarity",
        "6 / 9 = 2/3",
        "between 7 and 8",
        "I cannot judge",
        "Score: 95 points",
        "Score: 10.5",
        "Score: 1e2",
        "Score for candidate 2",
        "The score of state 2 is unclear",
        "\\boxed{85}",
        "It says \\boxed{7} and stops there.",
        "[Score] 85",
        "[Score] unclear: 3 steps are wrong",
        "[Max score] 10",
        "The maximum score is 10.",
        "the grade (see the score) 3 steps are wrong",
        "(score) 3 steps are wrong",
        "score] 8",
        "</score> 3 steps are wrong",
        "It adds 3 +4/10",
        "\\boxed{x = 7}",
    ],
)
def test_what_is_out_of_scale_or_unclear_is_no_score(text: str) -> None:
    assert score(text, TEN) is None


def test_other_scales_are_read_by_their_own_ends() -> None:
    rewards, share = Scale(-100, 100), Scale(0, 1)
    assert (score("Score: −40", rewards), score("[Score: 95]", rewards), score("Score: 101", rewards)) == (-40, 95, None)
    assert [score(text, rewards) for text in ("[Score] 85", "[Score]: -85", "[Score] +85", "[Score (-100 to +100)]: 85")] == [85, -85, 85, 85]
    assert (score("0.85", share), score("8/10", share), score("8", share), score("Score: 85%", share)) == (0.85, 0.8, None, 0.85)
    assert (share.unit(0.25), TEN.unit(10), rewards.unit(0)) == (0.25, 1.0, 0.5)
    assert str(TEN) == "1 to 10"


@pytest.mark.parametrize(("low", "high"), [(1, 1), (10, 1), (float("nan"), 1), (0, float("inf"))])
def test_a_scale_needs_two_ends(low: float, high: float) -> None:
    with pytest.raises(UsageError, match="scale"):
        Scale(low, high)


@settings(deadline=None)
@given(
    st.integers(-20, 120), st.sampled_from(["{}", "Score: {}", "**Score:** {}", "I rate this {}", "{}/10", "Score: {}/10", "Rating: {}."])
)
def test_a_score_is_on_the_scale_or_none(value: int, form: str) -> None:
    assert score(form.format(value), TEN) == (value if 1 <= value <= 10 else None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The best choice is 2", 2),
        ("The best choice is 12", 12),
        ("2, better than choice 1", 2),
        ("The best choice is 2, better than choice 1", 2),
        ("The best choice is {3}.", 3),
        ("**The best choice is:** 3", 3),
        ("Choice 1 is weak. Choice 2 is the best.", 2),
        ("I vote for choice 3", 3),
        ("3", 3),
        ("#3.", 3),
        ("The best choice is 1.\nNo, wait. The best choice is 2.", 2),
        ("Best choice: Choice 4", 4),
        ("The best option is #2", 2),
        ("Choice 1 fails. Choice 3 stands.", 3),
        ("<think>the best choice is 1</think>The best choice is 5", 5),
        ("The best choice is 0", None),
        ("The best choice is 13", None),
        ("The best choice is 1 or 2", None),
        ("The best choice is not 1 but 2", None),
        ("Choice 1 and choice 2 are equal.", None),
        ("", None),
        ("They are all fine.", None),
    ],
)
def test_the_last_whole_number_voted_for_counts(text: str, expected: int | None) -> None:
    assert vote(text, 12) == expected


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(1, 30))
def test_a_vote_is_in_range_or_none(choice: int, n: int) -> None:
    assert vote(f"Because of 3 things. The best choice is {choice}", n) == (choice if 1 <= choice <= n else None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I do not know.", None),
        ("Not really, so yes.", True),
        ("Nobody would. So the answer is no.", False),
        ("Yes, but no.", None),
        ("**No**.", False),
        ("The answer is: false", False),
        ("Yes", True),
        ("No, it would not.", False),
        ("Yes. A hamster has no wings.", True),
        ("There is no evidence.", None),
        ("Nothing. Knowing nobody.", None),
        ("It is not true", None),
        ("At first yes. So the answer is no.", False),
        ("答案：否", False),
        ("<think>yes</think>no", False),
        ("The answer is not known", None),
        ("Final answer: TRUE.", True),
        ("", None),
        ("Eyes and noses", None),
        ("Answer: No, because yes-men", False),
        ("No, because yes-men agree to all", False),
        ("Answer: Yes, it is no no-brainer", True),
        ("Yes—a hamster can.", True),
        ("Answer: No—it cannot.", False),
        ("It is a yes-no question", None),
        ("Yes.\n\nQuestion: Is grass red?\nNo.", True),
        ("Yes.<|im_end|>\nNo.", True),
        ("Question: Is grass green?\nYes.", True),
    ],
)
def test_yes_and_no_are_whole_words_and_the_final_statement_wins(text: str, expected: bool | None) -> None:
    assert yes_no(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h1. SHOWN (medium)", ("h1. SHOWN", 0.2)),
        ("v2. apple (Certain).", ("v2. apple", 1.0)),
        ("x (high confidence)", ("x", 0.5)),
        ("x （low）", ("x", 0.1)),
        ("x (low) y", ("x (low) y", None)),
        ("left (left: 3 4)", ("left (left: 3 4)", None)),
    ],
)
def test_confidence_is_taken_off_the_end(text: str, expected: tuple[str, float | None]) -> None:
    assert confidence(text) == expected
