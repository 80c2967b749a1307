"""A reply cache over runs: hits are shown apart and cost nothing, samples keep their index, the tree is the same."""

from branchwise import Beam, Method, Propose, Routed, TapeModel, Value, solve
from branchwise.budget import Price
from branchwise.model.cache import ReplyCache
from support.models import FakeModel
from support.worlds import Toy

METHOD = Method(name="m", generate=Propose(k=3), evaluate=Value(samples=3), search=Beam(breadth=2, depth=2))


def _tree(result):
    return [(node.label, node.thought, node.samples) for node in result.tree]


async def test_a_second_run_takes_every_sample_from_the_cache_and_pays_nothing(tmp_path):
    toy, price = Toy(), Price(1.0, 2.0)
    with ReplyCache(tmp_path / "cache.db") as cache:
        first = await solve(toy, METHOD, FakeModel(toy.reply), seed=4, cache=cache, price=price)
        model = FakeModel(toy.reply)
        second = await solve(toy, METHOD, model, seed=4, cache=cache, price=price, trace=tmp_path / "t.jsonl")
    assert _tree(second) == _tree(first)
    assert model.calls == 0
    assert second.usage.calls == 0
    assert second.usage.cost == 0
    assert second.usage.cached_calls == first.usage.calls > 0
    replayed = await solve(toy, METHOD, TapeModel.open(tmp_path / "t.jsonl"), seed=4)
    assert _tree(replayed) == _tree(first), "a cache hit is on the tape too"


async def test_a_cache_that_is_only_read_keeps_nothing(tmp_path):
    toy = Toy()
    with ReplyCache(tmp_path / "cache.db") as cache:
        for _ in range(2):
            model = FakeModel(toy.reply)
            result = await solve(toy, METHOD, model, seed=4, cache=cache, cache_mode="read")
            assert model.calls == result.usage.calls > 0


async def test_a_run_with_another_evaluator_takes_the_thoughts_from_the_cache(tmp_path):
    toy = Toy()
    with ReplyCache(tmp_path / "cache.db") as cache:
        makes, judges = FakeModel(toy.reply, name="a"), FakeModel(toy.reply, name="b")
        first = await solve(toy, METHOD, Routed(makes, {"evaluate": judges}), seed=4, cache=cache)
        again, other = FakeModel(toy.reply, name="a"), FakeModel(toy.reply, name="c")
        second = await solve(toy, METHOD, Routed(again, {"evaluate": other}), seed=4, cache=cache)
    assert (again.calls, other.calls) == (0, judges.calls)
    assert second.by_role["generate"].cached_calls == first.by_role["generate"].calls > 0
    assert second.by_role["evaluate"].calls == first.by_role["evaluate"].calls > 0
    assert _tree(second) == _tree(first)
