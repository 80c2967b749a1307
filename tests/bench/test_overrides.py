"""Golds that a user overrides: what they decide, where they are kept and shown, and what they make another setting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from branchwise.bench.compare import compare
from branchwise.bench.overrides import golds_of, overridden, override
from branchwise.bench.report.document import build
from branchwise.bench.report.gather import FACTS
from branchwise.bench.report.html import page
from branchwise.bench.rows import ROWS, read_manifest
from branchwise.cli.main import cli
from branchwise.errors import UsageError
from branchwise.model.scripted import Scripted
from support.bench_grid import by_unit, grid, run
from support.bench_rows import noisy, row, write
from support.program import Program

WHY = "the published one is wrong <b>"
ANSWER = "12345"
"""What the model says to every item; right for none of the list, where 14 and 28 are the golds of the first two."""
LINE = {"task": "gsm8k", "id": "own-02", "gold": ANSWER, "reason": WHY}


def says(text: str = ANSWER) -> Scripted:
    return Scripted(lambda request, index: f"The answer is {text}.")


def of(*items: str, gold: str = ANSWER, reason: str = WHY) -> dict[str, Any]:
    return {"gsm8k": {item: override(gold, reason) for item in items}}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program `branchwise` with a home and no data of its own."""
    monkeypatch.setenv("BRANCHWISE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BRANCHWISE_DATA", raising=False)
    return lambda *arguments: CliRunner().invoke(cli, list(map(str, arguments)))


@pytest.fixture
def bench(program: Program, tmp_path: Path) -> Any:
    """`bench run` of the first two items with a script that says the same to all, and lines of overrides; the folder."""
    (tmp_path / "script.json").write_text(json.dumps([{"replies": [f"The answer is {ANSWER}."]}]))

    def go(name: str, *lines: Mapping[str, str], code: int = 0, **more: str) -> Any:
        (tmp_path / "golds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        flags = {"tasks": "gsm8k", "methods": "io", "items": "1:2", "models": f"s=script:{tmp_path / 'script.json'}"} | more
        named = [part for key, value in flags.items() for part in (f"--{key}", value)]
        found = program("bench", "run", *named, "--overrides", tmp_path / "golds.jsonl", "--out", tmp_path / name)
        assert found.exit_code == code, found.stderr
        return tmp_path / name if code == 0 else found.stderr

    return go


def test_verdict_funnel_and_export_judge_by_the_same_gold(bench: Any, program: Program, tmp_path: Path) -> None:
    """One of two items is right by its overriding gold: 50 % as chosen, one of two in the funnel, one example; without it none of all three."""
    with_it, without = bench("a", LINE), bench("b")
    for folder, share, examples in ((with_it, 0.5, 1), (without, 0.0, 0)):
        [cell] = json.loads(program("bench", "report", folder, "--json").stdout)["cells"]
        assert (cell["accuracy"], cell["oracle"], cell["traces"]["funnel"]["chosen"]) == (share, share, int(2 * share))
        out = tmp_path / "sft.jsonl"
        assert program("export", folder, "--format", "sft", "--out", out).exit_code == (0 if examples else 3)
        assert len(out.read_text().splitlines()) == examples
        about = json.loads(out.with_name("sft.jsonl.about.json").read_text())
        assert about["overridden"] == [{"task": "gsm8k", "item": "own-02", "reason": WHY}][:examples]
        assert ("golds that replaced those of the data decided what is right for gsm8k own-02" in about["warnings"]) == bool(examples)


def test_the_manifest_and_every_form_of_the_report_tell_gold_and_reason(bench: Any, program: Program, tmp_path: Path) -> None:
    folder = bench("a", LINE)
    assert read_manifest(folder)["overrides"] == {"gsm8k": {"own-02": {"gold": ANSWER, "reason": WHY}}}
    found = json.loads(program("bench", "report", folder, "--json").stdout)
    assert found["overridden_golds"] == [{"task": "gsm8k", "item": "own-02", "gold": ANSWER, "reason": WHY}]
    assert "golds that the run overrode: 1; each is listed at the end, with its reason" in found["notes"]
    text = program("bench", "report", folder, "--html", tmp_path / "r.html").stdout
    assert f"Golds that were overridden, with the reasons\n  gsm8k, own-02: {ANSWER} ({WHY})" in text
    html = (tmp_path / "r.html").read_text("utf-8")
    assert f"<li>gsm8k, own-02: {ANSWER} (the published one is wrong &lt;b&gt;)</li>" in html
    plain = program("bench", "report", bench("b"), "--html", tmp_path / "p.html").stdout
    assert "overr" not in plain
    assert "Golds that were overridden" not in (tmp_path / "p.html").read_text("utf-8")


def test_a_long_list_is_cut_on_the_page_and_whole_in_json(tmp_path: Path) -> None:
    many = {f"{n:03}": {"gold": "1", "reason": "x"} for n in range(203)}
    report = build(write(tmp_path / "a", noisy({"io": 0.5}, 5, 1), overrides={"gsm8k": many}), traces=False)
    assert len(report.to_json()["overridden_golds"]) == 203
    assert page(report).count(b": 1 (x)</li>") == 200
    assert b"and 3 more" in page(report)


def test_another_gold_is_refused_and_forced_it_sets_aside_the_rows_that_it_changes(tmp_path: Path) -> None:
    first = run(grid(overrides=of("own-02")), tmp_path, says())
    for change in (of("own-02", gold="5"), {}, of("own-01", "own-02")):
        with pytest.raises(UsageError, match="--force"):
            run(grid(overrides=change), tmp_path, says())
    rows = run(grid(overrides=of("own-02", gold="5")), tmp_path, says(), force=True)
    assert {one.item: one.verdict for one in first} == {"own-01": "wrong", "own-02": "correct"}
    assert {one.item: one.verdict for one in rows} == {"own-01": "wrong", "own-02": "wrong"}
    assert [by_unit(rows).get(one.unit) == one for one in sorted(first, key=lambda one: one.item)] == [True, False]
    assert (tmp_path / f"{ROWS}.1.old").exists()
    assert read_manifest(tmp_path)["overrides"]["gsm8k"]["own-02"]["gold"] == "5"


def test_another_reason_changes_no_row_and_is_kept(tmp_path: Path) -> None:
    first = run(grid(overrides=of("own-02")), tmp_path, says())
    assert run(grid(overrides=of("own-02", reason="a typo")), tmp_path, says("nothing")) == first
    assert read_manifest(tmp_path)["overrides"]["gsm8k"]["own-02"]["reason"] == "a typo"


def test_the_digest_of_the_settings_tells_overrides_apart() -> None:
    hashes = [grid(overrides=change).manifest()["settings_hash"] for change in ({}, of("own-01"), of("own-02"), of("own-02", gold="5"))]
    assert len(set(hashes)) == 4


def test_only_items_of_the_grid_are_kept_and_more_may_come(tmp_path: Path) -> None:
    """A file of overrides may be for more items than a grid takes: those that come later bring theirs along."""
    golds = of("own-02", "own-03")
    first = run(grid(overrides=golds), tmp_path, says())
    assert list(read_manifest(tmp_path)["overrides"]["gsm8k"]) == ["own-02"]
    rows = run(grid(overrides=golds, tasks=[{"task": "gsm8k", "items": "1:3"}]), tmp_path, says())
    assert rows[:2] == first
    assert list(read_manifest(tmp_path)["overrides"]["gsm8k"]) == ["own-02", "own-03"]


def test_facts_of_another_gold_are_not_used_again(tmp_path: Path) -> None:
    """Units keep their ids here, so that only the golds can tell the facts apart."""
    folder = tmp_path / "a"
    run(grid(overrides=of("own-02")), folder, says())
    before = build(folder).to_json()["cells"][0]["traces"]["funnel"]["chosen"]
    assert (folder / FACTS).exists()
    manifest = read_manifest(folder)
    (folder / "bench.json").write_text(json.dumps(manifest | {"overrides": {}}))
    assert (before, build(folder).to_json()["cells"][0]["traces"]["funnel"]["chosen"]) == (1, 0)


def test_runs_with_other_golds_cannot_be_compared(bench: Any, program: Program) -> None:
    """Case 37: a gold that was corrected makes another measure of it, wherever it was corrected."""
    without, with_it, again, other = bench("a"), bench("b", LINE), bench("c", LINE), bench("d", LINE | {"gold": "5"})
    for first, second in ((without, with_it), (with_it, without), (with_it, other)):
        found = compare(first, second)
        assert not found.comparable
        assert found.title.startswith("NOT COMPARABLE: the golds of gsm8k are not the same (overridden in one run only, or otherwise: own-02). Bench")
    assert compare(with_it, again).comparable
    assert compare(without, without).comparable
    assert program("bench", "compare", without, with_it).exit_code == 1
    assert program("bench", "compare", with_it, again).exit_code == 0


def test_golds_of_items_that_only_one_run_has_do_not_part_two_runs(bench: Any) -> None:
    small, large = bench("a"), bench("b", LINE | {"id": "own-03"}, items="1:3")
    assert compare(small, large).comparable


def test_many_other_golds_are_counted(tmp_path: Path) -> None:
    rows = [row("gsm8k", str(n), "io") for n in range(9)]
    replaced = {"gsm8k": {str(n): {"gold": "1", "reason": "x"} for n in range(8)}}
    found = compare(write(tmp_path / "a", rows), write(tmp_path / "b", rows, overrides=replaced))
    assert "otherwise: 0, 1, 2, 3, 4 and 3 more)" in found.title


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([LINE | {"id": "own-2"}], "the override of gsm8k item 'own-2' would have no effect: ids are such as 'own-01'"),
        ([LINE | {"task": "gsm9k"}], "unknown task"),
        ([LINE, LINE | {"gold": "5"}], "line 2: gsm8k item own-02 has another gold or reason in an earlier line"),
        ([{"id": "own-02", "gold": "5"}], "an override looks like"),
        ([LINE, LINE | {"id": "own-01", "reason": " "}], "line 2: an override looks like"),
    ],
)
def test_an_override_without_effect_is_refused(bench: Any, lines: list[dict[str, str]], told: str) -> None:
    said = bench("a", *lines, code=2)
    assert told in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize(("name", "item"), [("game24", "1"), ("crosswords", "1"), ("writing", "1")])
def test_tasks_that_rules_mark_have_no_gold_to_override(name: str, item: str) -> None:
    with pytest.raises(UsageError, match=f"task {name} is marked by its rules or its solutions"):
        grid(tasks=[{"task": name, "items": "1"}], overrides={name: {item: override("5", WHY)}})


@pytest.mark.parametrize("broken", [[], {"gsm8k": []}, {"gsm8k": {"1": {"gold": "5"}}}, {"gsm8k": {"1": "5"}}, None])
def test_a_manifest_with_broken_overrides_is_told(broken: Any) -> None:
    with pytest.raises(UsageError, match="each has a gold and a reason"):
        golds_of({"overrides": broken})
    assert overridden({}) == []
