"""Mini crosswords as a problem: states, keys, answers and what a next word may be. Checks letters only: it knows no word and no solution.

A thought is a word in a place ("h1. TUNED") or a whole grid (the reply of io, cot or refine), five lines of five letters.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from branchwise.method import Method
from branchwise.problem import COMPLETE, OPEN, Rejected, State, Status
from branchwise.search.pick import complete_or_deepest, deepest
from branchwise.tasks.base import Task, package_prompts
from branchwise.tasks.crosswords.clues import Clues, clue_text, items, parse_clues
from branchwise.tasks.crosswords.grid import BLANK, EMPTY, PLACES, SIZE, fill, letters, pattern, read_entry, read_rows, show
from branchwise.thought.parsing import list_items
from branchwise.thought.propose import Propose

__all__ = ["CROSSWORDS", "Crossword"]


@dataclass(frozen=True)
class Crossword:
    """One puzzle: ten clues. `prompts` are texts by name, in place of the task's own.

    States are merged when their grids are equal, whatever the order of the words. An answer may have blanks (`TUNED _____ ...`): the
    deepest state of a search is its output, complete or not (Yao et al. 2023, section 4.3).
    """

    clues_given: Clues
    prompts: Mapping[str, str] = field(default_factory=lambda: package_prompts("branchwise.tasks.crosswords"), compare=False)
    reversible: bool = field(default=True, init=False)
    field_bytes: int = field(default=200, init=False)
    most_clues: int = field(default=len(PLACES), init=False)

    @classmethod
    def parse(cls, text: str, prompts: Mapping[str, str] | None = None) -> Crossword:
        """The puzzle of ten clues. Raises `UsageError`."""
        clues = parse_clues(text)
        return cls(clues) if prompts is None else cls(clues, dict(prompts))

    @property
    def prompt(self) -> str:
        """The clues, a line each."""
        return clue_text(self.clues_given)

    def status(self, state: State) -> Status:
        """COMPLETE for a full grid and for a whole answer; it is never proven."""
        return COMPLETE if state and (_is_grid(state[-1]) or BLANK not in letters(state)) else OPEN

    def key(self, state: State) -> Hashable:
        """The grid."""
        return letters(state)

    def answer(self, state: State) -> str | None:
        """The five rows, `TUNED ORALE _____ ...`; `None` while there is no letter."""
        grid = letters(state)
        return None if grid == EMPTY else " ".join(show(grid).split("\n"))

    def fields(self, state: State) -> dict[str, str]:
        """`grid`, `filled` (clues with their words) and `open` (clues with the letters that are known); `clue` is the evaluator's."""
        grid = letters(state)
        lines = {place: f"{place}. {clue}: {' '.join(pattern(grid, place))}" for place, clue in zip(PLACES, self.clues_given, strict=True)}
        done = [place for place in PLACES if BLANK not in pattern(grid, place)]
        rest = [place for place in PLACES if place not in done]
        return {
            "grid": show(grid), "filled": "\n".join(lines[place] for place in done) or "none yet",
            "open": "\n".join(lines[place] for place in rest) or "none", "clue": "",
        }  # fmt: skip

    def clues(self, state: State) -> Sequence[str]:
        """What is to be judged: each clue that no word was placed for, and of whose letters two or more are known, as the published code
        does it; also one that was filled by the words that cross it. Of a whole answer all ten."""
        grid, placed = letters(state), _placed(state)
        return [
            f"{clue}: {' '.join(pattern(grid, place)).lower()}"
            for place, clue in zip(PLACES, self.clues_given, strict=True)
            if place not in placed and pattern(grid, place).count(BLANK) <= SIZE - 2
        ]

    def read(self, state: State, text: str) -> str:
        """`h1. TUNED`, when it fits the letters that stand there. Raises `Rejected` with the reason."""
        place, word = read_entry(text)
        self._may_follow(state, place, word)
        there = pattern(letters(state), place)
        if any(old not in (BLANK, new) for old, new in zip(there, word, strict=True)):
            raise Rejected(f"{word} would change letters that are filled: {place} is {there}")
        return f"{place}. {word}"

    def revise(self, state: State, text: str) -> str:
        """The same, but it may change letters. Raises `Rejected` with the reason."""
        place, word = read_entry(text)
        self._may_follow(state, place, word)
        if f"{place}. {word}" in state:
            raise Rejected(f"{word} stood in {place} before, and was given up")
        return f"{place}. {word}"

    def _may_follow(self, state: State, place: str, word: str) -> None:
        if state and _is_grid(state[-1]):
            raise Rejected("a word after a whole answer")
        grid = letters(state)
        if fill(grid, place, word) == grid:
            raise Rejected(f"{word} stands in {place} already")

    def whole(self, state: State, text: str) -> str:
        """The grid of a whole answer, five lines. Raises `Rejected` where no five lines of five letters can be read."""
        grid = read_rows(text)
        if grid is None:
            grid = letters(list_items(text))
            if BLANK in grid:
                raise Rejected("no grid of five lines with five letters each")
        return show(grid)


def _is_grid(thought: str) -> bool:
    return "\n" in thought and read_rows(thought) is not None


def _placed(state: State) -> set[str]:
    """Places that a word was proposed for."""
    found = set()
    for thought in state:
        try:
            found.add(read_entry(thought)[0])
        except Rejected:
            continue
    return found


_REPEATS = 5
"""Lists of proposals that are merged, as in the published code."""
_SEARCHES = ("tot_dfs", "tot_dfs_no_prune", "tot_dfs_no_backtrack", "tot_bfs", "best_first", "a_star", "mcts")


def _adapt(method: Method, settings: Mapping[str, Any]) -> Method:
    """Five lists a step, merged by confidence; no answering call, since any grid is an answer; and dfs answers with a full grid, if it has
    one: nothing can be added to that, so it is as deep as it can get."""
    if method.name not in _SEARCHES or not isinstance(method.generate, Propose):
        return method
    pick = complete_or_deepest if method.pick is deepest else method.pick
    return replace(method, generate=replace(method.generate, repeats=_REPEATS), answer=None, pick=pick)


_CLUES = {"evaluate": "clues", "samples": 1}
_WHOLE = "the value of a grid is that of its ten clues, not one mark for the whole; use refine or best_of_n"

CROSSWORDS = Task(
    name="crosswords",
    summary="a 5 × 5 mini crossword: ten clues, five across and five down",
    default_method="tot_dfs",
    methods=("io", "cot", "cot_sc", "best_of_n", "refine", *_SEARCHES),
    refused={
        "tot_bfs_refine": "rewriting a whole grid would change letters that are filled; use tot_dfs_no_backtrack, which may overwrite",
        "adaptive": "it samples one word at a time, and the same word comes again and again; the other searches ask for lists",
        **dict.fromkeys(("mctsr", "mctsr_4", "mctsr_8"), _WHOLE),
    },
    settings={
        "tot_dfs": {"k": 3, "depth": 10, "max_steps": 100, "prune_at": 0.0, **_CLUES},
        "tot_dfs_no_prune": {"k": 3, "depth": 10, "max_steps": 100},
        "tot_dfs_no_backtrack": {"k": 3, "max_steps": 20},
        "tot_bfs": {"k": 5, "breadth": 3, "depth": 10, "prune_below": 0.001, **_CLUES},
        "best_first": {"k": 3, "depth": 10, "prune_below": 0.001, "max_nodes": 100, **_CLUES},
        "a_star": {"k": 3, "depth": 10, "max_nodes": 100, **_CLUES},
        "mcts": {"k": 3, "depth": 10, "rollouts": 30, **_CLUES},
        "best_of_n": _CLUES,
    },
    adapt=_adapt,
    make=Crossword.parse,
    load=items,
    prompts=package_prompts("branchwise.tasks.crosswords"),
)
