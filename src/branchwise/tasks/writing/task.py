"""Creative writing as a problem: a plan, then a passage. The program checks how the paragraphs end; how good it is, only a judge can say.

Yao et al. 2023, section 4.2. A passage that breaks the constraint is an answer nonetheless (the published runs count it too, and
refinement can mend it), but it is no equal of one that keeps it: it is valued 0 without a vote, as long as one of its group keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from branchwise.errors import UsageError
from branchwise.method import Method
from branchwise.problem import COMPLETE, OPEN, Kind, Rejected, State, Status
from branchwise.search.pick import complete_or_deepest, deepest
from branchwise.tasks.base import Item, Task, package_prompts
from branchwise.tasks.writing.rules import faults, sentences_of
from branchwise.thought.parsing import strip_reasoning
from branchwise.thought.without_faults import WithoutFaults

__all__ = ["WRITING", "Writing"]

_PLAN = re.compile(r"^[\s#*_]*plan[\s*_]*:[\s*_]*", re.IGNORECASE)
_PASSAGE = re.compile(r"^[ \t#*_]*passage[ \t*_]*:[ \t*_]*", re.IGNORECASE | re.MULTILINE)
_COHERENT = re.compile(r"\b(?:is|already|it's|seems|looks)\b[\w ,]*\bperfectly coherent\b", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not|n't|isn't|never|hardly|far from)\b", re.IGNORECASE)
_SHORT = 400
"""Characters of a verdict that comes without a new passage."""


@dataclass(frozen=True)
class Writing:
    """Four sentences. `prompts` are texts by name, in place of the task's own. Thoughts are `Plan: ...` and `Passage: ...`."""

    sentences: tuple[str, ...]
    prompts: Mapping[str, str] = field(default_factory=lambda: package_prompts("branchwise.tasks.writing"), compare=False)
    reversible: bool = field(default=True, init=False)
    field_bytes: int = field(default=64, init=False)

    @classmethod
    def parse(cls, text: str, prompts: Mapping[str, str] | None = None) -> Writing:
        """The four sentences in `text`. Raises `UsageError`."""
        found = sentences_of(text)
        return cls(found) if prompts is None else cls(found, dict(prompts))

    @property
    def prompt(self) -> str:
        """The sentences, numbered, a line each."""
        return "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(self.sentences, 1))

    def status(self, state: State) -> Status:
        """COMPLETE for a passage, with what it breaks for a reason."""
        if not state or not _is_passage(state[-1]):
            return OPEN
        return Status(Kind.COMPLETE, fault) if (fault := self.fault(state)) else COMPLETE

    def fault(self, state: State) -> str:
        """What of the constraint the passage breaks; empty for one that keeps it, and for a plan."""
        return "; ".join(faults(self.sentences, _body(state[-1]))) if state and _is_passage(state[-1]) else ""

    def key(self, state: State) -> Hashable:
        """The last thought without differences of spacing: an equal passage is one passage, whatever the plan."""
        return " ".join(state[-1].split()) if state else ""

    def answer(self, state: State) -> str | None:
        """The passage without its label; `None` while there is only a plan."""
        return _body(state[-1]) if state and _is_passage(state[-1]) else None

    def fields(self, state: State) -> dict[str, str]:
        """`passage`: the last passage; `faults`: what it breaks, in a sentence."""
        passage = _body(state[-1]) if state and _is_passage(state[-1]) else ""
        return {"passage": passage, "faults": self.fault(state) or "every paragraph ends with its sentence"}

    def read(self, state: State, text: str) -> str:
        """At the root the plan, without a passage that was written behind it; below a plan the passage. Raises `Rejected`."""
        content = strip_reasoning(text)
        mark = _PASSAGE.search(content)
        if not state:
            plan = _PLAN.sub("", content[: mark.start()] if mark else content).strip()
            if not plan:
                raise Rejected("a passage without a plan" if mark else "empty")
            return f"Plan:\n{plan}"
        if _is_passage(state[-1]):
            raise Rejected("a step after a passage")
        return self._labelled(content[mark.end() :] if mark else content)

    def whole(self, state: State, text: str) -> str:
        """The passage in a whole reply. The passage as it was, when the model calls it perfectly coherent. Raises `Rejected`."""
        content = strip_reasoning(text)
        marks = list(_PASSAGE.finditer(content))
        before = content[: marks[-1].start()] if marks else content
        done = _COHERENT.search(before)
        if state and _is_passage(state[-1]) and done and not _NEGATED.search(done[0]) and (marks or len(content) < _SHORT):
            return state[-1]
        return self._labelled(content[marks[-1].end() :] if marks else content)

    def _labelled(self, body: str) -> str:
        if not body.strip():
            raise Rejected("no passage")
        return f"Passage:\n{body.strip()}"


def _is_passage(thought: str) -> bool:
    return _PASSAGE.match(thought) is not None


def _body(thought: str) -> str:
    return _PASSAGE.sub("", thought, count=1).strip()


@lru_cache(maxsize=1)
def _own() -> tuple[str, ...]:
    text = (resources.files("branchwise.tasks.writing") / "inputs.txt").read_text("utf-8")
    return tuple(block.strip() for block in text.strip().split("\n\n"))


def _load(data: Path | None = None) -> Sequence[Item]:
    """Our own twenty, or the lines of the published file, four sentences each. Raises `UsageError` for a file that is none."""
    if data is None:
        return [Item(id=str(number), input=block) for number, block in enumerate(_own(), 1)]
    try:
        lines = data.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {data}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error
    found = [Item(id=str(number), input=line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise UsageError(f"{data} holds no inputs: it needs four sentences a line")
    return found


_SEARCHES = ("tot_bfs", "tot_bfs_refine", "tot_dfs", "best_first", "a_star", "mcts", "adaptive", "best_of_n")


def _adapt(method: Method, settings: Mapping[str, Any]) -> Method:
    """The constraint is checked before anyone is asked; and dfs answers with a passage that was kept, if there is one."""
    if method.name not in _SEARCHES or method.evaluate is None:
        return method
    pick = complete_or_deepest if method.pick is deepest else method.pick
    return replace(method, evaluate=WithoutFaults(method.evaluate), pick=pick)


_SAMPLED = {"generate": "sample", "k": 3, "depth": 2, "samples": 1, "evaluate": "score"}

WRITING = Task(
    name="writing",
    summary="four sentences in, a coherent passage of four paragraphs out, each ending with its sentence",
    default_method="tot_bfs",
    methods=("io", "cot", "refine", *_SEARCHES, "mctsr", "mctsr_4", "mctsr_8"),
    refused={
        "cot_sc": "passages are never equal, so there is no majority; best_of_n lets a judge choose",
        "tot_dfs_no_prune": "an ablation of crosswords; with two levels there is nothing to compare it with",
        "tot_dfs_no_backtrack": "an ablation of crosswords: a passage is one thought, and cannot be overwritten in part; use refine",
    },
    settings={
        "tot_bfs": {"generate": "sample", "k": 5, "breadth": 1, "depth": 2, "samples": 5, "evaluate": "vote"},
        "tot_bfs_refine": {"k": 5, "breadth": 1, "depth": 2, "samples": 5, "evaluate": "vote", "rounds": 5},
        "refine": {"rounds": 5},
        "tot_dfs": {**_SAMPLED, "prune_at": 0.0, "max_steps": 12},
        "best_first": {**_SAMPLED, "prune_below": 0.001},
        "a_star": {**_SAMPLED, "max_nodes": 15},
        "mcts": {**_SAMPLED, "rollouts": 10},
        "adaptive": {"depth": 2, "samples": 1, "evaluate": "score", "rollouts": 10},
        "best_of_n": {"k": 5},
    },
    adapt=_adapt,
    make=Writing.parse,
    load=_load,
    prompts=package_prompts("branchwise.tasks.writing"),
)
