"""Where a state cannot be restored, a search that goes back is refused before the first call (spec, section 7)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from branchwise import Beam, Chain, DepthFirst, Method, MethodError, Sample, Value, preset, solve
from support.models import FakeModel, silent
from support.worlds import Toy

ONE_WAY = Toy(1, reversible=False, dead=0, complete=0, malformed=0)


@pytest.mark.parametrize("search", [Beam(breadth=2, depth=2), Beam(breadth=5, depth=1), DepthFirst()], ids=["beam", "one level", "dfs"])
async def test_a_search_that_goes_back_is_refused_before_the_first_call(search: object, tmp_path: object) -> None:
    model = FakeModel(silent)
    method = Method(name="mine", generate=Sample(k=2), evaluate=Value(), search=search)  # type: ignore[arg-type]
    with pytest.raises(MethodError, match=r"'mine' goes back.*not reversible"):
        await solve(ONE_WAY, method, model, trace=f"{tmp_path}/t.jsonl")
    assert model.calls == 0


@pytest.mark.parametrize("name", ["tot_dfs", "tot_bfs", "cot_sc"])
async def test_presets_that_go_back_are_refused_by_name(name: str) -> None:
    with pytest.raises(MethodError, match=name):
        await solve(ONE_WAY, preset(name).make(), FakeModel(silent))


@pytest.mark.parametrize("method", [preset("io").make(), preset("cot").make(), preset("refine").make(rounds=2)], ids=lambda m: m.name)
async def test_chains_are_allowed(method: Method) -> None:
    assert (await solve(ONE_WAY, method, FakeModel(ONE_WAY.reply))).path


@pytest.mark.parametrize("search", [Beam(breadth=1, depth=3), Chain(depth=3)], ids=["beam of one", "chain"])
async def test_searches_that_only_go_forward_never_expand_a_state_above_the_last(search: object) -> None:
    model = FakeModel(ONE_WAY.reply)
    result = await solve(ONE_WAY, Method(generate=Sample(k=3), evaluate=Value(), search=search), model)  # type: ignore[arg-type]
    expanded = [request.id.node for request in model.requests if request.role == "generate" and request.id]
    for earlier, later in pairwise(expanded):
        assert later.startswith(earlier)
        assert later != earlier
    assert result.path


async def test_every_other_problem_is_reversible_by_default() -> None:
    class Plain:
        prompt = "x"
        prompts = ONE_WAY.prompts
        status, key, answer = ONE_WAY.status, ONE_WAY.key, ONE_WAY.answer

    assert (await solve(Plain(), preset("tot_dfs").make(), FakeModel(ONE_WAY.reply))).stop_reason
