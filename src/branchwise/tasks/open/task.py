"""Any question or decision: first directions, then concrete steps, then an answer that says what was rejected. No program can check it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from branchwise.errors import UsageError
from branchwise.method import Method
from branchwise.problem import COMPLETE, OPEN, Rejected, State, Status
from branchwise.tasks.base import Item, Task, package_prompts
from branchwise.tasks.open.rules import answer_in, language, marked, normal, terminal
from branchwise.thought.parsing import inline, strip_reasoning
from branchwise.thought.propose import Propose
from branchwise.thought.write_up import WriteUp

__all__ = ["OPEN_TASK", "Open", "with_material"]

_MATERIAL = "\n\nMaterial:\n"
_WRITTEN = ("best_first", "tot_bfs", "tot_dfs", "a_star", "mcts", "adaptive")
"""Methods that compare branches: their answer is written up from the best path, and names the strongest rejected branch."""

_LONGEST = 1200
"""Bytes of a proposed thought: two or three sentences, also where a letter takes three bytes."""


def with_material(question: str, material: str) -> str:
    """The question with what the model may read for it."""
    return f"{question.strip()}{_MATERIAL}{material.strip()}"


@dataclass(frozen=True)
class Open:
    """A question in free text. `prompts` are texts by name, in place of the task's own.

    A thought is one line: a direction, then steps. A reply that is a whole answer has a line that begins with "Answer:".
    """

    prompt: str
    prompts: Mapping[str, str] = field(default_factory=lambda: package_prompts("branchwise.tasks.open"), compare=False)
    field_bytes: int = field(default=40, init=False)

    @classmethod
    def parse(cls, text: str, prompts: Mapping[str, str] | None = None) -> Open:
        """The question `text`. Raises `UsageError` for an empty one."""
        if not text.strip():
            raise UsageError('an empty question; give some text, for example: branchwise solve "Review this design: ..." --task open')
        return cls(text.strip()) if prompts is None else cls(text.strip(), dict(prompts))

    def status(self, state: State) -> Status:
        """COMPLETE for an answer or a thought that concludes, DEAD for one that says that there is no way; see `rules.terminal`."""
        if not state:
            return OPEN
        return COMPLETE if marked(state[-1]) else terminal(state[-1])

    def key(self, state: State) -> Hashable:
        """The thoughts in order, without differences of case, width, spacing and punctuation."""
        return tuple(map(normal, state))

    def answer(self, state: State) -> str | None:
        """What follows the last "Answer:", or the thought that concludes; `None` for any other."""
        return answer_in(state[-1]) if state and self.status(state) == COMPLETE else None

    def fields(self, state: State) -> dict[str, str]:
        """`language`: what to write in; `settles`: the words that settle the question in that language."""
        name, settles = language(self.prompt.split(_MATERIAL, 1)[0])
        return {"language": name, "settles": settles}

    def read(self, state: State, text: str) -> str:
        """One thought on one line. Raises `Rejected` for an empty one and for what was said before on the path."""
        thought = inline(" ".join(strip_reasoning(text).split()))
        if not normal(thought):
            raise Rejected("empty")
        if normal(thought) in map(normal, state):
            raise Rejected("said before on this path")
        return thought

    def whole(self, state: State, text: str) -> str:
        """A whole answer, with an "Answer:" in front where the reply has none. Raises `Rejected` for an empty one."""
        content = strip_reasoning(text)
        if not content:
            raise Rejected("no answer behind the reasoning")
        return content if marked(content) else f"Answer: {content}"


@lru_cache(maxsize=1)
def _own() -> tuple[str, ...]:
    text = (resources.files("branchwise.tasks.open") / "questions.txt").read_text("utf-8")
    return tuple(block.strip() for block in text.strip().split("\n\n"))


def _load(data: Path | None) -> Sequence[Item]:
    """Our own ten questions. Raises `UsageError` for a file: there is no public set."""
    if data is not None:
        raise UsageError('task open has no public set; give your own questions with --input FILE, one a line: {"id": "a", "prompt": "..."}')
    return [Item(id=str(number), input=text) for number, text in enumerate(_own(), 1)]


def _adapt(method: Method, settings: Mapping[str, Any]) -> Method:
    if method.name not in _WRITTEN:
        return method
    generate = method.generate
    longer = replace(generate, longest=_LONGEST) if isinstance(generate, Propose) else generate
    return replace(method, generate=longer, answer=WriteUp())


OPEN_TASK = Task(
    name="open",
    summary="any question or decision: directions, then steps, then an answer that names the strongest rejected branch",
    default_method="best_first",
    methods=("io", "cot", "best_of_n", "refine", *_WRITTEN, "mctsr", "mctsr_4", "mctsr_8"),
    make=Open.parse,
    load=_load,
    prompts=package_prompts("branchwise.tasks.open"),
    refused={
        "cot_sc": "answers in prose are never equal, so there is no majority; best_of_n lets a judge choose",
        **dict.fromkeys(("tot_dfs_no_prune", "tot_dfs_no_backtrack"), "an ablation of crosswords, whose states are grids; use tot_dfs --prune-at 0"),
        "tot_bfs_refine": "rewriting the answer would lose the branches that were compared; use tot_bfs, or mctsr to refine whole answers",
    },
    settings={
        "tot_bfs": {"k": 3, "breadth": 2, "samples": 1, "evaluate": "score", "prune_below": 0.3},
        "tot_dfs": {"k": 3, "samples": 1, "evaluate": "score", "prune_at": 0.3, "max_steps": 15},
        "a_star": {"k": 3, "samples": 1, "evaluate": "score", "max_nodes": 15},
        "mcts": {"k": 3, "samples": 1, "evaluate": "score", "rollouts": 10},
        "adaptive": {"samples": 1, "evaluate": "score", "rollouts": 15},
        "refine": {"rounds": 2},
        "best_of_n": {"k": 4},
    },
    adapt=_adapt,
    material=with_material,
)
