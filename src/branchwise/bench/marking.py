"""Marks answers of a run when it is over: a verdict and a score, and the best that its trees held (an oracle). Reads the answer keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from branchwise.bench.crosswords import own_solutions, published_solutions
from branchwise.bench.crosswords import score as crossword_score
from branchwise.bench.grading.maths import Formulas
from branchwise.bench.grading.verdicts import Gold, Unknown, Verdict
from branchwise.bench.keyring import GRADED, checker_of, key_of
from branchwise.data.sets import data_file
from branchwise.errors import UsageError
from branchwise.problem import Problem, State
from branchwise.result import Result
from branchwise.tasks import Item, Task
from branchwise.tasks.crosswords.grid import Letters, letters
from branchwise.tasks.writing.rules import COUNT, ends_with, faults, paragraphs, sentences_of

__all__ = ["Answer", "Mark", "Marker", "Truth", "truths_of"]


@dataclass(frozen=True, slots=True)
class Truth:
    """What one item is marked with. `gold` is `None` where the item has none; tasks with rules of their own need none."""

    gold: Gold | None = None
    letters: Letters | None = None

    @property
    def shape(self) -> str:
        """What of it shapes a verdict, as text: all but the note, which only says where a gold is from."""
        return repr(self if self.gold is None else replace(self, gold=replace(self.gold, note="")))


@dataclass(frozen=True, slots=True)
class Answer:
    """A final answer: its normalised text, and the state that holds it."""

    text: str | None
    state: State = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A verdict, and a score in [0, 1]: 1 for right, 0 for not; crosswords: the share of words; writing: of paragraphs that end right."""

    verdict: str
    score: float
    reason: str = ""


def truths_of(task: Task, data: Path | None, overrides: Mapping[str, Any]) -> Callable[[Item], Truth]:
    """What the items of `task` are marked with. `overrides` hold golds by id. Raises `UsageError` for a task that no program can mark."""
    if task.name == "crosswords":
        solutions = own_solutions() if data is None else published_solutions(data_file(task.name, data))
        return lambda item: Truth(letters=solutions.get(item.id))
    if task.name == "writing":
        return lambda item: Truth()
    if task.name not in GRADED:
        raise UsageError(f"no program can check answers of task {task.name}; the bench takes {', '.join(GRADED)}")
    golds = key_of(task, data).golds
    return lambda item: Truth(overrides.get(item.id, golds.get(item.id)))


class Marker:
    """Marks answers; `formulas` compares mathematics in a process of its own. Not for several threads at once."""

    def __init__(self, formulas: Formulas) -> None:
        self._formulas = formulas

    def mark(self, task: str, prompt: str, truth: Truth, answer: Answer) -> Mark:
        """The mark of one answer."""
        if task == "crosswords":
            return _crossword(truth, answer)
        if task == "writing":
            return _passage(prompt, answer)
        checker = checker_of(task, self._formulas)
        gold = truth.gold
        if gold is None:
            return Mark(Verdict.INVALID_GOLD, 0.0, "the data has no gold for this item")
        if reason := checker.invalid(gold):
            return Mark(Verdict.INVALID_GOLD, 0.0, f"the gold cannot be read: {reason}")
        if answer.text is None:
            return Mark(Verdict.NO_ANSWER, 0.0)
        try:
            found = checker.grade(f"Answer: {answer.text}", gold, prompt)
        except Unknown as error:
            return Mark(Verdict.FAILED, 0.0, str(error))
        except (RecursionError, ValueError, ArithmeticError, MemoryError) as error:
            return Mark(Verdict.FAILED, 0.0, f"{type(error).__name__} while it was graded: {error}")
        return Mark(found.verdict.value, float(found.verdict is Verdict.CORRECT), found.reason)

    def best(self, task: str, prompt: str, truth: Truth, problem: Problem, results: Iterable[Result]) -> float:
        """The highest score of all answers that the trees hold: chosen with the key, so an oracle."""
        top, known = 0.0, set[Any]()
        for result in results:
            for node in result.tree:
                state = node.state
                text = problem.answer(state)
                what = state if task == "crosswords" else text
                if what is None or what in known:
                    continue
                known.add(what)
                top = max(top, self.mark(task, prompt, truth, Answer(text, state)).score)
                if top >= 1.0:
                    return top
        return top


def _crossword(truth: Truth, answer: Answer) -> Mark:
    if truth.letters is None:
        return Mark(Verdict.INVALID_GOLD, 0.0, "the data has no solution for this puzzle")
    if not answer.state:
        return Mark(Verdict.NO_ANSWER, 0.0)
    found = crossword_score(letters(answer.state), truth.letters)
    return Mark(Verdict.CORRECT if found.game else Verdict.WRONG, found.words)


def _passage(prompt: str, answer: Answer) -> Mark:
    if answer.text is None:
        return Mark(Verdict.NO_ANSWER, 0.0)
    ends = sentences_of(prompt)
    wrong = faults(ends, answer.text)
    right = sum(map(ends_with, paragraphs(answer.text), ends)) / COUNT
    return Mark(Verdict.WRONG if wrong else Verdict.CORRECT, 1.0 if not wrong else min(right, 0.99), "; ".join(wrong))
