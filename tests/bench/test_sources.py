"""What a run was made from, as digests in its manifest: items and golds of our own lists, and all wording that methods can use."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branchwise.bench import golds
from branchwise.bench import grid as grids
from branchwise.bench.compare import compare
from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.keyring import GRADED
from branchwise.bench.report.document import build
from branchwise.bench.report.truths import Truths, keys_at_hand
from branchwise.bench.rows import ROWS, read_manifest
from branchwise.bench.sources import own_digests, source_of
from branchwise.errors import UsageError
from branchwise.model.scripted import Scripted
from branchwise.tasks import task as find_task
from branchwise.thought.prompts import SYSTEM, generic_names, generic_text
from support.bench_grid import grid, run

FORM = re.compile(r"[0-9a-f]{16}")
GSM8K = find_task("gsm8k")


def says(text: str = "14") -> Scripted:
    """14 is the gold of the first item, 28 that of the second."""
    return Scripted(lambda request, index: f"The answer is {text}.")


@pytest.fixture
def corrected(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A gold of gsm8k's own list is corrected, as a later version of the program may."""

    def correct(item: str, gold: str) -> None:
        key = golds._key
        monkeypatch.setattr(golds, "_key", lambda name: key(name) | ({item: gold} if name == "numeric" else {}))

    return correct


@pytest.mark.parametrize("name", GRADED)
def test_every_own_list_has_a_digest_of_items_and_golds(name: str) -> None:
    found = source_of(find_task(name), None)
    assert found["source"] == f"our own list of {name}"
    assert FORM.fullmatch(found["sha256"])
    assert found["sha256"] != own_digests(find_task(name))[1]


def test_a_corrected_gold_of_our_own_list_is_another_digest(corrected: Any) -> None:
    before, others = own_digests(GSM8K), source_of(find_task("math500"), None)
    corrected("own-02", "29")
    after = own_digests(GSM8K)
    assert (after[0] == before[0], after[1] == before[1]) == (False, True)
    assert source_of(find_task("math500"), None) == others


def test_runs_before_and_after_a_correction_cannot_be_compared(tmp_path: Path, corrected: Any) -> None:
    run(grid(), tmp_path / "a", says())
    corrected("own-02", "29")
    with pytest.raises(UsageError, match="another data of gsm8k"):
        run(grid(), tmp_path / "a", says())
    run(grid(), tmp_path / "b", says())
    found = compare(tmp_path / "a", tmp_path / "b")
    assert not found.comparable
    assert found.title.startswith("NOT COMPARABLE: the data of gsm8k is not the same (SHA-256 ")


def test_a_correction_has_its_effect_on_forced_rows_of_that_item_alone(tmp_path: Path, corrected: Any) -> None:
    first = run(grid(), tmp_path, says("29"))
    corrected("own-02", "29")
    rows = run(grid(), tmp_path, says("29"), force=True)
    assert [[one.verdict for one in sorted(found, key=lambda one: one.item)] for found in (first, rows)] == [["wrong"] * 2, ["wrong", "correct"]]
    assert {one.unit for one in first} & {one.unit for one in rows} == {one.unit for one in first if one.item == "own-01"}


def test_a_list_that_was_corrected_since_has_no_funnel(tmp_path: Path, corrected: Any) -> None:
    """Rows were marked with the golds of then: a funnel with those of now would contradict them."""
    run(grid(), tmp_path, says("29"))
    data = read_manifest(tmp_path)["data"]
    assert keys_at_hand(data, lambda task: None) == {}
    with Truths() as truths:
        before = truths.digests()
    corrected("own-02", "29")
    assert keys_at_hand(data, lambda task: None) == {"gsm8k": None}
    report = build(tmp_path, data=keys_at_hand(data, lambda task: None))
    assert [found.to_json()["funnel"] for found in report.trees.values()] == [None]
    assert "gsm8k: no funnel, because the answer key of the run is not at hand (--data), or has changed since" in report.notes
    assert set(before) == {"our own lists", "overrides"}


def test_a_manifest_of_an_earlier_version_still_finds_its_own_list() -> None:
    """It has the digest of the items alone."""
    old = {"gsm8k": {"source": "our own list of gsm8k", "sha256": own_digests(GSM8K)[1]}}
    assert keys_at_hand(old, lambda task: None) == {}


def test_the_digest_is_not_the_gold(tmp_path: Path) -> None:
    secret = "98765432109876543"
    made = grid()
    changed = replace(made, truths={key: replace(truth, gold=Gold(secret)) for key, truth in made.truths.items()})
    run(changed, tmp_path, says())
    assert secret not in (tmp_path / "bench.json").read_text()


def wording(monkeypatch: pytest.MonkeyPatch, **changed: str) -> None:
    """Generic prompts of another wording."""
    monkeypatch.setattr(grids, "generic_text", lambda name: changed.get(name, generic_text(name)))


@pytest.mark.parametrize("name", generic_names())
def test_a_generic_prompt_counts_where_the_task_has_none_of_its_own(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """gsm8k words most prompts itself; the others are the generic ones, and methods use those."""
    before = grid().prompts["gsm8k"]
    wording(monkeypatch, **{name: "{{prompt}} in other words"})
    assert (grid().prompts["gsm8k"] == before) == (name in GSM8K.prompts)


def test_game24_searches_with_generic_prompts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {"tasks": [{"task": "game24", "items": "1"}]}
    lacking = [name for name in generic_names() if name not in find_task("game24").prompts]
    assert lacking
    before = grid(**made).prompts["game24"]
    wording(monkeypatch, **{lacking[0]: "other words"})
    assert grid(**made).prompts["game24"] != before


def test_the_system_message_and_own_prompts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = grid().prompts["gsm8k"]
    assert FORM.fullmatch(before)
    assert grid().prompts == {"gsm8k": before}
    monkeypatch.setattr(grids, "SYSTEM", SYSTEM + "!")
    other = grid().prompts["gsm8k"]
    monkeypatch.setattr(grids, "SYSTEM", SYSTEM)
    own = grids._wording(replace(GSM8K, prompts={**GSM8K.prompts, "cot": "{{prompt}} other words"}))
    assert len({before, other, own}) == 3
    assert grid().prompts["gsm8k"] == before


def test_rows_of_other_wording_are_never_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade: refused; forced, every row that the wording shapes is set aside."""
    first = run(grid(), tmp_path, says())
    monkeypatch.setattr(grids, "SYSTEM", SYSTEM + "!")
    with pytest.raises(UsageError, match="another wording of the prompts of gsm8k"):
        run(grid(), tmp_path, says())
    rows = run(grid(), tmp_path, says(), force=True)
    assert len(rows) == len(first)
    assert not {one.unit for one in first} & {one.unit for one in rows}
    assert (tmp_path / f"{ROWS}.1.old").exists()
