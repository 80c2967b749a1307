"""Every generator × every evaluator × every search that `Method` takes: one tree for every latency, caps that hold, prefixes, resume.

The parts and the matrix are those of tools/method_matrix.py, which writes docs/methods.md.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from branchwise import Budget, Method, MethodError, Reply, Request, Tree, read_trace
from branchwise.model.base import Sample
from support.models import FakeModel
from support.runs import run
from support.tapes import samples_of
from support.trees import is_prefix, snapshot
from support.worlds import PROMPTS, Toy


def _tool(name: str) -> Any:
    path = Path(__file__).parents[1] / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


matrix = _tool("method_matrix")
TASK = {**PROMPTS, "rewrite": "REWRITE\n{{prompt}}\n{{last}}\n{{critique}}", "likelihood": "LIKELY\n{{prompt}}\n{{thoughts}}"}
ALLOWED = [
    pytest.param(g, e, s, id=f"{g} × {e} × {s}")
    for g, generate in matrix.GENERATORS.items()
    for e, evaluate in matrix.EVALUATORS.items()
    for s, search in matrix.SEARCHES.items()
    if not matrix.refusal(generate, evaluate, search)
]


class Likely(FakeModel):
    """Gives log-probabilities where they are asked for."""

    async def sample(self, request: Request) -> Reply:
        reply = await super().sample(request)
        if not request.logprobs:
            return reply
        tops = {"sure": -0.5 - len(request.messages[-1].content) % 7 / 5, "impossible": -1.0, "the": -3.0}
        return Reply(tuple(Sample(s.text or "sure", s.outcome, usage=s.usage, logprobs=(tops,)) for s in reply.samples), reply.model)


def world(seed: int) -> Toy:
    return Toy(seed, dead=0.05, complete=0.2, prompts=TASK)


def method(g: str, e: str, s: str) -> Method:
    return Method(name="matrix", generate=matrix.GENERATORS[g], evaluate=matrix.EVALUATORS[e], search=matrix.SEARCHES[s])


async def go(g: str, e: str, s: str, seed: int, jitter: int, **settings: Any) -> tuple[Any, FakeModel]:
    toy = world(seed)
    return await run(toy, method(g, e, s), model=Likely(toy.reply, jitter=jitter), seed=seed, **settings)


@pytest.mark.parametrize(("g", "e", "s"), ALLOWED)
async def test_whatever_goes_together_is_reproducible_capped_and_can_be_resumed(g: str, e: str, s: str, tmp_path: Path) -> None:
    seed = len(g + e + s)
    trace = tmp_path / "t.jsonl"
    first, model = await go(g, e, s, seed, 0, parallel=1, trace=trace)
    assert not first.error
    for parallel in (4, 16):
        again, _ = await go(g, e, s, seed, parallel, parallel=parallel)
        assert snapshot(again.tree) == snapshot(first.tree)
        assert (again.stop_reason, again.answer, again.usage) == (first.stop_reason, first.answer, first.usage)
    if not model.calls:
        return
    paid = set(model.samples)
    for cap in {max(1, model.calls // 3), max(1, model.calls * 2 // 3), model.calls}:
        short, small = await go(g, e, s, seed, cap, budget=Budget(calls=cap))
        assert small.calls == short.usage.calls <= cap
        assert is_prefix(short.tree, first.tree, partial=True)
        assert set(small.samples) <= paid
    lines = trace.read_bytes().splitlines(keepends=True)
    for n in {1, len(lines) // 3, 2 * len(lines) // 3, len(lines) - 1}:
        cut = tmp_path / f"{n}.jsonl"
        cut.write_bytes(b"".join(lines[:n]))
        resumed, rest = await go(g, e, s, seed, n, resume=cut)
        assert snapshot(resumed.tree) == snapshot(first.tree) == snapshot(Tree.fold(read_trace(cut)))
        assert resumed.answer == first.answer
        assert set(rest.samples) <= paid


def _each_pair() -> list[Any]:
    """Every generator × every search, each with one of the evaluators that go with them, taken in turn."""
    found: dict[tuple[str, str], list[str]] = {}
    for param in ALLOWED:
        g, e, s = param.values
        found.setdefault((g, s), []).append(e)
    return [pytest.param(g, es[at % len(es)], s, id=f"{g} × {es[at % len(es)]} × {s}") for at, ((g, s), es) in enumerate(found.items())]


@pytest.mark.parametrize(("g", "e", "s"), _each_pair())
async def test_a_run_cut_after_any_line_goes_on_to_the_same_tree_and_pays_the_rest(g: str, e: str, s: str, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    for seed in range(20):  # the first world in which much happens
        trace.unlink(missing_ok=True)
        first, model = await go(g, e, s, seed, 5, parallel=4, trace=trace)
        lines = trace.read_bytes().splitlines(keepends=True)
        if 15 < len(lines) < 120:
            break
    assert len(lines) >= 5
    for n in range(1, len(lines) + 1):
        half = n % 2 == 1
        cut = tmp_path / f"{n}.jsonl"
        cut.write_bytes(b"".join(lines[:n]) + (lines[n][: len(lines[n]) // 2] if half and n < len(lines) else b""))
        taped = samples_of(cut)
        resumed, rest = await go(g, e, s, seed, n, resume=cut, parallel=1 + n % 5)
        assert snapshot(resumed.tree) == snapshot(first.tree), n
        assert (resumed.answer, resumed.stop_reason) == (first.answer, first.stop_reason)
        assert set(rest.samples) == set(model.samples) - taped, n
        assert resumed.usage.calls == first.usage.calls


@pytest.mark.parametrize("search", ["mcts", "mctsr", "a_star", "adaptive", "chain"])
@pytest.mark.parametrize("evaluate", ["vote", "combined"])
def test_a_vote_is_refused_where_it_means_nothing_and_the_pair_is_named(search: str, evaluate: str) -> None:
    from branchwise import Combine

    joint = matrix.EVALUATORS["vote"]
    joint = Combine(matrix.EVALUATORS["value"], joint) if evaluate == "combined" else joint
    with pytest.raises(MethodError, match=f"^vote × {search}: "):
        Method(generate=matrix.GENERATORS["self-refine"], evaluate=joint, search=matrix.SEARCHES[search])


@pytest.mark.parametrize("search", ["beam", "best_first", "a_star", "mcts", "mctsr", "adaptive", "tot_bfs_refine"])
def test_a_search_by_value_is_refused_without_an_evaluator(search: str) -> None:
    with pytest.raises(MethodError, match=f"^none × {search}: "):
        Method(generate=matrix.GENERATORS["self-refine"], search=matrix.SEARCHES[search])


@pytest.mark.parametrize("search", ["mctsr", "tot_bfs_refine"])
@pytest.mark.parametrize("generate", ["sample", "propose"])
def test_a_search_that_rewrites_is_refused_with_a_generator_that_does_not(search: str, generate: str) -> None:
    with pytest.raises(MethodError, match=f"^{generate} × {search}: "):
        Method(generate=matrix.GENERATORS[generate], evaluate=matrix.EVALUATORS["value"], search=matrix.SEARCHES[search])


def test_the_page_of_methods_is_up_to_date() -> None:
    assert matrix.PAGE.read_text("utf-8") == matrix.page(), "run python tools/method_matrix.py"


def test_the_pictures_of_the_searches_are_up_to_date() -> None:
    pictures = _tool("search_pictures")
    text = pictures.PAGE.read_text("utf-8")
    assert text == pictures.page(text), "run python tools/search_pictures.py"
