"""A call that failed for good is on the tape: an offline replay fails alike, a resumed run asks again."""

import pytest

from branchwise import Beam, Method, Propose, RetryPolicy, TapeModel, Value, solve
from branchwise.errors import ContextOverflow, RateLimited, TransientError
from branchwise.model.base import Reply, Request
from support.models import FakeModel
from support.worlds import Toy

METHOD = Method(name="m", generate=Propose(k=3), evaluate=Value(samples=1), search=Beam(breadth=2, depth=2))


class Faulty:
    """The toy's model, whose third evaluation fails for good."""

    def __init__(self, toy: Toy, error: Exception) -> None:
        self._inner, self._error, self._count = FakeModel(toy.reply), error, 0
        self.name, self.identity = self._inner.name, self._inner.identity

    async def sample(self, request: Request) -> Reply:
        self._count += request.role == "evaluate"
        if self._count == 3 and request.role == "evaluate":
            raise self._error
        return await self._inner.sample(request)


def _tree(result):
    return [(node.label, node.thought, node.value, node.reason, node.unknown) for node in result.tree]


@pytest.mark.parametrize("error", [TransientError("cut"), RateLimited("slow down", 1.0), ContextOverflow("too long")])
async def test_a_run_with_a_call_that_failed_replays_offline_to_the_same_tree(tmp_path, error):
    toy, trace = Toy(), tmp_path / "t.jsonl"
    once = RetryPolicy(attempts=1)
    first = await solve(toy, METHOD, Faulty(toy, error), seed=1, trace=trace, retry=once, parallel=1)
    assert first.stop_reason != "failed"
    assert any(node.unknown for node in first.tree)
    again = await solve(toy, METHOD, TapeModel.open(trace), seed=1, retry=once)
    assert _tree(again) == _tree(first)
    assert again.stop_reason == first.stop_reason


async def test_a_resumed_run_asks_again_for_a_call_that_failed(tmp_path):
    toy, trace = Toy(), tmp_path / "t.jsonl"
    await solve(toy, METHOD, Faulty(toy, TransientError("cut")), seed=1, trace=trace, retry=RetryPolicy(attempts=1), parallel=1)
    model = FakeModel(toy.reply)
    resumed = await solve(toy, METHOD, model, seed=1, resume=trace)
    whole = await solve(toy, METHOD, FakeModel(toy.reply), seed=1)
    assert _tree(resumed) == _tree(whole)
