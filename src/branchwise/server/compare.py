"""Options that somebody names, judged one by one, and the recommendation written up. The options are the tree; nothing is generated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.budget import Bound
from branchwise.errors import UsageError
from branchwise.method import Method
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.search.beam import Beam
from branchwise.server.conversation import set_in
from branchwise.tasks.open import Open
from branchwise.tasks.open.task import with_material
from branchwise.thought.base import Proposal, Proposals, Size
from branchwise.thought.score import Score
from branchwise.thought.write_up import WriteUp

__all__ = ["MOST_OPTIONS", "Given", "comparison"]

MOST_OPTIONS = 20
_LONGEST = 4000
"""Characters of one option."""


@dataclass(frozen=True, slots=True)
class Given:
    """Proposes the options, and calls no model."""

    options: tuple[str, ...]

    @property
    def k(self) -> int:
        """All of them."""
        return len(self.options)

    @property
    def thought_bytes(self) -> int:
        """The longest of them."""
        return max(len(option.encode("utf-8", "replace")) for option in self.options)

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """The options, in their order."""
        return Proposals(tuple(Proposal(option) for option in self.options))

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """Nothing."""
        return Bound()


def comparison(question: str, options: Sequence[str], criteria: Sequence[str], context: str, samples: int) -> tuple[Open, Method]:
    """The problem and the method: each option scored `samples` times, the best one written up against the strongest other one.

    Raises `UsageError` for options that cannot be compared.
    """
    plain = tuple(" ".join(option.split()) for option in options)
    if not 2 <= len(plain) <= MOST_OPTIONS:
        raise UsageError(f"2 to {MOST_OPTIONS} options can be compared, not {len(plain)}")
    if not all(plain) or max(map(len, plain)) > _LONGEST:
        raise UsageError(f"an option is a text of 1 to {_LONGEST} characters")
    if len({option.casefold() for option in plain}) < len(plain):
        raise UsageError("two options are the same")
    asked = question.strip()
    if criteria:
        asked += "\n\nJudge by: " + "; ".join(" ".join(criterion.split()) for criterion in criteria)
    asked += "\n\nThe options:\n" + "\n".join(f"- {option}" for option in plain)
    problem = Open.parse(with_material(asked, set_in(context)) if context.strip() else asked)
    return problem, Method(
        name="compare_options", generate=Given(plain), evaluate=Score(samples=samples), search=Beam(breadth=1, depth=1), answer=WriteUp(),
    )  # fmt: skip
