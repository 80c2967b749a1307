"""What is said of judgements: a program that cannot tell is named where nobody else could, and what gave no value by what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import branchwise as bw
from branchwise.cli.record import CANNOT_TELL
from branchwise.tasks import task
from support.program import HAND, SCRIPT, Program

TRY = ("--task", "game24", "--model", f"script:{Path(__file__).parents[2] / 'examples' / 'game24_script.jsonl'}")


def shown(program: Program, tmp_path: Path, evaluate: str, *model: str) -> tuple[str, str]:
    """What `solve` and `show` print."""
    trace = tmp_path / "t.jsonl"
    solved = program("solve", HAND, *(model or TRY), "--evaluate", evaluate, "--trace", trace)
    assert solved.exit_code in (0, 3), solved.output
    return solved.stdout, program("show", trace).stdout


async def test_the_sentence_that_is_left_out_is_what_the_check_says() -> None:
    async with bw.open_model(TRY[3]) as model:
        found = await bw.check(model, task("game24").problem(HAND), [()])
    assert found[0].reason == CANNOT_TELL


def test_that_a_program_cannot_tell_is_left_out_beside_a_value(program: Program, tmp_path: Path) -> None:
    _, out = shown(program, tmp_path, "check+value")
    assert CANNOT_TELL not in out
    assert "  = 0             1 (1 1 1)  13 - 9 = 4 (left: 4 4 10)\n" in out
    assert "  = 0.0           1 (1 1 1)  10 - 4 = 6 (left: 4 6)   [1 equal merged into it]\n" in out


def test_what_the_others_say_stays(program: Program, tmp_path: Path) -> None:
    _, out = shown(program, tmp_path, "check+value+rollout")
    assert CANNOT_TELL not in out
    assert "13 - 9 = 4 (left: 4 4 10)   [3 of 3 rollouts ended in a verdict]" in out


def test_that_a_program_cannot_tell_is_said_where_there_is_no_value(program: Program, tmp_path: Path) -> None:
    _, out = shown(program, tmp_path, "check")
    assert f"?  13 - 9 = 4 (left: 4 4 10)   [{CANNOT_TELL}]" in out


@pytest.mark.parametrize(
    ("evaluate", "model", "said"),
    [
        ("rollout", TRY, "Rollouts without a verdict: 9"),
        ("check+rollout", TRY, "Rollouts without a verdict: 9"),
        ("value+rollout", TRY, "Judgements and rollouts without a value: 24"),
        ("value", SCRIPT, "Judgements that could not be read: 1"),
        ("value", TRY, ""),
    ],
)
def test_what_gave_no_value_is_named_by_what_it_is(program: Program, tmp_path: Path, evaluate: str, model: tuple[str, ...], said: str) -> None:
    for out in shown(program, tmp_path, evaluate, *model):
        assert [line for line in out.split("\n") if line.startswith(("Judgements", "Rollouts"))] == ([said] if said else [])
        assert evaluate == "value" or "judgements could not be read" not in out
