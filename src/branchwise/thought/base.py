"""What generators and evaluators are, and what they give back. Knows no search and no tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from branchwise.budget import Bound
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.records import record

__all__ = ["Dropped", "Evaluation", "Evaluator", "Generator", "Proposal", "Proposals", "Size"]


@record(frozen=True, slots=True)
class Size:
    """How large a state is, or can get, in UTF-8 bytes: its prompt, and all its thoughts together. Worst cases are computed from it."""

    prompt: int
    state: int

    def deeper(self, thought: int, times: int = 1) -> Size:
        """The size after `times` more thoughts of at most `thought` bytes (and a line break) each."""
        return Size(self.prompt, self.state + times * (thought + 1))


@record(frozen=True, slots=True)
class Proposal:
    """One next thought. `confidence` is the model's own, summed over repeats; it orders children and serves as prior."""

    thought: str
    confidence: float | None = None


@record(frozen=True, slots=True)
class Dropped:
    """Text of the model that is no thought, and why."""

    text: str
    reason: str


@record(frozen=True, slots=True)
class Proposals:
    """What a generator found: thoughts in its own order, and what it dropped. `final` says that nothing better will come (refine)."""

    thoughts: tuple[Proposal, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    final: bool = False


@record(frozen=True, slots=True)
class Evaluation:
    """The judgement of one state. `value` is in [0, 1], or `None` for unknown, which sorts after every known value.

    `samples` are the single judgements that made it, `None` for each that could not be read; `unparsed` counts those.
    """

    value: float | None
    samples: tuple[float | None, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        if self.value is not None and not 0 <= self.value <= 1:
            raise ValueError(f"a value must be in [0, 1], or None where it is unknown; not {self.value}")

    @property
    def unparsed(self) -> int:
        """How many samples could not be read."""
        return sum(sample is None for sample in self.samples)


class Generator(Protocol):
    """Proposes up to `k` next thoughts: G(p, s, k) of Yao et al. 2023, section 3."""

    @property
    def k(self) -> int:
        """How many thoughts one step asks for by default."""
        ...

    @property
    def thought_bytes(self) -> int:
        """The longest thought that it lets through, in UTF-8 bytes; longer ones are dropped with that reason."""
        ...

    async def __call__(self, model: LanguageModel, problem: Problem, state: State, k: int) -> Proposals:
        """Next thoughts for `state`. Raises `ModelError` when nothing at all could be had."""
        ...

    def bound(self, problem: Problem, size: Size, k: int) -> Bound:
        """The most that one use of this generator on a state of `size` can spend."""
        ...


class Evaluator(Protocol):
    """Values states: V(p, S) of Yao et al. 2023, section 3."""

    @property
    def joint(self) -> bool:
        """Whether states are compared with one another (vote), so that values hold only within the group."""
        ...

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """One evaluation a state, in the order given."""
        ...

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """The most that judging `n` states of at most `size` can spend."""
        ...
