"""Published figures beside ours: by preset and settings with defaults filled in, and what differs is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchwise.bench.protocol import load
from branchwise.bench.protocol import names as protocols
from branchwise.bench.report.document import Report, build
from branchwise.bench.report.html import page
from branchwise.bench.report.tables import published_table
from branchwise.bench.spec import entry_json, load_spec, spec_of
from support.bench_rows import row, write


def report(folder: Path, task: str, methods: list[Any], **more: Any) -> Report:
    """The report on a run of these methods, whose bench.json is written by the bench itself."""
    parts: list[Any] = [{"task": task, "items": "1:2"}]
    spec = spec_of({"tasks": parts, "methods": methods, "models": [{"label": "m", "model": "local"}], **more.pop("top", {})}, "test")
    rows = [row(task, item, entry.label, score=float(item == "1")) for entry in spec.methods[task] for item in ("1", "2")]
    return build(write(folder, rows, spec=spec.to_json(), **more), traces=False)


def beside(found: Report, protocol: str = "game24") -> dict[str, list[tuple[str, Any]]]:
    """Published label to our methods beside it with what differs (ours, published); labels with nothing beside them are left out."""
    rows = {one.reference.label: one.ours for one in found.published if one.protocol == protocol}
    return {label: [(our.cell.method, our.differs) for our in ours] for label, ours in rows.items() if ours}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("tot_bfs", {"ToT b=5": {}}),  # breadth 5 is the default
        ("tot_bfs?breadth=5", {"ToT b=5": {}}),
        ("tot_bfs?breadth=1", {"ToT b=1": {}}),
        ("tot_bfs?breadth=3", {}),  # that of the protocol's b=3, which has no published figure
        ("tot_bfs?breadth=1&shots=1", {"ToT b=1": {}}),  # one example is the usual prompt
        ("tot_bfs?breadth=7", {"ToT b=1": {"breadth": (7, 1)}, "ToT b=5": {"breadth": (7, 5)}}),
        ("tot_bfs?evaluate=vote", {"ToT b=5": {"evaluate": ("vote", "value")}}),
        ("tot_bfs?shots=3", {"ToT b=5": {"shots": (3, 1)}}),
        ("cot_sc", {"CoT-SC (k=100)": {"k": (10, 100)}}),
        ("cot_sc?k=100", {"CoT-SC (k=100)": {}}),
        ("io", {"IO": {}}),
        ("cot", {"CoT": {}}),
        ("tot_dfs", {}),  # another preset
    ],
)
def test_game24_is_matched_by_what_a_method_is(tmp_path: Path, method: str, expected: dict[str, Any]) -> None:
    found = report(tmp_path, "game24", [method])
    assert beside(found) == {label: [(method, differs)] for label, differs in expected.items()}
    assert beside(found, "game24_models") == {}


def test_zero_shot_figures_are_not_those_of_our_default_prompts_with_examples(tmp_path: Path) -> None:
    found = report(tmp_path, "gsm8k", ["cot", "cot?shots=0", "tot_bfs"])
    assert beside(found, "gsm8k") == {"CoT": [("cot", {"shots": (5, 0)}), ("cot?shots=0", {})], "ToT": [("tot_bfs", {})]}


def test_settings_that_the_task_itself_makes_are_filled_in(tmp_path: Path) -> None:
    found = report(tmp_path, "crosswords", ["tot_dfs", "tot_dfs?max_steps=50"])
    assert beside(found, "crosswords") == {"ToT": [("tot_dfs", {}), ("tot_dfs?max_steps=50", {"max_steps": (50, 100)})]}


def test_every_protocol_is_beside_its_own_figures(tmp_path: Path) -> None:
    """Each published label has the run's method of that label beside it, with nothing that differs, and no other label has it."""
    for name in protocols():
        protocol = load(name)
        spec = load_spec(name)
        rows = [row(protocol.task, "1", entry.label) for entry in protocol.methods]
        methods = {protocol.task: [entry_json(entry) for entry in protocol.methods]}
        found = build(write(tmp_path / name, rows, spec=spec.to_json() | {"methods": methods}), traces=False)
        labels = {one.label for one in protocol.published}
        assert beside(found, name) == {label: [(label, {})] for label in labels}, name
        assert not [one for one in found.published if one.protocol == "this run's file"]


def test_a_label_does_not_make_a_method_another_one(tmp_path: Path) -> None:
    found = report(tmp_path, "game24", [{"label": "ToT b=5", "method": "tot_bfs", "settings": {"breadth": 1}}])
    assert beside(found) == {"ToT b=1": [("ToT b=5", {})]}


def test_a_tree_of_two_models_is_not_beside_a_figure_of_one(tmp_path: Path) -> None:
    models = [{"label": "a", "model": "local"}, {"label": "b", "model": "local:qwen2.5-coder-0.5b"}]
    mixed, same = ({"label": f"a + {two}", "method": "tot_bfs", "models": {"generate": "a", "evaluate": two}} for two in ("b", "a"))
    found = report(tmp_path, "game24", [mixed, same], top={"models": models})
    assert beside(found) == {"ToT b=5": [("a + a", {})]}
    assert beside(found, "game24_models") == {}  # its labels are not ours


def test_what_differs_is_in_the_table_the_page_and_the_document(tmp_path: Path) -> None:
    found = report(tmp_path, "game24", ["cot_sc", "tot_bfs"], equal={"by": "tokens", "amount": 100})
    rows = {line[0]: line[-1] for line in published_table(found).rows}
    assert rows["game24: CoT-SC (k=100)"].startswith("with k=10 in place of 100; at equal tokens: 50.0 % as chosen")
    assert rows["game24: ToT b=5"].startswith("at equal tokens: 50.0 % as chosen")
    assert b"with k=10 in place of 100" in page(found)
    [ours] = next(one["ours"] for one in found.to_json()["published"] if one["label"] == "CoT-SC (k=100)")
    assert (ours["differs"], ours["equal"]) == ({"k": {"ours": 10, "published": 100}}, "tokens")
