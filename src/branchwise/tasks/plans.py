"""Problems that are solved by a plan and then an answer (zero-shot Tree of Thoughts): what word problems and questions share.

Knows no answer key. Yao et al. 2023, appendix B.1: a `Strategy:` part, then an `Answer:` part that ends "the answer is n".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from branchwise.problem import COMPLETE, OPEN, Rejected, State, Status
from branchwise.thought.parsing import final_answer, strip_reasoning

__all__ = ["PLANNED", "REFUSED", "SETTINGS", "Planned"]

_PLAN = "Strategy:"
_PLAN_MARK = re.compile(r"^[\s#*_]*(?:strategy|plan)[\s*_]*:[\s*_]*", re.IGNORECASE)
_ANSWER_MARK = re.compile(r"^[ \t#*_]*answer[ \t*_]*:", re.IGNORECASE | re.MULTILINE)

PLANNED = (
    "io", "cot", "cot_sc", "best_of_n", "refine", "tot_bfs", "tot_bfs_refine", "tot_dfs", "best_first", "a_star", "mcts", "adaptive", "mctsr",
    "mctsr_4", "mctsr_8",
)  # fmt: skip
"""Methods that suit such problems: all that there are at a depth of two."""

REFUSED = dict.fromkeys(
    ("tot_dfs_no_prune", "tot_dfs_no_backtrack"), "an ablation of crosswords, whose states are grids; with two levels use tot_dfs --prune-at 0"
)
"""Methods that make no sense here, and why."""

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "tot_bfs": {"generate": "sample", "k": 5, "breadth": 1, "depth": 2, "samples": 5, "evaluate": "vote"},
    "tot_dfs": {"generate": "sample", "k": 3, "depth": 2, "samples": 1, "evaluate": "score", "prune_at": 0.3, "max_steps": 20},
    "best_first": {"generate": "sample", "k": 3, "depth": 2, "samples": 1, "evaluate": "score"},
    "a_star": {"generate": "sample", "k": 3, "depth": 2, "samples": 1, "evaluate": "score", "max_nodes": 15},
    "mcts": {"generate": "sample", "k": 3, "depth": 2, "samples": 1, "evaluate": "score", "rollouts": 10},
    "adaptive": {"depth": 2, "samples": 1, "evaluate": "score", "rollouts": 10},
    "refine": {"rounds": 3},
}
"""Method name to the settings that differ from the preset's own: sample k=5, vote ×5, b=1, T=2 for tot_bfs as published."""


@dataclass(frozen=True)
class Planned:
    """A text with an answer that `reader` reads in a reply, in normal form. `prompts` are texts by name."""

    prompt: str
    reader: Callable[[str], str | None]
    prompts: Mapping[str, str] = field(compare=False)

    def status(self, state: State) -> Status:
        """COMPLETE once an answer can be read; a plan never holds one."""
        return COMPLETE if self.answer(state) is not None else OPEN

    def key(self, state: State) -> Hashable:
        """The thoughts without differences of spacing."""
        return tuple(" ".join(strip_reasoning(thought).split()) for thought in state)

    def answer(self, state: State) -> str | None:
        """The answer in the last thought, in one spelling, so that equal ones can be counted; `None` in a plan."""
        return None if not state or _is_plan(state[-1]) else self.reader(state[-1])

    def read(self, state: State, text: str) -> str:
        """At the root the plan, without an answer that was written behind it; below a plan the answer part. Raises `Rejected`."""
        content = strip_reasoning(text)
        if not content:
            raise Rejected("nothing behind the reasoning")
        found = _ANSWER_MARK.search(content)
        if not state:
            plan = _PLAN_MARK.sub("", content[: found.start()] if found else content).strip()
            if not plan:
                raise Rejected("an answer without a plan")
            return f"{_PLAN} {plan}"
        if self.answer(state) is not None:
            raise Rejected("a step after an answer")
        if found is None and _is_plan(content):
            raise Rejected("a plan where an answer should stand")
        return content[found.start() :].strip() if found else content

    def finished(self, text: str) -> bool:
        """Whether the answer is marked: the last number or word of a reply that was cut off is some step of it."""
        content = strip_reasoning(text)
        return _ANSWER_MARK.search(content) is not None or final_answer(content) is not None

    def whole(self, state: State, text: str) -> str:
        """A reply without its reasoning; a plan and an answer in one stay together. Raises `Rejected` for an empty one."""
        content = strip_reasoning(text)
        if not content:
            raise Rejected("no answer behind the reasoning")
        return content


def _is_plan(thought: str) -> bool:
    return _PLAN_MARK.match(thought) is not None and _ANSWER_MARK.search(thought) is None
