"""A published log as a run folder: a trace an item, a row an item, and the outputs for `grade`. Knows no answer key.

DIR/results.jsonl   a header and a row an item, as `solve --out` writes them
DIR/results.traces/ a trace an item, for `show`
DIR/outputs.jsonl   {"id", "input", "outputs"} an item, the final states in the published order
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from branchwise.batch import trace_name
from branchwise.bench.imported.logs import Log, LogItem, read_log
from branchwise.bench.imported.trees import events
from branchwise.errors import UsageError
from branchwise.result import versions
from branchwise.rows import Rows
from branchwise.tasks import task as find_task
from branchwise.trace import Event, Recorder, Stopped
from branchwise.tree import Tree

__all__ = ["Imported", "import_log"]


@dataclass(frozen=True, slots=True)
class Imported:
    """What was written."""

    folder: Path
    log: Log
    task: str
    thoughts: int
    """Over all items."""


def import_log(file: Path, folder: Path, *, task: str | None = None, data: Path | None = None) -> Imported:
    """Write the log in `file` into `folder`, which must be new or empty.

    `task` is needed for lists of samples, which do not say it. `data` is the published list of inputs, where the log does not hold them.
    Raises `UsageError` for a file that is no log, before anything is written.
    """
    log = read_log(file)
    name = _task_of(log, task)
    inputs = _inputs(log, name, data)
    made = [(item, inputs[item.number], events(log, item, name, inputs[item.number])) for item in log.items]
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already and not empty; name another folder with --out")
    results, thoughts = folder / "results.jsonl", 0
    settings = {"task": name, "method": _method(log), "model": "published log", "seed": None, "sha256": log.sha256}
    with Rows(results, settings, {"versions": dict(versions()), "imported": {"file": file.name, "format": log.format}}) as rows:
        for item, text, found in made:
            trace = folder / "results.traces" / trace_name(str(item.number))
            _write(trace, found)
            tree = Tree.fold(iter(found))
            thoughts += len(tree)
            rows.append(_row(item, text, found[-1], tree, trace, log))
    lines = [{"id": str(item.number), "input": text, "outputs": _outputs(item)} for item, text, _ in made]
    (folder / "outputs.jsonl").write_bytes(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines))
    return Imported(folder, log, name, thoughts)


def _task_of(log: Log, task: str | None) -> str:
    if log.task and task and log.task != task:
        raise UsageError(f"{log.path} is a log of task {log.task}, not of {task}")
    if not (log.task or task):
        raise UsageError(f"{log.path} is a list of sampled outputs, which does not say what they answer; add --task game24 (or writing)")
    return log.task or find_task(task or "").name


def _inputs(log: Log, task: str, data: Path | None) -> dict[int, str]:
    """The input of every item by number; empty where neither the log nor `data` has it."""
    listed = {} if data is None else {item.rank or place: item.input for place, item in enumerate(find_task(task).items(data), 1)}
    found = {}
    for item in log.items:
        if data is not None and item.number not in listed:
            raise UsageError(f"{data} has no item {item.number}, which {log.path} speaks of")
        found[item.number] = item.input or listed.get(item.number, "")
    return found


def _method(log: Log) -> str:
    return {"beam": "tot_bfs", "samples": "samples", "dfs": "tot_dfs"}[log.format]


def _outputs(item: LogItem) -> list[str]:
    return ["\n".join(max(item.visits, key=lambda visit: len(visit.actions)).actions)] if item.visits else list(item.outputs)


def _write(path: Path, found: list[Event]) -> None:
    recorder = Recorder(path)
    try:
        for event in found:
            recorder.write(event)
    finally:
        recorder.close()


def _row(item: LogItem, text: str, end: Event, tree: Tree, trace: Path, log: Log) -> dict[str, Any]:
    assert isinstance(end, Stopped)
    counts = tree.counts()
    names = ("generated", "kept", "pruned", "merged", "dropped", "dead", "wasted")
    return {
        "id": str(item.number), "input": text, "answer": end.answer, "solved": end.solved, "unfinished": False, "stop_reason": end.reason,
        "path": list(tree.nodes[end.node].state) if end.node else [], "nodes": {name: getattr(counts, name) for name in names},
        "usage": end.usage, "seconds": 0.0, "method": _method(log), "model": "published log", "seed": None, "trace": str(trace),
        "unparsed": 0, "warnings": [], "error": None,
    }  # fmt: skip
