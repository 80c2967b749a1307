"""Published logs as traces: the fold is the tree as it was published, and a file that is no log says why (part 4 of the issue)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise import Fate, UsageError
from branchwise.bench.imported import import_log, read_log
from branchwise.bench.traces import finals, read_folder, read_traced
from support.data import shared

ITEM: dict[str, Any] = {
    "idx": 0,
    "steps": [
        {
            "step": 0, "x": "1 2 3 4", "ys": [""],
            "new_ys": ["1 + 2 = 3 (left: 3 3 4)\n", "3 * 4 = 12 (left: 1 2 12)\n", "1 + 2 = 3 (left: 3 3 4)\n"],
            "values": [3.0, 60.0, 0],
            "select_new_ys": ["3 * 4 = 12 (left: 1 2 12)\n", "1 + 2 = 3 (left: 3 3 4)\n"],
        },
        {
            "step": 1, "x": "1 2 3 4", "ys": ["3 * 4 = 12 (left: 1 2 12)\n", "1 + 2 = 3 (left: 3 3 4)\n"],
            "new_ys": ["3 * 4 = 12 (left: 1 2 12)\nAnswer: 1 * 2 * 3 * 4 = 24\n", "1 + 2 = 3 (left: 3 3 4)\n3 + 3 = 6 (left: 4 6)\n"],
            "values": [20.0, 0.003], "select_new_ys": ["3 * 4 = 12 (left: 1 2 12)\nAnswer: 1 * 2 * 3 * 4 = 24\n"],
        },
    ],
    "ys": ["3 * 4 = 12 (left: 1 2 12)\nAnswer: 1 * 2 * 3 * 4 = 24\n"],
    "infos": [{"r": 0}],
    "usage_so_far": {"completion_tokens": 10, "prompt_tokens": 20, "cost": 0.5},
}  # fmt: skip


def write(tmp_path: Path, data: Any) -> Path:
    path = tmp_path / "log.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_a_beam_log_folds_into_its_tree(tmp_path: Path) -> None:
    done = import_log(write(tmp_path, [ITEM]), tmp_path / "out")
    assert (done.task, done.log.format, done.thoughts) == ("game24", "beam", 5)
    run = read_traced(tmp_path / "out" / "results.traces" / "1.jsonl")
    assert run.prompt == "1 2 3 4"
    first = run.tree.nodes[1:4]
    assert [node.thought for node in first] == ["1 + 2 = 3 (left: 3 3 4)", "3 * 4 = 12 (left: 1 2 12)", "1 + 2 = 3 (left: 3 3 4)"]
    assert [node.value for node in first] == [0.05, 1.0, 0.0]
    assert [node.fate for node in first] == [Fate.KEPT, Fate.KEPT, Fate.PRUNED]
    assert [node.decided for node in first] == [2, 1, 3]
    (final,) = finals(run.tree)
    assert final is run.chosen
    assert final.parent is first[1]
    assert run.answer == "1 * 2 * 3 * 4 = 24"
    assert run.about["imported"] == {"file": "log.json", "sha256": done.log.sha256, "format": "beam", "number": 1}


def test_the_stored_flag_is_not_what_decides(tmp_path: Path) -> None:
    import_log(write(tmp_path, [ITEM]), tmp_path / "out")
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert rows[0]["branchwise"] == "results"
    assert (rows[1]["solved"], rows[1]["answer"], rows[1]["stop_reason"]) == (True, "1 * 2 * 3 * 4 = 24", "max_depth")
    assert rows[1]["usage"]["completion_tokens"] == 10
    assert rows[1]["usage"]["cost_usd"] == 0.5
    (line,) = (json.loads(line) for line in (tmp_path / "out" / "outputs.jsonl").read_text().splitlines())
    assert line == {"id": "1", "input": "1 2 3 4", "outputs": ITEM["ys"]}


def test_the_usage_of_an_item_is_its_own_and_not_the_total(tmp_path: Path) -> None:
    second = {**ITEM, "idx": 4, "usage_so_far": {"completion_tokens": 15, "prompt_tokens": 50, "cost": 0.75}}
    log = read_log(write(tmp_path, [ITEM, second]))
    assert log.items[1].number == 5
    assert log.items[1].usage == {"completion_tokens": 5, "prompt_tokens": 30, "cost": 0.25}


def test_a_list_of_samples_needs_its_task_and_may_have_its_inputs(tmp_path: Path) -> None:
    log = write(tmp_path, [{"idx": 1, "ys": ["Answer: 6 * 4 = 24", "none"], "infos": [{"r": 1}, {"r": 0}]}])
    with pytest.raises(UsageError, match="add --task game24"):
        import_log(log, tmp_path / "out")
    hands = tmp_path / "24.csv"
    hands.write_text("Rank,Puzzles\n1,1 1 4 6\n2,1 1 11 11\n")
    import_log(log, tmp_path / "out", task="game24", data=hands)
    run = read_traced(tmp_path / "out" / "results.traces" / "2.jsonl")
    assert (run.prompt, len(run.tree)) == ("1 1 11 11", 2)
    assert [node.state for node in finals(run.tree)] == [("Answer: 6 * 4 = 24",), ("none",)]
    import_log(log, tmp_path / "bare", task="game24")
    assert read_traced(tmp_path / "bare" / "results.traces" / "2.jsonl").prompt == "number 2 of the published list of game24"


def test_a_dfs_log_folds_into_its_tree(tmp_path: Path) -> None:
    def visit(actions: list[str], sure: int, maybe: int, impossible: int) -> dict[str, Any]:
        return {"actions": actions, "info": {"r_word": 1.0}, "count": {"sure": sure, "maybe": maybe, "impossible": impossible}}

    log = [[visit(["h1. spare"], 0, 0, 0), visit(["h1. spare", "v1. scarf"], 1, 1, 0), visit(["h2. colon"], 3, 0, 1)]]
    import_log(write(tmp_path, log), tmp_path / "out")
    run = read_traced(tmp_path / "out" / "results.traces" / "1.jsonl")
    assert [node.id for node in run.tree] == [(0,), (0, 0), (1,)]
    assert [node.value for node in run.tree] == [None, 0.75, 0.0]
    assert [node.fate for node in run.tree] == [Fate.KEPT, Fate.KEPT, Fate.PRUNED]
    assert run.chosen is run.tree.nodes[2]
    assert run.answer == "SPARE C____ A____ R____ F____"


def broken(**changes: Any) -> list[Any]:
    return [{**ITEM, **changes}]


def step(number: int, **changes: Any) -> list[Any]:
    steps = [dict(one) for one in ITEM["steps"]]
    steps[number].update(changes)
    return broken(steps=steps)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ({}, "JSON list of items"),
        ([], "JSON list of items"),
        ([1], "not a published log"),
        (broken(idx="a"), "needs an idx"),
        (broken(ys="a"), "ys: needs a list"),
        (broken(ys=[1]), "needs a list of texts"),
        ([ITEM, ITEM], "two items have the same idx"),
        (step(0, values=[1.0]), "one number in values for each of new_ys"),
        (step(0, x=""), "needs the input as x"),
        (step(1, ys=["other\n"]), "not selected before"),
        (step(1, new_ys=["other", "b"]), "goes on from none of ys"),
        (step(1, select_new_ys=["other"]), "not among new_ys"),
        ([[{"actions": []}]], "needs actions and a count"),
        ([[{"actions": ["h1. spare", "h2. colon"], "count": {}}]], "was not visited"),
    ],
)
def test_a_file_that_is_no_log_says_what_is_wrong_and_writes_nothing(tmp_path: Path, data: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        import_log(write(tmp_path, data), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    log = write(tmp_path, [ITEM])
    with pytest.raises(UsageError, match="not empty"):
        import_log(log, tmp_path)
    with pytest.raises(UsageError, match="of task game24, not of writing"):
        import_log(log, tmp_path / "out", task="writing")
    with pytest.raises(UsageError, match="holds no traces"):
        list(read_folder(tmp_path))


def test_the_published_logs_are_read_whole(tmp_path: Path) -> None:
    log = shared("game24/gpt4_tot_log_900_1000.json")
    done = import_log(log, tmp_path / "g")
    assert (len(done.log.items), done.thoughts, done.log.items[0].number) == (100, 8412, 901)
    assert done.log.sha256 == "e08f019024c99e83e540f8feec99acf619f30b0cf047278a03f62ff45888571b"
    done = import_log(shared("creative_writing/gpt4_tot_log_0_100.json"), tmp_path / "w")
    assert (done.task, len(done.log.items), done.thoughts) == ("writing", 100, 1000)
    run = read_traced(tmp_path / "w" / "results.traces" / "1.jsonl")
    assert [node.value for node in run.tree][:5] == [0, 0.4, 0.6, 0, 0]
    assert run.answer is not None
    assert not run.answer.startswith("Passage")
    for run in read_folder(tmp_path / "g"):
        assert len(finals(run.tree)) == 5
