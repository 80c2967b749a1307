"""Folders of traces that are no bench (imported logs, `solve --out`) as rows and facts, so that one report serves all. Reads keys: the bench only."""

from __future__ import annotations

from pathlib import Path

from branchwise.bench.report.cells import ordered
from branchwise.bench.report.facts import Facts, facts
from branchwise.bench.report.gather import Gathered
from branchwise.bench.report.truths import Truths
from branchwise.bench.rows import MANIFEST, Row
from branchwise.bench.traces import Traced, read_folder

__all__ = ["imported", "is_imported"]


def is_imported(folder: Path) -> bool:
    """Whether a folder holds traces, and is not of a bench."""
    return not (folder / MANIFEST).exists() and any(folder.glob("*.traces/*.jsonl"))


def imported(folder: Path, truths: Truths) -> tuple[list[Row], Gathered]:
    """A row a trace, judged by the truth about it, and its facts. What no program can judge is `invalid_gold`: in no share."""
    rows, found = [], Gathered()
    for run in read_folder(folder):
        task = str(run.about.get("settings", {}).get("task") or "unknown")
        item = str(run.number if run.number is not None else run.about.get("item", run.path.stem))
        one = facts(run, task, truths.of(task, item))
        row = _row(run, task, item, one)
        rows.append(row)
        found.by_unit[row.unit] = [one]
    if any(row.verdict == "invalid_gold" for row in rows):
        truths.notes.append("some runs cannot be judged by a program, or their answer key is not at hand (--data): they are in no share")
    return ordered(rows), found


def _row(run: Traced, task: str, item: str, one: Facts) -> Row:
    counts = run.tree.counts()
    stages = one.look.stages if one.look is not None else frozenset()
    right = "chosen" in stages
    verdict = "invalid_gold" if one.look is None else "correct" if right else "wrong" if run.answer is not None else "no_answer"
    score, oracle = (one.parts[1], one.parts[4]) if one.parts else (float(right), float("generated" in stages))
    return Row(
        unit=run.path.stem, task=task, item=item, method=run.method, model=run.model, seed=0, rank=run.number, answer=run.answer,
        verdict=verdict, score=score, oracle_score=oracle, samples=(), stop_reason=run.stop_reason or "",
        nodes={"generated": counts.generated, "kept": counts.kept, "pruned": counts.pruned, "merged": counts.merged, "dropped": counts.dropped},
        unparsed=run.tree.unparsed, trace=(),
    )  # fmt: skip
