"""Every task on ten items of its own list, through its default method, and the page that tells what came of it.

    python tools/task_runs.py --model local --parallel 16 --out FOLDER [--only TASK] [--page FILE]

One task after the other; a results file and a folder of traces a task. Killed and started again, it goes on where it was: `branchwise solve`
does the work. --page writes the page from what is in FOLDER so far, and runs nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from branchwise.bench.crosswords import Score, mean, own_solutions, score
from branchwise.bench.grade import grade
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.verdicts import Verdict
from branchwise.bench.keyring import checker_of, key_of
from branchwise.cli.main import cli
from branchwise.method import Method
from branchwise.model.base import Outcome, Reply, Request, Sample
from branchwise.problem import Kind, Problem, Rejected, State
from branchwise.tasks import TASKS
from branchwise.tasks.crosswords import Crossword
from branchwise.tasks.crosswords.grid import letters, read_entry
from branchwise.tasks.writing.rules import faults, sentences_of
from branchwise.thought.parsing import confidence, list_items
from branchwise.thought.self_refine import SelfRefine
from branchwise.trace import Call, Event, Expanded, Judged, Started, read_trace
from branchwise.tree import Tree

WORDS = ("--k", "2", "--samples", "1", "--generate-max-tokens", "200", "--evaluate-max-tokens", "160", "--answer-max-tokens", "60")
ANSWERS = ("--max-calls", "7", "--generate-max-tokens", "400", "--evaluate-max-tokens", "200")
STEPS = ("--k", "6", "--breadth", "3", "--samples", "1", "--generate-max-tokens", "160", "--evaluate-max-tokens", "100", "--answer-max-tokens", "60")
RUNS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "gsm8k": ("1:10", WORDS),
    "strategyqa": ("1:10", WORDS),
    "crosswords": ("1:10", ("--max-calls", "20", "--generate-max-tokens", "100", "--evaluate-max-tokens", "40")),
    "open": ("1:10", ("--max-nodes", "9", "--generate-max-tokens", "250", "--answer-max-tokens", "300")),
    "writing": ("1:10", ("--k", "2", "--samples", "1", "--generate-max-tokens", "450", "--evaluate-max-tokens", "160")),
    "game24": ("901:910", STEPS),
    "math500": ("1:10", ANSWERS),
    "svamp": ("11:20", WORDS),
    "gsm_hard": ("21:30", WORDS),
    "aime24": ("11:20", ANSWERS),
    "amc23": ("21:30", ANSWERS),
    "olympiadbench": ("6:15", ANSWERS),
    "odyssey": ("16:25", ANSWERS),
}
"""Task to its items (tasks that share a list take different ones) and what bounds the run: two cores have about an hour."""
ITEMS = 10
TITLE = "Every task with the local model"
BEGIN, END = "<!-- made by tools/task_runs.py -->", "<!-- end -->"


def arguments(task: str, model: str, parallel: int, jobs: int, out: Path) -> list[str]:
    """What `branchwise` is called with for a task."""
    items, bounds = RUNS[task]
    common = ["--model", model, "--parallel", str(parallel), "--jobs", str(jobs), "--seed", "0"]
    return ["solve", "--task", task, "--items", items, *bounds, *common, "--out", str(out / f"{task}.jsonl")]


@dataclass(slots=True)
class Told:
    """What the traces of one task say. `asked` and `read` count replies by kind."""

    asked: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    """Replies that ended at the limit of tokens."""
    engine: str = ""
    unread: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Again:
    """A model that gives one reply, whatever it is asked: for reading a recorded reply by the method's own generator."""

    text: str
    name: str = "recorded"
    identity: str = "recorded"

    async def sample(self, request: Request) -> Reply:
        """That reply."""
        return Reply((Sample(self.text, Outcome.OK),))


def readable(method: Method, problem: Problem, state: State, call: Call, text: str) -> bool:
    """Whether a thought can be had from a reply that proposes or answers. Of a whole answer or a last step: whether an answer can be read in
    it. Of words for a crossword: whether one is a place with five letters, fit or not. A critique is free text: anything but nothing."""
    if not text.strip():
        return False
    if isinstance(problem, Crossword):
        return any(map(is_entry, list_items(text)))
    part = method.answer if call.role == "answer" else method.generate
    if isinstance(part, SelfRefine) and state:
        critique = problem.prompts["critique"].strip().split("{{")[0]  # type: ignore[attr-defined]
        if any(message["content"].startswith(critique[:60]) for message in call.messages):
            return True
        part = part._naive()
    assert part is not None
    last = len(state) + 1 == getattr(method.search, "depth", 0) or getattr(part, "whole", False) or call.role == "answer"
    found = asyncio.run(part(Again(text), problem, state, 99 if getattr(part, "lists", False) else 1))
    needs = last and not getattr(part, "lists", False)
    return any(not needs or problem.status((*state, p.thought)).kind is not Kind.OPEN for p in found.thoughts)


def is_entry(item: str) -> bool:
    """Whether a line of a list is a word in a place."""
    try:
        read_entry(confidence(item)[0])
    except Rejected:
        return False
    return True


def tell(task: str, traces: Path, told: Told) -> Told:
    """Add up one folder of traces, of items that have ended."""
    inputs = {item.id: item.input for item in TASKS[task].items()}
    done = {row["id"] for row in rows_of(traces.with_suffix(".jsonl"))}
    for path in sorted(traces.glob("*.jsonl")):
        events = list(read_trace(path))
        start = next(event for event in events if isinstance(event, Started))
        if start.about["item"] not in done:
            continue
        settings = start.about["settings"]
        told.engine = str(start.run["model"])
        method = TASKS[task].method(settings["method"], settings["options"])
        problem = TASKS[task].problem(inputs[start.about["item"]])
        tree = Tree.fold(iter(events))
        states = {node.label: node.state for node in (tree.root, *tree)}
        for call in calls(events):
            kind = {"generate": "thoughts", "answer": "answers"}.get(call.role, "judgements")
            told.asked[kind] += len(call.samples)
            told.cut += sum(sample.finish == "length" for sample in call.samples)
            if kind == "judgements":
                continue
            for sample in call.samples:
                if readable(method, problem, states.get(call.node, ()), call, sample.text):
                    told.read[kind] += 1
                else:
                    told.unread.append((kind, sample.text))
        if any(call.role == "evaluate" for call in calls(events)):
            joint = method.evaluate is not None and method.evaluate.joint
            told.read["judgements"] += sum(judged(event, joint) for event in events)
    return told


def calls(events: Sequence[Event]) -> Iterator[Call]:
    """The replies of a trace."""
    return (event for event in events if isinstance(event, Call))


def judged(event: Event, joint: bool) -> int:
    """Judgements of one event that could be read; those of a vote are told once for each state, and count once."""
    if not isinstance(event, (Expanded, Judged)):
        return 0
    counts = [sum(sample is not None for sample in judgement.samples) for judgement in event.judgements]
    return max(counts, default=0) if joint else sum(counts)


def right(task: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """How many of the chosen answers are right, by the task's own measure."""
    answered = sum(row["answer"] is not None for row in rows)
    if task == "open":
        return f"{answered} answered; no key"
    if task == "writing":
        kept = sum(row["answer"] is not None and not faults(sentences_of(row["input"]), row["answer"]) for row in rows)
        return f"{kept} keep the four endings; {answered} answered"
    if task == "crosswords":
        solutions = own_solutions()
        found: Score = mean(score(letters([(row["answer"] or "").replace(" ", "\n")]), solutions[row["id"]]) for row in rows)
        return f"letters {found.letters:.0%}, words {found.words:.0%}, games {found.game:.0%}"
    with Worker() as worker:
        report = grade([json.dumps(row) for row in rows], checker_of(task, worker), key_of(TASKS[task], None))
    counts = Counter(row.verdict for row in report.rows)
    return f"{counts[Verdict.CORRECT]} right, {counts[Verdict.WRONG]} wrong, {counts[Verdict.NO_ANSWER]} without an answer"


def share(told: Told, *kinds: str) -> str:
    """`12 of 13 (92 %)`."""
    asked, read = sum(told.asked[kind] for kind in kinds), sum(told.read[kind] for kind in kinds)
    return f"{read} of {asked} ({100 * read / asked:.0f} %)" if asked else "none asked"


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a results file."""
    return [row for row in map(json.loads, path.read_text("utf-8").splitlines()) if "id" in row]


def line(task: str, path: Path, told: Told) -> str:
    """The task's line of the table."""
    rows = rows_of(path)
    spent = {name: sum(row["usage"][name] for row in rows) for name in ("calls", "prompt_tokens", "completion_tokens")}
    ends = Counter(row["stop_reason"] for row in rows)
    seconds = sum(map(float, path.with_suffix(".seconds").read_text("utf-8").split()))
    cells = (
        f"`{task}`", f"`{rows[0]['method']}`", RUNS[task][0], len(rows), right(task, rows), ", ".join(f"{n} {end}" for end, n in ends.items()),
        spent["calls"], f"{spent['prompt_tokens']:,}", f"{spent['completion_tokens']:,}", told.cut, share(told, "thoughts", "answers"),
        share(told, "judgements"), f"**{share(told, 'thoughts', 'answers', 'judgements')}**", f"{seconds:,.0f}",
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def generated(out: Path) -> str:
    """Table and commands of what is in the folder."""
    done = [task for task in RUNS if (out / f"{task}.seconds").exists() and rows_of(out / f"{task}.jsonl")]  # seconds: when it has ended
    heads = (
        "task", "method", "items", "run", "chosen answers", "ended", "calls", "prompt tokens", "reply tokens", "cut at the limit",
        "thoughts read", "judgements read", "replies read", "seconds",
    )  # fmt: skip
    table, commands = [], []
    engines: Counter[str] = Counter()
    for task in done:
        told = tell(task, out / f"{task}.traces", Told())
        engines[told.engine] += 1
        table.append(line(task, out / f"{task}.jsonl", told))
        header = json.loads((out / f"{task}.jsonl").read_text("utf-8").split("\n", 1)[0])
        commands.append(header["about"]["command"].replace(str(out), "FOLDER"))
    told_engines = ", ".join(f"`{name}` ({count} tasks)" for name, count in engines.items())
    rows = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *table]
    return "\n".join([f"Engine: {told_engines}.", "", *rows, "", "The commands:", "", "```", *commands, "```"])


def page(text: str, out: Path) -> str:
    """`text` of the page with its generated part made anew."""
    before, _, rest = (text or f"# {TITLE}\n\n{BEGIN}\n{END}\n").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated(out)}\n{END}{after}"


def main() -> int:
    """Run what is missing, or write the page."""
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--model", default="local")
    parser.add_argument("--parallel", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=10, help="items at once")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=tuple(RUNS), action="append", help="this task; may be repeated")
    parser.add_argument("--page", type=Path, help="write this page from what is there, and run nothing")
    parser.add_argument("--unread", choices=tuple(RUNS), help="print the replies of a task that could not be read")
    given = parser.parse_args()
    if given.unread:
        for kind, text in tell(given.unread, given.out / f"{given.unread}.traces", Told()).unread:
            sys.stdout.write(f"--- {kind}\n{text}\n")
        return 0
    if given.page:
        text = given.page.read_text("utf-8") if given.page.exists() else ""
        given.page.write_text(page(text, given.out), "utf-8")
        return 0
    given.out.mkdir(parents=True, exist_ok=True)
    for task in given.only or RUNS:
        results = given.out / f"{task}.jsonl"
        if results.exists() and len(rows_of(results)) == ITEMS:
            continue
        words = arguments(task, given.model, given.parallel, given.jobs, given.out)
        sys.stderr.write(f"$ branchwise {shlex.join(words)}\n")
        began = time.monotonic()
        code = run(words)
        with open(given.out / f"{task}.seconds", "a", encoding="utf-8") as file:
            file.write(f"{time.monotonic() - began:.1f}\n")
        if code not in (0, 3):
            return code
    return 0


def run(words: list[str]) -> int:
    """`branchwise` in this process; its exit code."""
    try:
        cli.main(words)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
