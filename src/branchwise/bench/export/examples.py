"""Examples from one run, in the formats that TRL reads: winning paths (sft), better and worse siblings (dpo), labels of steps (prm).

Every text is the model's own, or the item's input. What is right is decided by the truth: exhaustive search or the solution where a state can
be told hopeful; else by the right answers below a state (as Math-Shepherd does, Wang et al. 2024), and a state without a whole answer
below it is unknown and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from branchwise.bench.export.runs import Run
from branchwise.errors import UsageError
from branchwise.problem import DUMMY, Kind
from branchwise.tasks import task as find_task
from branchwise.thought.parsing import final_answer
from branchwise.tree import Node

__all__ = ["FORMATS", "Judge", "dpo", "prm", "question", "sft"]

FORMATS = ("sft", "dpo", "prm")
_WHOLE = (Kind.COMPLETE, Kind.SOLVED)
_ASK = {
    "game24": "Make 24 from these four numbers with + - * / and parentheses, using each number exactly once: {}",
    "crosswords": "Solve this 5 x 5 crossword.\n{}",
    "writing": "Write a coherent passage of four paragraphs. The paragraphs end with these four sentences, in this order: {}",
}
"""How a task is put to a model where its input alone does not say what to do."""


def question(run: Run) -> str:
    """What the model is asked: the item's input, with an instruction where it needs one."""
    return _ASK.get(run.task, "{}").replace("{}", run.traced.prompt)


class Judge:
    """What is good in the tree of one run."""

    def __init__(self, run: Run) -> None:
        assert run.truth is not None
        self._run, self._truth = run, run.truth
        self._foresees = bool(getattr(run.truth, "foresees", True))
        self._right = {node.birth: self._truth.right(run.traced.prompt, node.state) for node in run.traced.tree}
        self._below: dict[int, tuple[bool, bool]] = {}
        for node in reversed(run.traced.tree.nodes):  # children are born after their parents
            below = [self._below[child.birth] for child in node.children]
            right = self._right.get(node.birth, False) or any(found for found, _ in below)
            self._below[node.birth] = (right, node.status.kind in _WHOLE or any(whole for _, whole in below))

    def right(self, node: Node) -> bool:
        """Whether it is a right answer."""
        return self._right[node.birth]

    def good(self, node: Node) -> bool | None:
        """Whether a right answer can be reached from it; `None` where that is not known."""
        if self._right[node.birth]:
            return True
        right, whole = self._below[node.birth]
        if node.status.kind is Kind.DEAD or node.status.kind in _WHOLE:  # a wrong whole answer is only as good as what it was rewritten to
            return right
        if self._foresees:
            return self._truth.hopeful(self._run.traced.prompt, node.state)
        return right if right or whole else None


def sft(run: Run, most: int, unchecked: bool = False) -> Iterator[dict[str, Any]]:
    """Prompt and completion, as conversations: the thoughts of each path to a right answer, each text once, short paths first.

    `unchecked` takes the chosen answer, right or not, of runs that no program can judge.
    """
    if run.truth is None:
        ends = [run.traced.chosen] if unchecked and run.traced.chosen is not None else []
    else:
        judge = Judge(run)
        rights = [node for node in run.traced.tree if judge.right(node) and not any(map(judge.right, node.children))]
        ends = sorted(rights, key=lambda node: (node.depth, node.birth))
    for text in list(dict.fromkeys(filter(None, (_written(run, node) for node in ends))))[:most]:
        yield {"prompt": [_says("user", question(run))], "completion": [_says("assistant", text)]}


def dpo(run: Run, most: int, margin: float | None = None) -> Iterator[dict[str, Any]]:
    """Prompt, chosen and rejected, as conversations: siblings of one parent, the better one first.

    With a `margin` the evaluator's values decide, which must differ by so much. Without, the truth does: the good sibling with the highest
    value against the bad one with the highest, which is the one that tempts. At most `most` pairs a parent; no sibling is used twice.
    """
    if margin is None and run.truth is None:
        return
    judge = Judge(run) if margin is None else None
    for parent in run.traced.tree.nodes:
        found = [child for child in parent.children if child.thought.strip() and child.thought != DUMMY]
        better, worse = _by_truth(found, judge) if judge is not None else _by_value(found)
        pairs = [(a, b) for a, b in zip(better, worse, strict=False) if a is not b and a.thought != b.thought]
        for a, b in pairs[:most]:
            if margin is None or ((a.value or 0.0) - (b.value or 0.0) >= margin and a.value is not None and b.value is not None):
                yield {
                    "prompt": [_says("user", _so_far(run, parent))],
                    "chosen": [_says("assistant", a.thought.strip())],
                    "rejected": [_says("assistant", b.thought.strip())],
                }


def prm(run: Run, most: int) -> Iterator[dict[str, Any]]:
    """Prompt, completions and labels: the steps of a path, and whether each leads on to a right answer. Both kinds of path, right ones first.

    A path ends behind its first bad step. Paths with a step of which nothing is known are left out.
    """
    if run.truth is None:
        return
    judge, seen, rows = Judge(run), set[tuple[str, ...]](), list[tuple[tuple[int, int, int], dict[str, Any]]]()
    for leaf in run.traced.tree:
        if leaf.children:
            continue
        path = _since_whole(leaf)
        labels = [judge.good(node) for node in path]
        if None in labels or any(not node.thought.strip() for node in path):
            continue
        cut = labels.index(False) + 1 if False in labels else len(labels)
        steps = tuple(node.thought.strip() for node in path[:cut])
        if steps not in seen:
            seen.add(steps)
            row = {"prompt": question(run), "completions": list(steps), "labels": labels[:cut]}
            rows.append(((0 if all(labels) else 1, -cut, leaf.birth), row))
    yield from (row for _, row in sorted(rows, key=lambda one: one[0])[:most])


def _says(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def _since_whole(node: Node) -> list[Node]:
    """The thoughts of a path since the last whole answer above it, which a refinement rewrites."""
    path = node.path
    start = max((place for place, one in enumerate(path[:-1], 1) if one.status.kind in _WHOLE and one.role != "answer"), default=0)
    return path[start:]


def _written(run: Run, node: Node) -> str:
    """The thoughts that lead to an answer, and the answer where none of them states it."""
    thoughts = [one.thought.strip() for one in _since_whole(node)]
    text = "\n".join(thought for thought in thoughts if thought and thought != DUMMY)
    if any(final_answer(thought) is not None for thought in thoughts[-1:]):
        return text
    try:
        answer = find_task(run.task).problem(run.traced.prompt).answer(node.state)
    except UsageError:
        answer = None
    return f"{text}\nAnswer: {answer}" if text and answer and answer not in text else text


def _so_far(run: Run, parent: Node) -> str:
    steps = [node.thought.strip() for node in parent.path]
    return question(run) + ("\n\nSo far:\n" + "\n".join(steps) + "\n\nNext:" if steps else "")


def _value(node: Node) -> tuple[bool, float, int]:
    return node.value is not None, node.value or 0.0, -node.birth


def _by_truth(found: Sequence[Node], judge: Judge) -> tuple[list[Node], list[Node]]:
    """Good and bad siblings, each with the highest value first."""
    known = [(node, judge.good(node)) for node in sorted(found, key=_value, reverse=True)]
    return [node for node, good in known if good], [node for node, good in known if good is False]


def _by_value(found: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """Siblings with values from the highest down, and from the lowest up; each side has half of them, so that none is used twice."""
    known = sorted((node for node in found if node.value is not None), key=_value, reverse=True)
    half = len(known) // 2
    return known[:half], known[::-1][:half]
