"""Token budget per thought: what is left of the tokens, shared among the thoughts that may still be made. Knows no model and no clock.

Section 3 of the project's specification. Only committed steps count as spent, so that the shares depend on the tree and never on latency.
"""

from __future__ import annotations

from collections.abc import Mapping

from branchwise.ledger import Ledger

__all__ = ["LEAST", "Shares"]

LEAST = 32
"""A reply is never held to fewer tokens than this: it could say nothing."""


class Shares:
    """Limits of replies for a run with a token budget and a node budget; `recorded` holds those of a run that is gone on with."""

    def __init__(self, ledger: Ledger, nodes: int, recorded: Mapping[tuple[str, int], int]) -> None:
        assert ledger.budget.tokens is not None
        self._ledger, self._tokens, self._nodes, self._recorded = ledger, ledger.budget.tokens, nodes, recorded
        ledger.by_step = {}
        self._given: dict[int, int] = {}
        self._spent = 0

    def share(self, places: int) -> int:
        """Remaining tokens / remaining nodes, `places` of which are made or on their way."""
        left = self._tokens - self._ledger.reserve.tokens - self._spent - sum(self._given.values())
        return max(0, left) // max(1, self._nodes - places)

    def limit(self, where: tuple[str, int], step: int, k: int, lists: bool, places: int) -> int:
        """The most tokens of one reply of `step`, issued at `where` (node, occurrence) for `k` thoughts.

        A reply that lists `k` thoughts may take k shares, one that is a thought takes one. At least `LEAST`.
        """
        share = self.share(places)
        self._given[step] = share * k
        return self._recorded.get(where) or max(LEAST, share * (k if lists else 1))

    def dropped(self, step: int) -> None:
        """`step` will not be committed: its share is free again. What it has spent is the ledger's business: it would be a matter of latency."""
        assert self._ledger.by_step is not None
        self._given.pop(step, None)
        self._ledger.by_step.pop(step, None)

    def raised(self, tokens: int, nodes: int) -> None:
        """The budgets are larger from now on."""
        self._tokens, self._nodes = tokens, nodes

    def committed(self, step: int) -> None:
        """What `step` spent is spent from now on."""
        assert self._ledger.by_step is not None
        self._given.pop(step, None)
        self._spent += self._ledger.by_step.pop(step, 0)
