"""What is true of the states of a task's items, as far as a program can tell. Reads the answer keys: the bench only.

Game of 24: exhaustive search tells what can still be reached. Crosswords: the solution tells. Tasks with a gold: whole answers only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from types import TracebackType

from branchwise.bench.crosswords import own_solutions, published_solutions
from branchwise.bench.funnel import Game24Truth, Truth
from branchwise.bench.grade import Key
from branchwise.bench.grading.pool import Worker
from branchwise.bench.grading.verdicts import Checker, Gold, Unknown, Verdict
from branchwise.bench.keyring import GRADED, checker_of, key_of
from branchwise.bench.sources import OWN, own_digests
from branchwise.errors import UsageError
from branchwise.model.weights import sha256
from branchwise.problem import Kind, State
from branchwise.tasks import Task
from branchwise.tasks import task as find_task
from branchwise.tasks.crosswords.grid import BLANK, Letters, letters
from branchwise.tasks.writing.rules import faults, sentences_of

__all__ = ["AnswerTruth", "CrosswordsTruth", "PassageTruth", "Truths", "keys_at_hand"]


class AnswerTruth:
    """Right answers of one item by its gold. What a middle step is worth nobody knows."""

    foresees = False

    def __init__(self, task: Task, checker: Checker, gold: Gold, text: str) -> None:
        self._problem, self._checker, self._gold, self._text = task.problem(text), checker, gold, text
        self._known: dict[str, bool] = {}

    def right(self, prompt: str, state: State) -> bool:
        """Whether the state is a whole answer, and equals the gold. Beyond the limits of the checker: no."""
        if not state or self._problem.status(state).kind not in (Kind.COMPLETE, Kind.SOLVED):
            return False
        answer = self._problem.answer(state)
        if answer is None:
            return False
        if answer not in self._known:
            try:
                found = self._checker.grade(f"Answer: {answer}", self._gold, self._text).verdict
                self._known[answer] = found is Verdict.CORRECT
            except (Unknown, RecursionError, ValueError, ArithmeticError, MemoryError):
                self._known[answer] = False
        return self._known[answer]

    def hopeful(self, prompt: str, state: State) -> bool:
        """Of whole answers only."""
        return self.right(prompt, state)


class CrosswordsTruth:
    """One puzzle by its solution: a state is hopeful while every letter in it is right."""

    def __init__(self, solution: Letters) -> None:
        self.solution = solution

    def right(self, prompt: str, state: State) -> bool:
        """The whole grid, letter by letter."""
        return bool(state) and letters(state) == self.solution

    def hopeful(self, prompt: str, state: State) -> bool:
        """No letter has to be taken back."""
        return all(a in (BLANK, b) for a, b in zip(letters(state), self.solution, strict=True))


class PassageTruth:
    """Passages that keep the constraint: four paragraphs that end with their sentences. Whether they are coherent no program can say."""

    foresees = False

    def right(self, prompt: str, state: State) -> bool:
        """Whether the last thought is such a passage."""
        return bool(state) and not faults(sentences_of(prompt), state[-1])

    def hopeful(self, prompt: str, state: State) -> bool:
        """Of passages only."""
        return self.right(prompt, state)


def keys_at_hand(sources: Mapping[str, Mapping[str, str]], path_of: Callable[[str], Path | None]) -> dict[str, Path | None]:
    """The files with the answer keys of a run, by task. `sources` is what its manifest says; `path_of` finds a task's public set.

    A task of our own list is left out; `None` where the file is not at hand, or file or list are not those that the run was measured on.
    """
    found: dict[str, Path | None] = {}
    for task, source in sources.items():
        if task in _KEYLESS:
            continue
        if str(source.get("source", "")).startswith(OWN):
            if source.get("sha256") not in own_digests(find_task(task)):
                found[task] = None
            continue
        path = path_of(task)
        try:
            found[task] = path if path is not None and sha256(path) == source.get("sha256") else None
        except OSError:
            found[task] = None
    return found


_KEYLESS = ("game24", "writing")
"""Tasks whose rules are all that is needed."""


class Truths:
    """The truth about items by task and id: `with Truths({"gsm8k": path}) as truths:`. `data` maps a task to the file of its public set.

    A task that is not in it is one of our own lists; `None` says that the key is not at hand. `overrides` are golds by task and id that
    replaced those of the data in the run: what is right is then what was right for its rows.
    """

    def __init__(self, data: Mapping[str, Path | None] | None = None, overrides: Mapping[str, Mapping[str, Gold]] | None = None) -> None:
        self._overrides = overrides or {}
        self._data = {task: path for task, path in (data or {}).items() if path is not None}
        self._absent = sorted({task for task, path in (data or {}).items() if path is None})
        self._keys: dict[str, tuple[Key, Checker, dict[str, str]] | None] = {}
        self._solutions: dict[str, Letters] | None = None
        self._known: dict[tuple[str, str], Truth | None] = {}
        self._game24 = Game24Truth()
        self._stack = ExitStack()
        self.notes: list[str] = []
        """Why the truth about a task is not known."""
        self.notes += [f"{task}: no funnel, because the answer key of the run is not at hand (--data), or has changed since" for task in self._absent]

    def __enter__(self) -> Truths:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._stack.close()

    def digests(self) -> dict[str, str]:
        """The SHA-256 of each file of answers, of those of our own lists, and of the overrides. Raises `UsageError` for one that cannot be read."""
        own = b"".join(file.read_bytes() for file in sorted(resources.files("branchwise.bench.keys").iterdir(), key=str) if file.is_file())
        golds = repr(sorted((task, item, gold.text) for task, found in self._overrides.items() for item, gold in found.items())).encode()
        more = {what: hashlib.sha256(data).hexdigest() for what, data in (("our own lists", own), ("overrides", golds))}
        try:
            return more | dict.fromkeys(self._absent, "") | {task: sha256(path) for task, path in sorted(self._data.items())}
        except OSError as error:
            raise UsageError(f"cannot read the answer key {error.filename}: {error.strerror}") from error

    def of(self, task: str, item: str) -> Truth | None:
        """The truth about an item; `None` where no program can tell, or its key is not at hand (then `notes` says why)."""
        if task == "game24":
            return self._game24
        if (task, item) not in self._known:
            self._known[task, item] = self._find(task, item)
        return self._known[task, item]

    def _find(self, task: str, item: str) -> Truth | None:
        if task in self._absent:
            return None
        if task == "crosswords":
            if self._solutions is None:
                self._solutions = published_solutions(self._data[task]) if task in self._data else own_solutions()
            return CrosswordsTruth(self._solutions[item]) if item in self._solutions else None
        if task == "writing":
            return PassageTruth()
        if task not in GRADED:
            return None
        if task not in self._keys:
            self._keys[task] = self._key(task)
        found = self._keys[task]
        if found is None or item not in found[2]:
            return None
        key, checker, inputs = found
        gold = self._overrides.get(task, {}).get(item) or key.golds.get(item)
        if gold is None or checker.invalid(gold):
            return None
        return AnswerTruth(find_task(task), checker, gold, inputs[item])

    def _key(self, task: str) -> tuple[Key, Checker, dict[str, str]] | None:
        try:
            key = key_of(find_task(task), self._data.get(task))
            checker = checker_of(task, self._stack.enter_context(Worker()))
        except UsageError as error:
            self.notes.append(f"{task}: no funnel, because the answer key is not at hand ({error})")
            return None
        return key, checker, {item.id: item.input for item in key.items}
