"""Competition mathematics as a problem: a thought is a whole answer. Holds no answer key and evaluates nothing."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial

from branchwise.errors import UsageError
from branchwise.problem import COMPLETE, OPEN, Rejected, State, Status
from branchwise.tasks.base import Task, package_prompts
from branchwise.tasks.lists import listed
from branchwise.tasks.math.reading import final_formula, normal
from branchwise.thought.parsing import strip_reasoning

__all__ = ["MATH_TASKS", "Mathematics"]

_PACKAGE = "branchwise.tasks.math"


@dataclass(frozen=True)
class Mathematics:
    r"""A problem with a formula for an answer, in `\boxed{}` or behind "Answer:". `prompts` are texts by name."""

    prompt: str
    prompts: Mapping[str, str] = field(default_factory=lambda: package_prompts(_PACKAGE), compare=False)

    @classmethod
    def parse(cls, text: str, prompts: Mapping[str, str] | None = None) -> Mathematics:
        """The problem `text`. Raises `UsageError` for an empty one."""
        if not text.strip():
            raise UsageError('an empty problem; give its text, for example "Find the sum of all x with x^2 = 5x."')
        return cls(text.strip()) if prompts is None else cls(text.strip(), dict(prompts))

    def status(self, state: State) -> Status:
        """COMPLETE once an answer can be read."""
        return COMPLETE if self.answer(state) is not None else OPEN

    def key(self, state: State) -> Hashable:
        """The replies without differences of spacing."""
        return tuple(" ".join(strip_reasoning(thought).split()) for thought in state)

    def answer(self, state: State) -> str | None:
        """The last reply's answer in one spelling, so that equal ones can be counted; `None` where there is none."""
        found = final_formula(state[-1]) if state else None
        return None if found is None else normal(found)

    def whole(self, state: State, text: str) -> str:
        """A reply without its reasoning. Raises `Rejected` for an empty one."""
        content = strip_reasoning(text)
        if not content:
            raise Rejected("no answer behind the reasoning")
        return content


_WHOLE = "a thought of this task is a whole answer, so there are no steps to search among; mctsr searches whole answers"
_STEPPING = (
    "tot_bfs", "tot_bfs_refine", "tot_dfs", "tot_dfs_no_prune", "tot_dfs_no_backtrack", "best_first", "a_star", "mcts", "adaptive",
)  # fmt: skip
_SETS = {
    "math500": "competition mathematics, levels 1 to 5 (the 500 problems of MATH-500)",
    "aime24": "AIME 2024: whole numbers from 0 to 999",
    "amc23": "AMC 12 of 2023, as open questions",
    "olympiadbench": "olympiad problems in English with a formula for an answer (OlympiadBench)",
    "odyssey": "problems from high school to university (Odyssey Math)",
}

MATH_TASKS = tuple(
    Task(
        name=name,
        summary=summary,
        default_method="mctsr_4",
        methods=("io", "cot", "cot_sc", "best_of_n", "refine", "mctsr", "mctsr_4", "mctsr_8"),
        refused=dict.fromkeys(_STEPPING, _WHOLE),
        settings={"refine": {"rounds": 3}},
        make=Mathematics.parse,
        load=partial(listed, name, _PACKAGE),
        prompts=package_prompts(_PACKAGE),
    )
    for name, summary in _SETS.items()
)
"""A task a public set; all of them share the list of our own."""
