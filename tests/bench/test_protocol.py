"""Bench files: the published protocols as they are stated, and every key checked."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from branchwise.bench.protocol import Protocol, load, names
from branchwise.errors import UnknownName, UsageError
from branchwise.model.registry import parse_spec
from branchwise.tasks import task
from support.data import shared

SMALL = {"name": "own", "title": "Own", "task": "game24", "items": "1:3", "methods": [{"label": "IO", "method": "io"}]}


def own(tmp_path: Path, **changes: object) -> Protocol:
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({**SMALL, **changes}))
    return load(path)


@pytest.mark.parametrize("name", names())
def test_every_published_protocol_loads_and_its_methods_can_be_made(name: str) -> None:
    protocol = load(name)
    assert protocol.name == name
    assert protocol.data
    for entry in protocol.methods:
        assert entry.make(task(protocol.task)).generate is not None


@pytest.mark.parametrize(
    ("name", "first", "last", "count"),
    [("game24", "901", "1000", 100), ("crosswords", "1", "96", 20), ("writing", "1", "100", 100)],
)
def test_the_items_are_those_that_were_published(name: str, first: str, last: str, count: int) -> None:
    protocol = load(name)
    chosen = protocol.chosen(task(protocol.task).items(shared(protocol.data)))
    assert (chosen[0].id, chosen[-1].id, len(chosen)) == (first, last, count)


def test_game_of_24_takes_a_hundred_samples_of_io_and_cot_with_five_examples() -> None:
    rows = {entry.label: entry for entry in load("game24").methods}
    for label in ("IO", "CoT"):
        assert (rows[label].samples, rows[label].shots, rows[label].oracle) == (100, 5, ("best_of_samples",))
    assert [rows[f"ToT b={b}"].settings["breadth"] for b in range(1, 6)] == [1, 2, 3, 4, 5]
    assert load("crosswords").methods[0].samples == 10


def test_zero_shot_prompts_are_asked_for_by_name() -> None:
    method = load("gsm8k").methods[1].make(task("gsm8k"))
    assert getattr(method.generate, "prompt", "") == "cot_0shot"


def test_the_reference_results_carry_their_model_and_their_number_of_items() -> None:
    found = {(row.label, row.measure): row for row in load("game24").published}
    assert found["ToT b=5", "any final state right (oracle)"].value == 74
    for name in names():
        for row in load(name).published:
            assert row.model
            assert row.n


def test_models_are_named_as_the_program_takes_them() -> None:
    rows = load("game24_models").methods
    assert [(parse_spec(row.models["generate"]).target, parse_spec(row.models["evaluate"]).target) for row in rows] == [
        ("gpt-4", "gpt-4"), ("gpt-4", "gpt-3.5-turbo"), ("gpt-3.5-turbo", "gpt-4"), ("gpt-3.5-turbo", "gpt-3.5-turbo"),
    ]  # fmt: skip
    assert {row.label for row in rows} == {row.label for row in load("game24_models").published}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"itmes": "1"}, "no key 'itmes'; did you mean 'items'"),
        ({"methods": [{"method": "io", "smaples": 2}]}, "method 1 has no key 'smaples'; did you mean 'samples'"),
        ({"methods": [{"method": "tot_bfs", "settings": {"bredth": 2}}]}, "settings has no key 'bredth'; did you mean 'breadth'"),
        ({"methods": [{"method": "mctsr"}]}, "no use for method mctsr"),
        ({"methods": [{"method": "io", "samples": 0}]}, "whole number of at least 1, not 0"),
        ({"methods": [{"method": "io", "shots": 3}]}, "no prompt with 3 examples for method io"),
        ({"methods": [{"method": "io", "oracle": ["gold"]}]}, "unknown oracle"),
        ({"methods": [{"method": "io"}, {"method": "io"}]}, "the same label"),
        ({"methods": [{"method": "tot_bfs", "models": {"judge": "x"}}]}, "no key 'judge'"),
        ({"pairs": [["IO", "CoT"]]}, "unknown label"),
        ({"published": [{"label": "IO"}]}, "model: needs a text"),
        ({"judge": {"samples": -1}}, "at least 0"),
        ({"task": "game42"}, "unknown task"),
        ({"methods": "io"}, "methods: needs a list"),
        ({"temperature": "hot"}, "needs a number"),
    ],
)
def test_a_wrong_key_or_value_is_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        own(tmp_path, **changes)


def test_a_file_of_ones_own_is_read_and_missing_ones_are_named(tmp_path: Path) -> None:
    protocol = own(tmp_path, items="2,1:2")
    assert [item.id for item in protocol.chosen(task("game24").items())] == [
        item.id for item in (task("game24").items()[i] for i in (1, 0))
    ]
    (tmp_path / "own.yaml").write_text("name: [")
    with pytest.raises(UsageError, match="not YAML"):
        load(tmp_path / "own.yaml")
    (tmp_path / "own.yaml").write_text("name: a")
    with pytest.raises(UsageError, match="needs title"):
        load(tmp_path / "own.yaml")
    with pytest.raises(UsageError, match="cannot read"):
        load(tmp_path / "none.yaml")
    with pytest.raises(UnknownName, match="did you mean 'game24'"):
        load("gam24")
