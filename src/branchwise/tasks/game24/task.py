"""Game of 24 as a problem: states, their status, canonical keys, answers and prompts. Checks rules only: no look-ahead, no solver.

A thought is a canonical step ("10 - 4 = 6 (left: 6 9 13)") or a whole answer (the reply of io, cot or refine).
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from branchwise.errors import UsageError
from branchwise.problem import COMPLETE, OPEN, SOLVED, Rejected, State, Status, dead
from branchwise.tasks.base import Task, package_prompts
from branchwise.tasks.game24.exact import TARGET, Expression, Verdict, check, combine, number, show
from branchwise.tasks.game24.hands import items
from branchwise.tasks.game24.steps import canonical, left_text, read_step
from branchwise.thought.parsing import final_answer, list_items, strip_reasoning

__all__ = ["GAME24", "Game24", "parse_hand"]

Left = tuple[Expression, ...]


def parse_hand(text: str) -> tuple[int, int, int, int]:
    """Four whole numbers from 1 to 13, separated by spaces or commas. Raises `UsageError` that shows a valid hand."""
    parts = re.split(r"[\s,;]+", text.strip()) if len(text) <= 200 else []
    numbers = [int(part) for part in parts if re.fullmatch(r"[0-9]{1,3}", part)]
    if len(parts) != 4 or len(numbers) != 4 or not all(1 <= value <= 13 for value in numbers):
        shown = text if len(text) <= 60 else text[:60] + "…"
        raise UsageError(f'not a Game of 24 hand: {shown!r}; give four whole numbers from 1 to 13, for example "4 9 10 13"')
    a, b, c, d = numbers
    return a, b, c, d


@dataclass(frozen=True)
class Game24:
    """One hand of four numbers. `prompts` are texts by name, in place of the task's own."""

    hand: tuple[int, ...]
    prompts: Mapping[str, str] = field(default_factory=lambda: package_prompts("branchwise.tasks.game24"), compare=False)
    provable: bool = field(default=True, init=False)
    reversible: bool = field(default=True, init=False)
    field_bytes: int = field(default=16, init=False)

    @classmethod
    def parse(cls, text: str, prompts: Mapping[str, str] | None = None) -> Game24:
        """The hand that `text` names. Raises `UsageError`."""
        hand = parse_hand(text)
        return cls(hand) if prompts is None else cls(hand, dict(prompts))

    @property
    def prompt(self) -> str:
        """The numbers, separated by spaces."""
        return " ".join(map(str, self.hand))

    def status(self, state: State) -> Status:
        """SOLVED for a proven 24, DEAD for one number that is not 24 or a step that does not follow; COMPLETE for other whole answers."""
        if state and not _is_step(state[-1]):
            return SOLVED if self._solution(state) is not None else COMPLETE
        try:
            left = self._left(state)
        except Rejected as reason:
            return dead(str(reason))
        if len(left) > 1:
            return OPEN
        return SOLVED if left[0].value == TARGET else dead(f"ends in {show(left[0].value)}, not {TARGET}")

    def key(self, state: State) -> Hashable:
        """The numbers left, ascending; for a whole answer its text without differences of spacing."""
        if state and not _is_step(state[-1]):
            return "answer", " ".join(strip_reasoning(state[-1]).split())
        try:
            return "left", tuple(sorted(part.value for part in self._left(state)))
        except Rejected:
            return "dead", state

    def answer(self, state: State) -> str | None:
        """`(10 - 4) * (13 - 9) = 24`: rebuilt from the steps once one number is left, or read from a whole answer; else `None`."""
        if state and not _is_step(state[-1]):
            return self._solution(state) or check(self.hand, state[-1]).answer
        try:
            left = self._left(state)
        except Rejected:
            return None
        return f"{left[0]} = {show(left[0].value)}" if len(left) == 1 else None

    def fields(self, state: State) -> dict[str, str]:
        """`left`: the numbers left, for prompts; `steps`: the steps so far, each with a line break."""
        try:
            left = left_text(self._left(state)) if not state or _is_step(state[-1]) else self.prompt
        except Rejected:
            left = self.prompt
        return {"left": left, "steps": "".join(f"{thought}\n" for thought in state if _is_step(thought))}

    def read(self, state: State, text: str) -> str:
        """The canonical step in one proposal, or a whole answer as it stands. Raises `Rejected` with the reason.

        Below a step only a right answer is taken: a wrong one would hold a place that a next step could have.
        """
        if state and not _is_step(state[-1]):
            raise Rejected("not an answer") if final_answer(text) is None else Rejected("a step after an answer")
        left = self._left(state)
        if final_answer(text) is not None:
            verdict = check(self.hand, text)
            if state and verdict.verdict is not Verdict.CORRECT:
                raise Rejected(verdict.reason)
            return text.strip()
        refused = None
        for line in list_items(text) or [text]:
            try:
                return str(read_step(left, line))
            except Rejected as reason:
                refused = refused or reason
        raise refused or Rejected("empty")

    def _left(self, state: State) -> Left:
        """The numbers left after the steps of `state`, each with its expression over the hand. Raises `Rejected` for a step that cheats."""
        left: Left = tuple(map(number, sorted(self.hand)))
        for thought in state:
            left = _after(left, thought)
        return left

    def _solution(self, state: State) -> str | None:
        """The right answer that the whole answer at the end of `state` gives: in its answer line, else by the steps that it writes."""
        text = state[-1]
        checked = check(self.hand, text)
        if checked.verdict is not Verdict.NO_ANSWER:
            return checked.answer if checked.verdict is Verdict.CORRECT else None
        if final_answer(text) is not None:
            return None
        try:
            left = self._left(tuple(thought for thought in state[:-1] if _is_step(thought)))
            for line in list_items(text):
                if re.search(r"\d\s*[-+*/×÷−]\s*\(?-?\d", line):
                    left = read_step(left, line).left
        except Rejected:
            return None
        return f"{left[0]} = {TARGET}" if len(left) == 1 and left[0].value == TARGET else None


def _is_step(thought: str) -> bool:
    return canonical(thought) is not None


def _after(left: Left, thought: str) -> Left:
    """The numbers left after a canonical thought."""
    parts = canonical(thought)
    if parts is None:
        return read_step(left, thought).left
    first, op, second = parts
    i = _index(left, first, None)
    j = _index(left, second, i)
    if op == "/" and second == 0:
        raise Rejected("division by zero")
    made = combine(op, left[i], left[j])
    after = tuple(sorted((*(part for k, part in enumerate(left) if k not in (i, j)), made), key=lambda part: part.value))
    if not thought.endswith(f"= {show(made.value)} (left: {left_text(after)})"):
        raise Rejected(f"does not follow: {thought}")
    return after


def _index(left: Left, value: Fraction, other: int | None) -> int:
    for index, part in enumerate(left):
        if part.value == value and index != other:
            return index
    raise Rejected(f"{show(value)} is not left (left: {left_text(left)})")


_CHECKED = "a whole answer is checked by the program, so grading it by a model means nothing; use refine"
_ABLATION = "an ablation of crosswords, whose states are grids; use tot_dfs --prune-at 0"

GAME24 = Task(
    name="game24",
    summary="make 24 from four numbers with + - * / and parentheses, each number used exactly once",
    default_method="tot_bfs",
    methods=("io", "cot", "cot_sc", "refine", "best_of_n", "tot_bfs", "tot_dfs", "best_first", "a_star", "mcts", "adaptive"),
    refused={
        **dict.fromkeys(("tot_bfs_refine", "mctsr", "mctsr_4", "mctsr_8"), _CHECKED),
        **dict.fromkeys(("tot_dfs_no_prune", "tot_dfs_no_backtrack"), _ABLATION),
    },
    settings={"best_first": {"k": 8, "evaluate": "value", "samples": 3, "prune_below": 0.001, "max_nodes": 60}},
    make=Game24.parse,
    load=items,
    prompts=package_prompts("branchwise.tasks.game24"),
)
