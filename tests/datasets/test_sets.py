"""The registry of public sets: it fits the files beside the checkout, and the layout of that folder works as it is."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from branchwise.data.inputs import inputs
from branchwise.data.raw import rows
from branchwise.data.sets import DATASETS, data_file, dataset
from branchwise.data.store import find
from branchwise.errors import DataError, UnknownName, UsageError
from branchwise.tasks import TASKS
from support.data import SHARED, shared

SETS = ("gsm8k", "gsm_hard", "svamp", "strategyqa", "math500", "aime24", "amc23", "olympiadbench", "odyssey")


def test_the_registry_is_that_of_the_index() -> None:
    with shared("INDEX.tsv").open(encoding="utf-8") as lines:
        index = {f"{row['set']}/{row['file']}": row for row in csv.DictReader(lines, delimiter="\t")}
    assert {entry.file for entry in DATASETS.values()} == set(index)
    for entry in DATASETS.values():
        row = index[entry.file]
        assert (entry.sha256, entry.repository, entry.commit, entry.path) == (row["sha256"], row["repo"], row["commit"], row["path"])
        assert (entry.size, entry.items) == (int(row["bytes"]), int(row["items"]))
        assert entry.licence
        assert entry.commit in entry.url


@pytest.mark.parametrize("name", DATASETS)
def test_the_files_beside_the_checkout_are_found_and_right(name: str) -> None:
    shared("")
    assert find(name, SHARED) is not None


@pytest.mark.parametrize("name", SETS)
def test_every_item_has_an_input_without_debris_and_without_its_answer(name: str) -> None:
    found = inputs(name, shared(DATASETS[name].file))
    assert len(found) == DATASETS[name].items == len({item.id for item in found})
    assert len(TASKS[name].items(SHARED)) == len(found)
    for item in found:
        assert item.input.strip() == item.input
        assert item.input
        assert "noindent" not in item.input
        assert "end{problem}" not in item.input
        assert "####" not in item.input
        TASKS[name].problem(item.input)


def test_questions_without_a_question_word_are_items_like_others() -> None:
    problem = TASKS["gsm8k"].problem("There are 5 apples and 3 are eaten. Determine the number of apples left.")
    assert problem.prompt.endswith("Determine the number of apples left.")


def test_svamp_joins_body_and_question_into_sentences() -> None:
    found = inputs("svamp", shared("svamp/SVAMP.json"))
    assert found[0].input == (
        "Each pack of dvds costs 76 dollars. If there is a discount of 25 dollars on each pack, how much do you have to pay to buy each pack?"
    )


def test_a_folder_without_the_set_is_told_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="branchwise data pull gsm8k"):
        TASKS["gsm8k"].items(tmp_path)
    with pytest.raises(UsageError, match="has no public set"):
        data_file("open", tmp_path)
    with pytest.raises(UnknownName, match="gsm8k"):
        dataset("gsm8")


def test_a_file_of_a_wrong_hash_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gsm8k" / "test.jsonl"
    path.parent.mkdir()
    path.write_text("{}\n", "utf-8")
    with pytest.raises(DataError, match="not the registered version"):
        find("gsm8k", tmp_path)
    assert path.exists()


@pytest.mark.parametrize("text", ["", "\n\n", "{", "[1, 2", "[1, 2]", "5\n", '"text"\n', "\xff"])
def test_strange_files_are_usage_errors(tmp_path: Path, text: str) -> None:
    path = tmp_path / "strange.jsonl"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=r"strange\.jsonl"):
        rows(path)


def test_rows_of_one_id_are_told_apart_and_wrapped_ones_unwrapped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "problem": "a"}\n{"id": 1, "problem": "b"}\n{"Problem_9": {"question": "c"}}\n{"problem": "d"}\n', "utf-8")
    assert [row.id for row in rows(path)] == ["1", "1#2", "Problem_9", "4"]
    assert [item.input for item in inputs("odyssey", path)] == ["a", "b", "c", "d"]
