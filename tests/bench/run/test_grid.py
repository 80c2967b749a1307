"""Grids: what a bench file and its flags name, the items that are chosen, and ids that tell units apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.grid import choose, make_grid
from branchwise.bench.overrides import override
from branchwise.bench.spec import load_spec, method_row, ready, spec_of
from branchwise.errors import MethodError, UnknownName, UsageError
from branchwise.tasks import Item
from support.bench_grid import grid

ITEMS = [Item(id=str(1000 + n), input=f"input {n}") for n in range(1, 21)]
RANKED = [Item(id=str(n), input="x", rank=n) for n in range(901, 921)]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ("3", ["1003"]),
        ("2:4", ["1002", "1003", "1004"]),
        (":2,19:", ["1001", "1002", "1019", "1020"]),
        ("4,2,2:3", ["1002", "1003", "1004"]),
        ("id:1005", ["1005"]),
        ("id:1005,1", ["1001", "1005"]),
    ],
)
def test_items_are_spans_and_ids_in_the_order_of_the_list_each_once(wanted: str, ids: list[str]) -> None:
    assert [item.id for item in choose(ITEMS, wanted)] == ids


def test_ranks_are_meant_where_there_are_ranks() -> None:
    assert [item.id for item in choose(RANKED, "905:907")] == ["905", "906", "907"]


def test_a_sample_is_the_same_every_time_and_another_for_another_seed() -> None:
    first, again, other = (choose(ITEMS, text) for text in ("sample:7", "sample:7", "sample:7:1"))
    assert first == again != other
    assert len(first) == 7
    assert first == sorted(first, key=ITEMS.index)


@pytest.mark.parametrize("wanted", ["", "0", "21", "5:3", "nothing", "sample:0", "sample:21", "1,,2", "id:3"])
def test_items_that_are_not_there_are_refused(wanted: str) -> None:
    with pytest.raises(UsageError):
        choose(ITEMS, wanted)


def test_methods_of_flags() -> None:
    assert method_row("io") == {"label": "io", "method": "io", "settings": {}}
    assert method_row("tot_bfs?breadth=3&evaluate=vote@gsm8k+svamp") == {
        "label": "tot_bfs?breadth=3&evaluate=vote@gsm8k+svamp".partition("@")[0],
        "method": "tot_bfs",
        "settings": {"breadth": 3, "evaluate": "vote"},
        "tasks": ["gsm8k", "svamp"],
    }
    with pytest.raises(UsageError, match="NAME\\?key=value"):
        method_row("io?x")


def test_a_grid_is_every_combination_items_outermost() -> None:
    made = grid(methods=["io", "cot"], models=["script:a", {"label": "b", "model": ["script:b", "script:c"]}], seeds=[0, 1])
    assert len(made.units) == 2 * 2 * 2 * 2
    assert len({unit.id for unit in made.units}) == 16
    assert [unit.item.id for unit in made.units[:8]] == [made.units[0].item.id] * 8


def test_whatever_shapes_a_row_is_in_its_id() -> None:
    base = grid().units[0].id
    others = [
        grid(temperature=0.5), grid(max_tokens=100), grid(budget={"calls": 5}), grid(equal="tokens"), grid(equal={"by": "tokens", "amount": 9}),
        grid(seeds=[1]), grid(methods=[{"method": "io", "samples": 2}]), grid(methods=[{"label": "x", "method": "io"}]),
        grid(models=[{"label": "n", "model": "local"}]), grid(overrides={"gsm8k": {grid().units[0].item.id: Gold("5", note="wrong")}}),
    ]  # fmt: skip
    ids = [made.units[0].id for made in others]
    assert base not in ids
    assert len(set(ids)) == len(ids)
    assert grid().units[0].id == base


def test_methods_may_be_for_one_task_and_models_for_one_role() -> None:
    roles = {"generate": "weak", "evaluate": "strong"}
    made = grid(
        tasks=[{"task": "gsm8k", "items": "1"}, {"task": "game24", "items": "901"}],
        models=[{"label": "strong", "model": "script:s"}, {"label": "weak", "model": "script:w"}],
        methods=["io", {"method": "mctsr_4", "tasks": ["gsm8k"]}, {"label": "mixed", "method": "tot_bfs", "models": roles}],
    )  # fmt: skip
    assert {unit.entry.label for unit in made.units if unit.task == "game24"} == {"io", "mixed"}
    mixed = [unit.route for unit in made.units if unit.entry.label == "mixed"]
    assert [(route.label, route.base, dict(route.others)) for route in mixed] == [("weak, evaluate: strong", "weak", {"evaluate": "strong"})] * 2
    with pytest.raises(UsageError, match="--models strong=SPEC"):
        grid(tasks=[{"task": "game24", "items": "901"}], methods=[{"method": "tot_bfs", "models": {"evaluate": "strong"}}])


@pytest.mark.parametrize(
    ("top", "told"),
    [
        ({"methods": ["nothing"]}, "unknown method"),
        ({"methods": []}, "no method"),
        ({"methods": ["io", "io"]}, "label"),
        ({"methods": ["io?k=3"]}, "no key 'k'"),
        ({"tasks": [{"task": "gsm8k"}]}, "needs items"),
        ({"tasks": [{"task": "open", "items": "1"}], "methods": ["best_first"]}, "no program can check"),
        ({"seeds": [0, 0]}, "seed"),
        ({"seeds": []}, "a model and a seed"),
        ({"equal": "words"}, "unknown equal budget"),
        ({"equal": {"by": "tokens", "amount": 0}}, "allows nothing"),
        ({"budget": {"calls": 0}}, "at least 1"),
        ({"models": [{"label": "a", "model": "local"}, {"label": "a", "model": "script:x"}]}, "label"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_paid(top: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        grid(**top)


def test_an_unknown_key_of_a_file_is_told_with_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump({"tasks": ["gsm8k"], "items": "1:3", "methods": ["io"], "sedes": [1]}))
    with pytest.raises(UsageError, match=r"no key 'sedes'.*seeds"):
        load_spec(str(path))
    path.write_text(yaml.safe_dump({"tasks": ["gsm8k"], "items": "1:3", "methods": ["io"]}))
    assert load_spec(str(path), {"replaced items": {"": "2"}}).parts[0].items == "2"
    with pytest.raises(UnknownName):
        load_spec("b_swep")


@pytest.mark.parametrize("name", ready())
def test_every_file_that_comes_with_the_program_is_a_grid(name: str) -> None:
    try:
        spec = load_spec(name)
    except MethodError as error:  # pragma: no cover
        raise AssertionError(name) from error
    labels = {model.label for model in spec.models}
    assert spec.title
    for entries in spec.methods.values():
        assert entries
        assert {label for entry in entries for label in entry.models.values()} <= labels


def test_golds_can_be_overridden_with_a_reason() -> None:
    item = grid().units[0].item.id
    made = grid(overrides={"gsm8k": {item: override("#### 77" + " " * 60, "the sum is wrong")}})
    gold = made.truths["gsm8k", item].gold
    assert gold is not None
    assert (gold.text, gold.note) == ("77", "overridden: the sum is wrong")


def test_a_manifest_says_what_the_items_and_prompts_were() -> None:
    made = grid(equal="tokens", title="a title")
    told = made.manifest()
    assert told["data"]["gsm8k"]["source"] == "our own list of gsm8k"
    assert len(told["data"]["gsm8k"]["sha256"]) == 16
    assert told["equal"] == {"by": "tokens", "amount": None, "amounts": {}, "tolerance": 0.05}
    assert told["settings_hash"] == grid(equal="tokens", title="a title").manifest()["settings_hash"]
    assert told["settings_hash"] != grid(equal="calls", title="a title").manifest()["settings_hash"]


def test_draws_are_spread_evenly_over_neighbouring_items() -> None:
    made = make_grid(spec_of({"tasks": ["game24"], "items": "901:930", "methods": ["io"]}, "test"), lambda name: None)
    draws = sorted(unit.draw for unit in made.units)
    assert all(0 < draw < 1 for draw in draws)
    assert max(abs(draw - (place + 0.5) / 30) for place, draw in enumerate(draws)) < 0.1
    assert replace(made.units[0], seed=1).draw != made.units[0].draw


def test_the_file_in_the_documentation_is_a_grid(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "bench.md").read_text()
    path = tmp_path / "grid.yaml"
    path.write_text(text.split("```yaml\n")[1].split("```")[0])
    spec = load_spec(str(path))
    assert [entry.label for entry in spec.methods["game24"]] == ["io", "ToT b=5", "mixed"]
    assert len(make_grid(spec, lambda name: None).units) == 30 * 2 * (2 + 2 + 1)
