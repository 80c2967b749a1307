"""What a trace tells, on trees made by hand; kept facts are the same facts; missing and broken traces are counted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from branchwise.bench.export.runs import runs
from branchwise.bench.funnel import Game24Truth, look
from branchwise.bench.grading.maths import Maths
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.simple import Numbers
from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.report.document import build
from branchwise.bench.report.facts import Facts, chain_failed_at, facts, failed_at
from branchwise.bench.report.gather import FACTS, gather
from branchwise.bench.report.trees import added, where_lost
from branchwise.bench.report.truths import AnswerTruth, Truths, keys_at_hand
from branchwise.bench.sources import source_of
from branchwise.bench.traces import Traced
from branchwise.model.weights import sha256
from branchwise.tasks import task as find_task
from branchwise.trace import Birth, Expanded, Judged, Judgement, Mark, Marked, Recorder, Started, Stopped
from branchwise.tree import Tree
from support.bench_rows import row, write

HAND = "4 9 10 13"
GOOD, BAD = "13 - 9 = 4 (left: 4 4 10)", "9 * 13 = 117 (left: 4 10 117)"
CHAIN = "Steps:\n13 - 9 = 4 (left: 4 4 10)\n10 - 4 = 6 (left: 4 6)\n4 * 6 = 24 (left: 24)\nAnswer: "
RIGHT = "(13 - 9) * (10 - 4) = 24"
SWAPPED = "10 - 4 = 6 (left: 6 9 13)"


@pytest.mark.parametrize(
    ("text", "step"),
    [
        (CHAIN + RIGHT, 0),
        (CHAIN + "13 - 9 + 10 = 24", 4),
        (CHAIN.replace("10 - 4 = 6 (left: 4 6)", "10 + 4 = 14 (left: 4 14)").replace("4 * 6 = 24 (left: 24)", "4 + 14 = 18 (left: 18)") + "18", 2),
        (f"Steps:\n{BAD}\n117 + 10 = 127 (left: 4 127)\nAnswer: 127 - 4 = 24", 1),
        ("Steps:\n5 * 5 = 25 (left: 9 10 13)\nAnswer: 25 - 1 = 24", 1),
        (f"Steps:\n{BAD}\nNo. Answer: {RIGHT}", 0),
        ("I do not know.", -1),
        ("Answer: 4 * 6 = 24", -1),
        (f"Answer: {RIGHT}", 0),
    ],
)
def test_a_chain_fails_at_the_first_step_that_is_invalid_or_hopeless(text: str, step: int) -> None:
    assert chain_failed_at(HAND, text) == step


def game24(levels: list[tuple[int, list[str], list[int]]], chosen: int | None = None, values: dict[int, float] | None = None) -> Traced:
    """From (parent, thoughts, places kept), and values by birth."""
    tree, size = Tree(), 1
    for number, (parent, thoughts, kept) in enumerate(levels, 1):
        births = [Birth(size + i, i, thought) for i, thought in enumerate(thoughts)]
        size += len(births)
        tree.apply(Expanded(number, parent, births))
        tree.apply(Marked([Mark(birth.node, "kept" if i in kept else "pruned") for i, birth in enumerate(births)]))
    tree.apply(Judged(99, [Judgement(node, value) for node, value in (values or {}).items()]))
    return Traced(Path("x"), HAND, tree, None if chosen is None else tree.nodes[chosen], None, None, {})


WON = game24([(0, [GOOD, BAD], [0]), (1, [SWAPPED.replace("6 9 13", "4 6")], [0]), (3, ["4 * 6 = 24 (left: 24)"], [0])], 4)
PRUNED = game24([(0, [GOOD, BAD], [1]), (2, ["10 + 4 = 14 (left: 14 117)"], [0])], 3)
NOTHING = game24([])


def test_a_tree_fails_at_the_first_level_without_a_good_thought() -> None:
    truth = Game24Truth()
    assert [failed_at(look(run, truth)) for run in (WON, PRUNED, NOTHING)] == [0, 1, 1]
    assert facts(PRUNED, "game24", truth).failed == (1,)
    assert not facts(PRUNED, "game24", truth).chains


def test_samples_of_whole_chains_fail_one_by_one() -> None:
    tree = Tree()
    tree.apply(Expanded(1, 0, [Birth(1, 0, CHAIN + RIGHT, "solved"), Birth(2, 1, f"Steps:\n{BAD}\nAnswer: 24", "complete")]))
    tree.apply(Marked([Mark(1, "kept"), Mark(2, "kept")]))
    found = facts(Traced(Path("x"), HAND, tree, tree.nodes[2], None, None, {}), "game24", Game24Truth())
    assert (found.failed, found.chains) == ((0, 1), True)
    assert found.look is not None
    assert found.look.lost == "pick: a right final state was not chosen"


def test_values_ties_and_bins_by_hand() -> None:
    steps = [GOOD, SWAPPED, BAD, "4 + 10 = 14 (left: 9 13 14)"]
    run = game24([(0, steps, [0, 1, 2, 3])], 1, {1: 0.9, 2: 0.3, 3: 0.3, 4: 0.05})
    truth = Game24Truth()
    good = [truth.hopeful(HAND, (step,)) for step in steps]
    assert good == [True, True, False, False]
    trees = added([facts(run, "game24", truth)])
    assert trees.ties == 1 / 6
    assert trees.calibration is not None
    assert trees.calibration.auc == (1 + 1 + 0.5 + 1) / 4  # 0.9 above both, 0.3 level with 0.3 and above 0.05
    assert trees.calibration.brier == pytest.approx((0.1**2 + 0.7**2 + 0.3**2 + 0.05**2) / 4)
    assert [(b.low, b.states, b.hopeful) for b in trees.calibration.bins] == [(0.0, 1, 0.0), (0.3, 2, 0.5), (0.9, 1, 1.0)]


def test_tasks_with_answers_only_have_a_funnel_of_answers_only() -> None:
    prompt = "Ana has 3 boxes of 12 eggs and breaks 5. How many eggs are left?"
    truth = AnswerTruth(find_task("gsm8k"), Numbers(), Gold("31"), prompt)
    tree = Tree()
    tree.apply(Expanded(1, 0, [Birth(1, 0, "Strategy: 31 is a nice number."), Birth(2, 1, "Strategy: multiply.")]))
    tree.apply(Marked([Mark(1, "pruned"), Mark(2, "kept")]))
    tree.apply(Expanded(2, 2, [Birth(3, 0, "the answer is 30", "complete"), Birth(4, 1, "the answer is 31", "complete")]))
    tree.apply(Marked([Mark(3, "kept"), Mark(4, "pruned")]))
    found = facts(Traced(Path("x"), prompt, tree, tree.nodes[3], "30", None, {}), "gsm8k", truth)
    assert found.look is not None
    assert (sorted(found.look.stages), found.look.lost, found.failed) == (["generated"], "evaluator: a right answer was pruned", ())
    assert "by the evaluator (it was proposed and pruned): 1 of 1" in added([found]).lost


def test_where_nothing_was_lost_the_sentence_says_so() -> None:
    trees = added([facts(WON, "game24", Game24Truth())])
    assert trees.lost == "Nothing was lost: all 1 runs chose a right answer."
    assert trees.funnel is not None
    assert where_lost(trees.funnel) == trees.lost


def test_facts_survive_being_kept() -> None:
    for run in (WON, PRUNED, NOTHING):
        found = facts(run, "game24", Game24Truth())
        assert Facts.from_json(json.loads(json.dumps(found.to_json()))) == found


def trace(path: Path, thoughts: list[str], chosen: int) -> None:
    recorder = Recorder(path)
    recorder.write(Started({"problem": {"prompt": HAND}, "method": {"name": "tot_bfs"}, "model": "m"}, {}))
    recorder.write(Expanded(1, 0, [Birth(i, i - 1, thought) for i, thought in enumerate(thoughts, 1)]))
    recorder.write(Marked([Mark(i, "kept") for i in range(1, len(thoughts) + 1)]))
    recorder.write(Stopped("exhausted", chosen))
    recorder.close()


def folder_with_traces(folder: Path) -> Path:
    rows = []
    for number in range(4):
        trace(folder / "traces" / f"{number}.jsonl", [BAD, f"Answer: {RIGHT}"], 1 + number % 2)
        rows.append(row("game24", str(number), "tot_bfs", score=float(number % 2), trace=[f"traces/{number}.jsonl"]))
    return write(folder, rows)


def test_a_second_report_reads_no_trace_and_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_with_traces(tmp_path)
    first = build(folder).to_json()
    assert first["cells"][0]["traces"]["funnel"]["lost"] == {"pick: a right final state was not chosen": 2}
    assert (folder / FACTS).exists()
    monkeypatch.setattr("branchwise.bench.report.gather.read_traced", lambda path: pytest.fail("a trace was read again"))
    assert build(folder).to_json() == first


def test_a_trace_that_grew_and_facts_of_another_key_are_found_anew(tmp_path: Path) -> None:
    folder = folder_with_traces(tmp_path)
    before = build(folder).to_json()
    trace(folder / "traces" / "0.jsonl", [BAD, f"Answer: {RIGHT}"], 2)
    after = build(folder).to_json()
    assert before["cells"][0]["traces"]["funnel"]["chosen"] + 1 == after["cells"][0]["traces"]["funnel"]["chosen"]
    (folder / FACTS).write_text('{"facts": 0}\n{"unit": "nonsense"}\nnot JSON')
    assert build(folder).to_json() == after


def test_missing_and_broken_traces_are_counted_and_end_nothing(tmp_path: Path) -> None:
    folder = folder_with_traces(tmp_path)
    (folder / "traces" / "0.jsonl").unlink()
    (folder / "traces" / "1.jsonl").write_text("not a trace\n")
    report = build(folder)
    assert report.trees["game24", "tot_bfs", "m"].runs == 2
    assert any(note.startswith("1 units have no trace") for note in report.notes)
    assert any(note.startswith("1 traces cannot be read") for note in report.notes)


@pytest.mark.parametrize("name", ["../outside.jsonl", "/etc/passwd", "traces/../../outside.jsonl", "a\0b"])
def test_a_row_cannot_point_out_of_its_folder(tmp_path: Path, name: str) -> None:
    trace(tmp_path / "outside.jsonl", [BAD], 1)
    folder = write(tmp_path / "a", [row("game24", "1", "tot_bfs", trace=[name])])
    report = build(folder)
    assert report.trees == {}
    assert any("have no trace in the folder" in note for note in report.notes)
    told: list[str] = []
    with Truths() as truths:
        assert list(runs(folder, truths, notice=told.append)) == []
    assert len(told) == 1


def test_an_answer_that_would_never_be_worked_out_is_not_right_and_holds_nothing_up() -> None:
    """Case 94."""
    problem = "What is 1 + 1?"
    with Worker(seconds=0.5) as worker:
        truth = AnswerTruth(find_task("math500"), Maths(worker), Gold("2"), problem)
        tree = Tree()
        tree.apply(Expanded(1, 0, [Birth(1, 0, r"Answer: \boxed{9^{9^{9^{9}}}}", "complete"), Birth(2, 1, r"Answer: \boxed{1+1}", "complete")]))
        tree.apply(Marked([Mark(1, "kept"), Mark(2, "kept")]))
        found = facts(Traced(Path("x"), problem, tree, tree.nodes[1], None, None, {}), "math500", truth)
    assert found.look is not None
    assert found.look.lost == "pick: a right final state was not chosen"


def test_a_folder_that_cannot_be_written_to_is_reported_all_the_same(tmp_path: Path) -> None:
    folder = folder_with_traces(tmp_path)
    (folder / "facts.part").mkdir()
    assert build(folder).trees
    assert not (folder / FACTS).exists()


def test_a_key_counts_only_if_it_is_the_one_of_the_run(tmp_path: Path) -> None:
    """Case 37: golds get corrected; a report with another key than the run's would mix two of them."""
    key = tmp_path / "test.jsonl"
    key.write_text('{"question": "1 + 1?", "answer": "#### 2"}\n')
    same = {"gsm8k": {"source": "test.jsonl", "sha256": sha256(key)}, "game24": {"source": "24.csv", "sha256": "x"}}
    assert keys_at_hand(same, lambda task: key) == {"gsm8k": key}
    other = {"gsm8k": {"source": "test.jsonl", "sha256": "0" * 64}}
    assert keys_at_hand(other, lambda task: key) == {"gsm8k": None}
    assert keys_at_hand(other, lambda task: None) == {"gsm8k": None}
    own = source_of(find_task("gsm8k"), None)
    assert keys_at_hand({"gsm8k": own}, lambda task: key) == {}
    assert keys_at_hand({"gsm8k": own | {"sha256": "0" * 16}}, lambda task: key) == {"gsm8k": None}
    with Truths({"gsm8k": None}) as truths:
        assert truths.of("gsm8k", "1") is None
        assert "no funnel" in truths.notes[0]
        assert gather(tmp_path, [replace(row("gsm8k", "1", "io"), trace=())], truths).missing == ["gsm8k-1-io-m-0"]
