"""Game of 24 as a problem: status, keys, answers, reading (cases 18, 19, 22, 54), and what it refuses."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.errors import MethodError, PromptError, UnknownName, UsageError
from branchwise.problem import COMPLETE, OPEN, SOLVED, Kind, Problem, Rejected, State, dead, is_provable, read
from branchwise.tasks import task
from branchwise.tasks.game24 import GAME24, Game24, Verdict, check
from branchwise.tasks.game24.hands import by_difficulty
from branchwise.thought.prompts import prompt_for

GAME = Game24.parse("4 9 10 13")
PATH = ("10 - 4 = 6 (left: 6 9 13)", "13 - 9 = 4 (left: 4 6)", "6 * 4 = 24 (left: 24)")


def test_it_is_a_problem_that_a_program_can_prove() -> None:
    assert isinstance(GAME, Problem)
    assert is_provable(GAME)
    assert GAME.prompt == "4 9 10 13"


def test_a_path_to_24_is_solved_by_its_state_and_its_answer_is_rebuilt() -> None:
    assert [GAME.status(PATH[:depth]) for depth in range(4)] == [OPEN, OPEN, OPEN, SOLVED]
    assert [GAME.answer(PATH[:depth]) for depth in range(4)] == [None, None, None, "(10 - 4) * (13 - 9) = 24"]


def test_a_single_number_that_is_not_24_is_dead_and_says_so() -> None:
    state = (PATH[0], PATH[1], "4 + 6 = 10 (left: 10)")
    assert GAME.status(state) == dead("ends in 10, not 24")
    assert GAME.answer(state) == "13 - 9 + 10 - 4 = 10"


@pytest.mark.parametrize(
    ("thought", "reason"),
    [
        ("8 - 4 = 4 (left: 4 10 13)", "8 is not left"),
        ("10 - 4 = 6 (left: 6 9 9 13)", "does not follow"),
        ("10 - 4 = 7 (left: 7 9 13)", "does not follow"),
    ],
)
def test_a_step_that_does_not_follow_is_dead_with_the_reason(thought: str, reason: str) -> None:
    status = GAME.status((thought,))
    assert status.kind is Kind.DEAD
    assert reason in status.reason
    assert GAME.answer((thought,)) is None


def test_whole_answers_are_solved_or_complete() -> None:
    right, wrong, none = "Answer: (10 - 4) * (13 - 9) = 24", "Answer: 4 + 9 + 10 + 13 = 24", "Answer: Not possible"
    assert [GAME.status((text,)) for text in (right, wrong, none)] == [SOLVED, COMPLETE, COMPLETE]
    assert [GAME.answer((text,)) for text in (right, wrong, none)] == ["(10 - 4) * (13 - 9) = 24", "4 + 9 + 10 + 13 = 24", None]
    assert GAME.status((wrong, right)) == SOLVED
    assert GAME.status((right, wrong)) == COMPLETE


def test_steps_written_in_one_reply_without_an_answer_line_count_when_they_reach_24() -> None:
    text = "Steps:\n1. 10 - 4 = 6\n2. 13 - 9 = 4 (left: 4 6)\n3. 6 * 4 = 24"
    assert GAME.status((text,)) == SOLVED
    assert GAME.answer((text,)) == "(10 - 4) * (13 - 9) = 24"
    assert GAME.status(("10 - 4 = 6\n13 - 9 = 5\n6 * 4 = 24",)) == COMPLETE
    assert GAME.status((text + "\nAnswer: 4 + 9 + 10 + 13 = 24",)) == COMPLETE


def test_equal_numbers_left_are_one_state_whatever_the_way() -> None:
    game = Game24.parse("4 5 6 10")
    one, other, third = (game.read((), text) for text in ("4 * 5 = 20 (left: 6 10 20)", "5 * 4 = 20 (left: 6 10 20)", "4 + 5 = 9"))
    assert game.key((one,)) == game.key((other,)) != game.key((third,))
    assert game.key(()) != game.key((one,))
    assert game.key(("Answer:  4 + 5 = 9",)) == game.key(("Answer: 4 + 5 = 9 ",)) != game.key(("Answer: 4 + 5 = 10",))


def test_the_exact_value_is_kept_whatever_the_model_printed() -> None:
    game = Game24.parse("3 3 8 8")
    state: State = ()
    for text in ("8 / 3 = 2.67 (left: 2.67 3 8)", "3 - 2.67 = 0.33", "8 / 0.33 = 24.24"):
        state = (*state, game.read(state, text))
    assert state[-1] == "8 / (1/3) = 24 (left: 24)"
    assert game.status(state) == SOLVED
    assert game.answer(state) == "8 / (3 - 8 / 3) = 24"


def test_nothing_is_read_below_a_single_number() -> None:
    state = (PATH[0], PATH[1], "4 + 6 = 10 (left: 10)")
    with pytest.raises(Rejected, match="only one number is left"):
        GAME.read(state, "17 + 2 = 19 (left: 8 8 14 19)")


def test_reading_takes_the_first_step_that_follows() -> None:
    assert read(GAME, (), "Sure! Here is a step:\n\n**10 - 4 = 6** (left: 6 9 13)\n\nThis leaves good numbers.") == PATH[0]
    assert read(GAME, (), "5 - 4 = 1\n10 - 4 = 6") == PATH[0]
    with pytest.raises(Rejected, match="5 is not left"):
        read(GAME, (), "5 - 4 = 1\n6 - 4 = 2")


def test_an_answer_among_steps_is_taken_only_if_it_is_right() -> None:
    right = "Answer: (10 - 4) * (13 - 9) = 24"
    assert GAME.read(PATH[:2], right) == right
    assert GAME.status((*PATH[:2], right)) == SOLVED
    with pytest.raises(Rejected, match="leaves out"):
        GAME.read(PATH[:2], "Answer: 10 - 4 = 24")
    with pytest.raises(Rejected, match="a step after an answer"):
        GAME.read(("Answer: 4",), "Answer: 5")


def test_fields_show_the_numbers_left() -> None:
    assert GAME.fields(()) == {"left": "4 9 10 13", "steps": ""}
    assert GAME.fields(PATH[:1]) == {"left": "6 9 13", "steps": PATH[0] + "\n"}
    assert GAME.fields(("Answer: 5",)) == {"left": "4 9 10 13", "steps": ""}


@pytest.mark.parametrize("text", ["4 9 10 13", "4,9,10,13", "  4   9, 10\t13 ", "4;9;10;13"])
def test_a_hand_is_four_numbers_however_they_are_separated(text: str) -> None:
    assert GAME24.problem(text).prompt == "4 9 10 13"


@pytest.mark.parametrize(
    "text",
    ["", "4 9 10", "4 9 10 13 1", "4 9 10 14", "0 9 10 13", "x 9 10 13", "4 9 10 1e1", "-4 9 10 13", "1" * 10_000],
)
def test_what_is_no_hand_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match=r'not a Game of 24 hand: .*for example "4 9 10 13"'):
        GAME24.problem(text)


def test_a_user_s_wording_replaces_the_task_s_by_name() -> None:
    game = GAME24.problem("4 9 10 13", {"value": "Judge {{left}}"})
    assert prompt_for(game, "value").render({"left": "4 6"})[-1].content == "Judge 4 6"
    with pytest.raises(UnknownName, match="did you mean 'value'"):
        GAME24.problem("4 9 10 13", {"valeu": "x {{left}}"})


def test_methods_that_make_no_sense_are_refused_with_the_reason() -> None:
    assert GAME24.check_method("tot_dfs") == "tot_dfs"
    with pytest.raises(UnknownName, match="did you mean 'tot_bfs'"):
        GAME24.check_method("tot_bf")
    for name in GAME24.refused:
        with pytest.raises(MethodError, match=f"no use for method {name}"):
            GAME24.check_method(name)
    assert task("Game24") is GAME24
    with pytest.raises(UnknownName, match="did you mean 'game24'"):
        task("gam24")


@pytest.mark.parametrize("name", sorted(GAME24.prompts))
def test_every_prompt_renders_and_names_its_problem(name: str) -> None:
    try:
        prompt = prompt_for(GAME, name, PATH[:2])
    except PromptError as error:
        pytest.fail(str(error))
    fields = {
        "prompt": GAME.prompt,
        "thoughts": "\n".join(PATH[:2]),
        "last": PATH[1],
        "k": "8",
        "choices": "Choice 1:\nx",
        **GAME.fields(PATH[:2]),
    }
    message = prompt.render(fields)[-1].content
    assert "{{" not in message
    assert message.rstrip().endswith(("4 6", "4 9 10 13", PATH[1], "Choice 1:\nx"))


def test_no_hand_of_a_prompt_is_one_of_the_published_test_hands() -> None:
    from support.data import shared

    lines = shared("game24/24.csv").read_text("utf-8").splitlines()[901:1001]
    tested = {tuple(sorted(map(int, line.split(",")[1].split()))) for line in lines}
    assert len(tested) == 100
    for text in GAME24.prompts.values():
        for line in text.splitlines():
            parts = line.split()
            if len(parts) == 4 and all(part.isdigit() for part in parts):
                assert tuple(sorted(map(int, parts))) not in tested


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 1361), st.integers(0, 10**9))
def test_any_random_play_is_followed_exactly_and_its_answer_has_its_value(index: int, seed: int) -> None:
    chance = random.Random(seed)
    hand = by_difficulty()[index]
    game = Game24(hand)
    state: State = ()
    left = [Fraction(value) for value in hand]
    for _ in range(3):
        assert game.status(state) == OPEN
        first, second = chance.sample(range(len(left)), 2)
        op = chance.choice("+-*/" if left[second] else "+-*")
        shown = [f"({left[i]})" for i in (first, second)]
        state = (*state, game.read(state, f"{shown[0]} {op} {shown[1]}"))
        made = {"+": left[first] + left[second], "-": left[first] - left[second], "*": left[first] * left[second]}.get(op)
        made = left[first] / left[second] if made is None else made
        left = [value for i, value in enumerate(left) if i not in (first, second)] + [made]
        assert game.key(state) == ("left", tuple(sorted(left)))
    assert (game.status(state) == SOLVED) == (left == [24])
    answer = game.answer(state)
    assert answer is not None
    assert answer.endswith(f" = {left[0]}")
    assert (check(hand, answer).verdict is Verdict.CORRECT) == (left == [24])
