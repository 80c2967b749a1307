"""What the others are tested against: which names --baseline takes, and what may be called plain."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchwise.bench.report.document import Report, build
from branchwise.bench.rows import Row
from branchwise.bench.spec import load_spec
from branchwise.errors import UsageError
from support.bench_rows import noisy, write

ROUTES = {
    "strong + strong": ("strong", 0.9), "strong generates": ("strong, evaluate: weak", 0.6), "strong evaluates": ("weak, evaluate: strong", 0.6),
    "weak + weak": ("weak", 0.2),
}  # fmt: skip
"""The labels of the shipped file generator_evaluator, with the models of their rows and a made-up accuracy."""


def written(folder: Path, name: str, rows: list[Row]) -> Path:
    """A run of a shipped bench file."""
    spec = load_spec(name).to_json()
    return write(folder, rows, spec=spec)


def crossed(folder: Path, baseline: str | None = None) -> Report:
    rows = [one for n, (label, (model, p)) in enumerate(ROUTES.items()) for one in noisy({label: p}, 60, n, task="game24", model=model)]
    return build(written(folder, "generator_evaluator", rows), traces=False, baseline=baseline)


def test_a_search_is_never_called_plain(tmp_path: Path) -> None:
    report = crossed(tmp_path)
    [words] = report.baseline
    assert {pair.baseline for pair in report.pairs} == {"strong + strong, strong"}
    assert "plain" not in words
    assert words.startswith("game24, model against model: the baseline strong + strong, strong has accuracy")
    assert "The baseline strong + strong, strong wins, beyond chance, over" in words
    assert "No method was shown to be better than the baseline strong + strong, strong, and none was even ahead of it." in words


@pytest.mark.parametrize("asked", ["weak + weak", "weak + weak, weak"])
def test_the_label_and_the_name_in_the_tables_both_work(tmp_path: Path, asked: str) -> None:
    report = crossed(tmp_path, asked)
    assert [(pair.method, pair.baseline) for pair in report.pairs] == [
        ("strong + strong, strong", "weak + weak, weak"),
        ("strong generates, strong, evaluate: weak", "weak + weak, weak"),
        ("strong evaluates, weak, evaluate: strong", "weak + weak, weak"),
    ]
    assert all(pair.found and pair.difference > 0.2 for pair in report.pairs)
    [words] = report.baseline
    assert words.startswith("game24, model against model: the baseline weak + weak, weak has accuracy")
    assert "Better beyond chance: strong + strong, strong" in words
    assert not any("no method" in note for note in report.notes)


def test_every_name_of_a_table_works_and_any_other_is_refused_with_the_nearest(tmp_path: Path) -> None:
    report = crossed(tmp_path)
    [family] = report.families()
    for name in family.cells:
        assert {pair.baseline for pair in build(tmp_path, traces=False, baseline=name).pairs} == {name}
    with pytest.raises(UsageError, match=r"no method 'weak \+ weka' in this run; did you mean 'weak \+ weak, weak'"):
        build(tmp_path, traces=False, baseline="weak + weka")


def test_a_method_of_one_task_only_leaves_the_other_its_own_baseline_and_a_note(tmp_path: Path) -> None:
    """ablations: "ToT - prune" is of crosswords, "ToT vote" of game24."""
    rows = noisy({"ToT": 0.5, "ToT - prune": 0.5}, 20, 1, task="crosswords") + noisy({"ToT": 0.5, "ToT vote": 0.5}, 20, 2, task="game24")
    folder = written(tmp_path, "ablations", rows)
    report = build(folder, traces=False, baseline="ToT - prune")
    assert {pair.task: pair.baseline for pair in report.pairs} == {"crosswords": "ToT - prune", "game24": "ToT"}
    assert report.notes[0] == "game24, m: no method 'ToT - prune' here; it keeps its own baseline"
    assert not any("plain" in words for words in report.baseline)
    assert all("the baseline ToT has" in words for words in build(folder, traces=False).baseline)


def test_the_default_is_the_plain_prompt_by_its_preset_whatever_its_label(tmp_path: Path) -> None:
    """b_sweep: the labels are IO, CoT and ToT b=1 to 5; aime24: CoT (zero-shot)."""
    rows = noisy({"IO": 0.3, "CoT": 0.3, "ToT b=1": 0.3}, 20, 1, task="game24")
    [words] = build(written(tmp_path / "a", "b_sweep", rows), traces=False).baseline
    assert words.startswith("game24, m: the plain baseline CoT has accuracy")
    rows = noisy({"CoT-SC (k=35)": 0.3, "CoT (zero-shot)": 0.3, "MCTSr (8 rollouts)": 0.3}, 20, 1, task="aime24")
    [words] = build(written(tmp_path / "b", "aime24", rows), traces=False).baseline
    assert words.startswith("aime24, m: the plain baseline CoT (zero-shot) has accuracy")


def test_a_search_that_calls_itself_cot_is_not_plain(tmp_path: Path) -> None:
    spec = {"methods": {"gsm8k": [{"label": "cot", "method": "tot_bfs"}, {"label": "mine", "method": "io"}]}}
    rows = noisy({"cot": 0.5, "mine": 0.5}, 20, 1)
    [words] = build(write(tmp_path, rows, spec=spec), traces=False).baseline
    assert words.startswith("gsm8k, m: the plain baseline mine has accuracy")
    [words] = build(tmp_path, traces=False, baseline="cot").baseline
    assert words.startswith("gsm8k, m: the baseline cot has accuracy")


def test_one_method_alone_is_said_to_be_alone(tmp_path: Path) -> None:
    report = build(write(tmp_path, noisy({"cot": 0.5}, 40, 1), ["cot"]), traces=False, baseline="cot")
    assert report.pairs == []
    assert report.notes[0] == "gsm8k, m: 'cot' is alone here, so nothing is tested against it"
