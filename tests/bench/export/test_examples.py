"""Examples from trees made by hand, and from the published log; the schema that TRL reads; no answer key in any text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise.bench.export.about import about
from branchwise.bench.export.examples import Judge, dpo, prm, sft
from branchwise.bench.export.runs import Run, runs
from branchwise.bench.funnel import Game24Truth
from branchwise.bench.grading.simple import Numbers
from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.imported import import_log
from branchwise.bench.report.truths import AnswerTruth, Truths
from branchwise.bench.traces import Traced
from branchwise.tasks import task as find_task
from branchwise.trace import Birth, Expanded, Judged, Judgement, Mark, Marked
from branchwise.tree import Tree
from support.data import shared

HAND = "4 9 10 13"
STEPS = ("13 - 9 = 4 (left: 4 4 10)", "10 - 4 = 6 (left: 4 6)", "4 * 6 = 24 (left: 24)")
BAD = "9 * 13 = 117 (left: 4 10 117)"


def tree(*levels: tuple[int, list[tuple[str, float | None, str]]]) -> Tree:
    """From (parent, [(thought, value, status)])."""
    made, size = Tree(), 1
    for number, (parent, thoughts) in enumerate(levels, 1):
        births = [Birth(size + i, i, thought, status) for i, (thought, _, status) in enumerate(thoughts)]
        made.apply(Expanded(number, parent, births))
        made.apply(Judged(number, [Judgement(size + i, value) for i, (_, value, _) in enumerate(thoughts) if value is not None]))
        made.apply(Marked([Mark(size + i, "kept") for i in range(len(thoughts))]))
        size += len(thoughts)
    return made


def game24(found: Tree) -> Run:
    return Run("game24", "1", "tot_bfs", "m", Traced(Path("x"), HAND, found, None, None, None, {}), Game24Truth())


WON = game24(
    tree(
        (0, [(BAD, 0.9, "open"), (STEPS[0], 0.5, "open"), ("4 + 9 = 13 (left: 10 13 13)", 0.1, "open")]),
        (2, [(STEPS[1], 0.9, "open"), ("10 + 4 = 14 (left: 4 14)", 0.1, "open")]),
        (4, [(STEPS[2], None, "solved"), ("4 + 6 = 10 (left: 10)", None, "dead")]),
    )
)


def test_a_winning_path_is_its_steps_and_the_answer() -> None:
    [row] = sft(WON, 16)
    assert [message["role"] for message in (*row["prompt"], *row["completion"])] == ["user", "assistant"]
    assert HAND in row["prompt"][0]["content"]
    assert row["completion"][0]["content"] == "\n".join(STEPS) + "\nAnswer: (13 - 9) * (10 - 4) = 24"


def test_an_answer_that_the_model_wrote_is_not_written_twice() -> None:
    found = tree((0, [(STEPS[0], 0.5, "open")]), (1, [("10 - 4 = 6 (left: 4 6)\nAnswer: (10 - 4) * (13 - 9) = 24", None, "solved")]))
    [row] = sft(game24(found), 16)
    assert row["completion"][0]["content"].count("Answer:") == 1


def test_siblings_by_truth_are_the_good_one_against_the_most_tempting_bad_one() -> None:
    rows = list(dpo(WON, 16))
    assert [(row["chosen"][0]["content"], row["rejected"][0]["content"]) for row in rows] == [
        (STEPS[0], BAD),
        (STEPS[1], "10 + 4 = 14 (left: 4 14)"),
        (STEPS[2], "4 + 6 = 10 (left: 10)"),
    ]
    assert rows[1]["prompt"][0]["content"].endswith(f"So far:\n{STEPS[0]}\n\nNext:")


def test_siblings_by_value_differ_by_the_margin_and_need_no_truth() -> None:
    blind = Run("open", "1", "tot_bfs", "m", WON.traced, None)
    assert list(dpo(blind, 16)) == []
    assert [(r["chosen"][0]["content"], r["rejected"][0]["content"]) for r in dpo(blind, 16, 0.5)] == [
        (BAD, "4 + 9 = 13 (left: 10 13 13)"), (STEPS[1], "10 + 4 = 14 (left: 4 14)"), (STEPS[2], "4 + 6 = 10 (left: 10)"),
    ]  # fmt: skip
    assert [r["chosen"][0]["content"] for r in dpo(blind, 16, 0.81)] == [STEPS[2]]  # proven against dead: 1 and 0


def test_steps_are_labelled_up_to_the_first_bad_one() -> None:
    rows = list(prm(WON, 16))
    assert rows[0]["completions"] == list(STEPS)
    assert rows[0]["labels"] == [True, True, True]
    assert {tuple(row["labels"]) for row in rows[1:]} == {(True, True, False), (True, False), (False,)}
    assert all(row["labels"].index(False) == len(row["labels"]) - 1 for row in rows[1:])
    assert len(list(prm(WON, 2))) == 2


QUESTION = "Ana has 3 boxes of 12 eggs and breaks 5. How many eggs are left?"


@pytest.mark.parametrize("status", ["complete", "dead"])
def test_a_whole_reply_without_a_right_answer_is_no_good_step(status: str) -> None:
    run = game24(tree((0, [("I add them all: 4 + 9 + 10 + 13 = 36.", None, status)])))
    assert Judge(run).good(run.traced.tree.nodes[1]) is False
    assert [row["labels"] for row in prm(run, 16)] == [[False]]


def planned(key: str) -> Run:
    """A strategy with a right and a wrong answer, one with a wrong answer only, and one that nobody followed."""
    found = tree(
        (0, [("Strategy: multiply, then subtract.", 0.6, "open"), ("Strategy: add.", 0.4, "open"), ("Strategy: guess.", None, "open")]),
        (1, [("Answer: 36 - 5 = 31, so the answer is 31", None, "complete"), ("Answer: the answer is 36", None, "complete")]),
        (2, [("Answer: the answer is 20", None, "complete")]),
    )
    truth = AnswerTruth(find_task("gsm8k"), Numbers(), Gold(key), QUESTION)
    return Run("gsm8k", "1", "tot_bfs", "m", Traced(Path("x"), QUESTION, found, None, None, None, {}), truth)


def test_a_step_is_as_good_as_the_answers_below_it_and_else_unknown() -> None:
    run = planned("31.00")
    judge = Judge(run)
    assert [judge.good(node) for node in run.traced.tree] == [True, False, None, True, False, False]
    assert [row["labels"] for row in prm(run, 16)] == [[True, True], [True, False], [False]]
    assert [r["rejected"][0]["content"] for r in dpo(run, 16)] == ["Strategy: add.", "Answer: the answer is 36"]


def test_no_text_of_the_answer_key_is_in_any_example() -> None:
    run = planned("$31.00000")
    rows: list[dict[str, Any]] = [*sft(run, 16), *dpo(run, 16), *prm(run, 16)]
    assert len(rows) == 6
    assert "31.0" not in json.dumps(rows)
    texts = {QUESTION, *(node.thought for node in run.traced.tree)}
    for row in prm(run, 16):
        assert row["prompt"] in texts
        assert set(row["completions"]) <= texts


def test_runs_that_nobody_can_judge_give_nothing_unless_asked() -> None:
    chosen = WON.traced.tree.nodes[6]
    blind = Run("open", "1", "tot_bfs", "m", Traced(Path("x"), "Which way?", WON.traced.tree, chosen, None, None, {}), None)
    assert list(sft(blind, 16)) == []
    assert list(prm(blind, 16)) == []
    [row] = sft(blind, 16, unchecked=True)
    assert row["completion"][0]["content"].startswith(STEPS[0])


def check(form: str, row: dict[str, Any]) -> None:
    """What TRL's trainers expect of a row of each type, and nothing more: a column too many fails when they drop columns by name."""
    columns = {"sft": {"prompt", "completion"}, "dpo": {"prompt", "chosen", "rejected"}, "prm": {"prompt", "completions", "labels"}}
    assert set(row) == columns[form]
    if form == "prm":
        assert isinstance(row["prompt"], str)
        assert row["prompt"]
        assert len(row["completions"]) == len(row["labels"]) > 0
        assert all(isinstance(step, str) and step.strip() for step in row["completions"])
        assert all(label is True or label is False for label in row["labels"])
        return
    for name, messages in row.items():
        assert [set(message) for message in messages] == [{"role", "content"}]
        assert messages[0]["role"] == ("user" if name == "prompt" else "assistant")
        assert isinstance(messages[0]["content"], str)
        assert messages[0]["content"].strip()
    if form == "dpo":
        assert row["chosen"] != row["rejected"]


def test_the_published_log_gives_rows_of_the_right_schema(tmp_path: Path) -> None:
    import_log(shared("game24/gpt4_tot_log_900_1000.json"), tmp_path / "out")
    with Truths() as truths:
        found = list(runs(tmp_path / "out", truths))
    rows = {"sft": [r for run in found for r in sft(run, 16)], "dpo": [r for run in found for r in dpo(run, 16)]}
    rows["prm"] = [r for run in found for r in prm(run, 16)]
    for form, made in rows.items():
        assert len(made) > 100
        for row in made:
            check(form, json.loads(json.dumps(row, ensure_ascii=False)))
    assert sum(any(sft(run, 16)) for run in found) == 76  # the funnel's first stage: a right answer was generated
    truth = Game24Truth()
    for row in rows["prm"]:
        hand = row["prompt"].split(": ")[1]
        for step, label in enumerate(row["labels"], 1):
            assert truth.hopeful(hand, tuple(row["completions"][:step])) == label


def test_what_is_said_of_the_examples() -> None:
    told = about("sft", 2, {"gsm8k": {"7", "3"}}, {"m"}, {"data": {"gsm8k": {"source": "test.jsonl", "sha256": "d"}}, "settings_hash": "h"})
    assert told["items"] == {"gsm8k": ["3", "7"]}
    assert "must not be measured on these 2 items" in told["warnings"][0]
    assert "MIT" in told["licences"]["gsm8k"]
    own = about("sft", 2, {"gsm8k": {"7"}}, {"m"}, {"data": {"gsm8k": {"source": "our own list of gsm8k"}}})
    assert "Apache-2.0" in own["licences"]["gsm8k"]


@pytest.mark.parametrize("text", ["", "   "])
def test_empty_thoughts_are_no_examples(text: str) -> None:
    run = game24(tree((0, [(text, 0.9, "open"), (STEPS[0], 0.5, "open")])))
    assert list(dpo(run, 16)) == []
    assert [row["completions"] for row in prm(run, 16)] == [[STEPS[0]]]
