"""The call by which the model writes the answer: what is held back for it, and the call. Knows no search and no trace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from branchwise.budget import Bound
from branchwise.errors import BranchwiseError
from branchwise.ledger import Ledger
from branchwise.rejected import strongest_rejected, told
from branchwise.search.base import Expand
from branchwise.steps import InFlight, Outcome, Worker
from branchwise.tree import Node

__all__ = ["Answering"]


class Answering:
    """For a method that has such a call; for others it holds nothing back."""

    def __init__(self, worker: Worker, ledger: Ledger) -> None:
        self._worker, self._ledger = worker, ledger
        self._task: asyncio.Task[Outcome] | None = None

    def reserve(self, warn: Callable[[str], None]) -> None:
        """Hold it back from the start: the call, and its tokens for the longest state that there can be."""
        answer = self._worker.method.answer
        if answer is None:
            return
        worst, cap = self._worker.answer_bound(answer), self._ledger.budget.tokens
        if cap is not None and worst.tokens * 2 > cap:
            warn(f"{cap} tokens are too few to hold back the {worst.tokens} that writing the answer could take; it may end without one")
            worst = Bound(worst.calls)
        self._ledger.reserve = worst

    def step(self, number: int, node: Node) -> InFlight:
        """The step that writes the answer from `node`."""
        tree, answer = self._worker.tree, self._worker.method.answer
        assert answer is not None
        base, node.reserved = node.reserved, node.reserved + 1
        if (noted := getattr(answer, "noted", None)) is not None:
            answer = noted(told(strongest_rejected(tree, node), node))
        flight = InFlight(number, Expand(node), 1, node.issued, base, len(tree.nodes), Bound(), "answer", answer, serial=True)
        node.issued += 1
        return flight

    async def write(self, flight: InFlight, interrupted: Callable[[], str]) -> Outcome:
        """Make the call out of the reserve. What fails, or is interrupted, is in the outcome; raises on cancellation from outside."""
        self._ledger.closed, self._ledger.reserve = False, Bound()
        task = self._task = asyncio.get_running_loop().create_task(self._worker.run(flight))
        try:
            return await task
        except BranchwiseError as error:
            return Outcome(error=str(error))
        except asyncio.CancelledError:
            if not interrupted():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                raise
            return Outcome(partial=interrupted())
        finally:
            self._task = None
            self._ledger.close()

    def cancel(self) -> None:
        """End the call, where it is under way."""
        if self._task is not None:
            self._task.cancel()
