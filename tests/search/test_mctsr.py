"""MCT Self-Refine: the numbers of the specification, the stop rules, the choice of the answer."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from branchwise import (
    Method,
    MethodError,
    Scripted,
    SelfRefine,
    SelfRefineSearch,
    SelfReward,
    best_refined,
    estimate,
    majority,
    methods,
    most_visited,
    preset,
    solve,
)
from branchwise.errors import Unsupported
from branchwise.problem import DUMMY
from branchwise.search.pick import refined_values
from branchwise.search.self_refine import quality
from branchwise.thought.self_reward import suppress
from support.frontiers import Driver
from support.models import FakeModel, silent
from support.refining import Answers, Graded, Told, find, refined, unit
from support.worlds import Toy


def test_full_marks_are_suppressed_and_order_is_kept() -> None:
    """max(95, r - 5) is 95 for 95 to 100 (100 - 5 = 95); a millionth of r - 95 keeps them apart: 96 → 95.000001, 100 → 95.000005."""
    recorded = [suppress(reward / 2) for reward in range(-200, 201)]
    assert all(low < high for low, high in pairwise(recorded)), "a better reward stays better"
    assert suppress(94) < suppress(95) < suppress(96) < suppress(100), "94 never beats 100, and 96 stays above 95"
    assert [suppress(reward) for reward in (-100, 0, 94.5, 95)] == [-100, 0, 94.5, 95]
    assert [suppress(reward) for reward in (95.5, 96, 100)] == [pytest.approx(max(95, r - 5), abs=5.1e-6) for r in (95.5, 96, 100)]
    assert suppress(100) == pytest.approx(95.000005, abs=1e-9)


async def test_the_model_s_reward_is_suppressed_and_mapped() -> None:
    for reply, value in (("Score: 80", 0.9), ("Score: 100", 0.975), ("Score: -100", 0.0), ("no idea", None), ("Score: 300", None)):
        model = Scripted(lambda request, i, reply=reply: reply)  # type: ignore[misc]
        (found,) = await SelfReward()(model, Toy(0), [("x",)])
        assert found.value == (None if value is None else pytest.approx(value)), reply


async def test_rewards_80_20_20_give_q_30() -> None:
    """½ (min + mean) = ½ (20 + 40) = 30. The root is selected twice, and sampled at its birth and each time (case 48)."""
    result, rewritten = await refined(["r"], {"r": ["a", "b"]}, {"r": [80, 20, 20], "a": [-90], "b": [-90]}, rollouts=2)
    assert rewritten == ["r", "r"]
    root = find(result, "r")
    assert root.count == 3
    assert quality(root) == pytest.approx(unit(30))
    assert quality(root) * 200 - 100 == pytest.approx(30)


async def test_a_better_grandchild_reaches_the_root() -> None:
    """Chain r → a → b: Q' = ½ (Q + the best child's Q'), up to the root. r 0, a 20, b 90: a = ½(20 + 90) = 55; r = ½(0 + 55) = 27.5."""
    rewards: dict[str, list[float]] = {"r": [0], "a": [20], "b": [90]}
    result, rewritten = await refined(["r"], {"r": ["a"], "a": ["b"]}, rewards, rollouts=2, exploration=0)
    assert rewritten == ["r", "a"]
    values = refined_values(result.tree)
    assert [values[find(result, name).birth] for name in "rab"] == [pytest.approx(unit(q)) for q in (27.5, 55, 90)]


def _expand(driver: Any, rewards: dict[str, float]) -> None:
    from branchwise.trace import Birth, Expanded, Judgement

    step, number = driver.pending.pop(0), len(driver.tree.nodes)
    births = [Birth(number + i, i, name, "complete") for i, name in enumerate(rewards)]
    made = [Judgement(number + i, unit(value)) for i, value in enumerate(rewards.values())]
    driver._tell(Expanded(1, step.node.birth, births, judgements=made))


@pytest.mark.parametrize(("father", "visits", "term"), [(1, 1, 1.0), (2, 1, 1.693147), (8, 1, 3.079442), (8, 4, 3.079442 / 4)])
def test_the_exploration_term_is_that_of_the_formula(father: int, visits: int, term: float) -> None:
    """c·sqrt((ln N(father) + 1) / (N + eps)): for N(father) = 1, 2, 8 the numerator is 1, 1.693, 3.079."""
    driver = Driver(SelfRefineSearch(roots=1, exploration=0.3, epsilon=1e-9))
    _expand(driver, {"r": 40})
    node, tell = driver.tree.nodes[1], driver.frontier
    tell._visits[1] = visits  # type: ignore[attr-defined]
    assert tell._score(node, father) == pytest.approx(unit(40) + 0.3 * math.sqrt(term), abs=1e-6)  # type: ignore[attr-defined]


def test_the_father_of_a_root_has_all_visits() -> None:
    driver = Driver(SelfRefineSearch(roots=2, exploration=1.0, epsilon=1e-9, rollouts=1))
    _expand(driver, {"r": 0, "s": 0})
    tell: Any = driver.frontier
    assert tell._total == 3, "two births, and the rollout that is on its way"
    assert tell._current(driver.tree.nodes[2]) == pytest.approx(0.5 + math.sqrt(math.log(3) + 1))


@pytest.mark.parametrize(("name", "roots", "calls"), [
    ("mctsr_8", "both", 35), ("mctsr_8", "naive", 34), ("mctsr_8", "dummy", 33), ("mctsr_4", "both", 19), ("mctsr_4", "naive", 18),
])  # fmt: skip
async def test_what_it_costs(name: str, roots: str, calls: int) -> None:
    """A naive answer and a grade for each root, then four calls a rollout. (A dummy alone needs no naive answer.)"""
    method = preset(name).make(roots=roots)
    for seed in range(3):
        toy = Toy(seed, dead=0, complete=0, merge=False)
        model = FakeModel(lambda request, i: "Score: 7" if request.role == "evaluate" else f"answer {request.seeds[i]}", jitter=seed)
        result = await solve(toy, method, model, seed=seed)
        assert result.usage.calls == calls
        assert estimate(toy, method).full_calls == estimate(toy, method).calls == calls


@pytest.mark.parametrize(("limit", "better", "rewrites"), [(2, 60.0, 3), (1, 60.0, 3), (4, 60.0, 4), (5, 60.0, 5), (2, 45.0, 8)])
async def test_an_answer_is_refined_until_it_is_fully_expanded(limit: int, better: float, rewrites: int) -> None:
    """Only r 50 may be refined (depth 2). Its rewrites are 40, 30, then c, then -100. Fully expanded: as many as the limit, and one
    better than r.

    Limit 1 or 2: c 60 is the first that is better, and the third; limits 4 and 5: there is room for more after it; c 45: it never ends.
    """
    rewards = {"r": [50.0], "a": [40.0], "b": [30.0], "c": [better]}
    settings: dict[str, Any] = {"rollouts": 8, "child_limit": limit, "depth": 2}
    result, rewritten = await refined(["r"], {"r": ["a", "b", "c", "d", "e", "f", "g", "h"]}, rewards, other=-100, **settings)
    assert rewritten == ["r"] * rewrites
    assert result.stop_reason == ("exhausted" if rewrites < 8 else "budget:rollouts")


async def test_equal_q_is_not_better() -> None:
    result, _ = await refined(
        ["r"], {"r": ["a", "b"]}, {"r": [50], "a": [50], "b": [50]}, other=-100, rollouts=2, exploration=0, child_limit=1
    )
    assert [node.thought for node in find(result, "r").children] == ["a", "b"], "at the limit, but no child has a higher Q"


async def test_greedy_takes_the_highest_uct_and_importance_draws_in_proportion() -> None:
    counts = {"greedy": 0, "importance": 0}
    for choice in counts:
        for seed in range(60):
            generate = Told(["r", "s"], {})
            search = SelfRefineSearch(rollouts=1, roots=2, patience=0, exploration=0, choice=choice)  # type: ignore[arg-type]
            method = Method(generate=generate, evaluate=Graded({"r": [50], "s": [-50]}), search=search, window=1)
            await solve(Answers(), method, FakeModel(silent), seed=seed)
            counts[choice] += generate.rewritten == ["r"]
    assert counts["greedy"] == 60
    assert 33 <= counts["importance"] <= 56, "0.75 to 0.25"


async def test_patience_ends_it_where_nothing_gets_better() -> None:
    result, rewritten = await refined(["r"], {}, {"r": [50]}, other=-50, rollouts=20, patience=3)
    assert (len(rewritten), result.stop_reason) == (3, "exhausted")
    assert any("stopped after 3 of 20 rollouts: no better or new answer" in warning for warning in result.warnings)


async def test_patience_ends_it_at_the_same_answer_again_also_the_root_s() -> None:
    for text in ("r", "a"):
        for merge in (True, False):
            rewards: dict[str, list[float]] = {"r": [0, 10, 20, 30, 40, 50, 60], "a": [0, 10, 20, 30, 40, 50, 60]}
            result, rewritten = await refined(
                ["r"], {"r": ["a", *[text] * 9], "a": [text] * 9}, rewards, rollouts=20, patience=2, merge=merge
            )
            assert len(rewritten) == 3, (text, merge)
            assert result.stop_reason == "exhausted"


async def test_depth_and_rollouts_end_it() -> None:
    result, rewritten = await refined(["r"], {}, {"r": [0]}, rollouts=3)
    assert (len(rewritten), result.stop_reason) == (3, "budget:rollouts")
    result, rewritten = await refined(["r"], {"r": ["a"]}, {"r": [0], "a": [50]}, rollouts=30, depth=2, child_limit=1)
    assert (rewritten, result.stop_reason) == (["r"], "exhausted")
    assert max(node.depth for node in result.tree) == 2
    assert any("nothing is left to refine" in warning for warning in result.warnings)


async def test_the_model_s_confidence_ends_it() -> None:
    result, rewritten = await refined(["r"], {"r": ["a"], "a": ["b"]}, {"r": [0], "a": [50], "b": [80]}, rollouts=9, stop_confidence=0.9,
                                      exploration=0, confidence={"a": 0.5, "b": 0.95})  # fmt: skip
    assert (rewritten, result.stop_reason) == (["r", "a"], "exhausted")
    assert any("95% confident" in warning for warning in result.warnings)


async def test_the_confidence_is_the_mean_probability_of_the_tokens_that_were_drawn() -> None:
    from branchwise.model.base import Reply, Request, Sample

    class Sure(FakeModel):
        async def sample(self, request: Request) -> Reply:
            tops = ({"so": -0.1}, {"it": -0.2, "he": -0.05}) if request.logprobs else None
            return Reply((Sample("so it", logprobs=tops),))

    generate = SelfRefine(confident=True)
    (found,) = (await generate(Sure(silent), Toy(0), ("x",), 1)).thoughts
    assert found.confidence == pytest.approx(math.exp(-0.15))
    (found,) = (await SelfRefine()(Sure(silent), Toy(0), ("x",), 1)).thoughts
    assert found.confidence is None
    with pytest.raises(Unsupported, match="log-probabilities"):
        await generate(FakeModel(lambda request, i: "text"), Toy(0), ("x",), 1)
    with pytest.raises(MethodError, match="selfrefine × stop_confidence"):
        Method(generate=SelfRefine(), evaluate=SelfReward(), search=SelfRefineSearch(stop_confidence=0.9))


def test_the_preset_asks_for_log_probabilities_only_where_they_can_end_it() -> None:
    off, on = methods.mctsr(), methods.mctsr(stop_confidence=0.9)
    assert isinstance(off.generate, SelfRefine)
    assert isinstance(on.generate, SelfRefine)
    assert (off.generate.confident, on.generate.confident) == (False, True)
    assert isinstance(on.search, SelfRefineSearch)
    assert on.search.stop_confidence == 0.9


TREE = {"r": ["a", "b"], DUMMY: ["a"]}


async def test_three_ways_to_choose_the_answer() -> None:
    """r 20 is visited most; b has the best Q'; "a" was given twice. Only the roots are refined (depth 2): r, r, then the dummy."""
    rewards = {"r": [20.0], "a": [10.0], "b": [30.0], DUMMY: [-50.0]}
    settings: dict[str, Any] = {"rollouts": 3, "exploration": 0.6, "depth": 2}
    found = {}
    for pick in (best_refined, most_visited, majority):
        result, rewritten = await refined(["r", DUMMY], TREE, rewards, pick=pick, **settings)
        found[pick.__name__] = result.answer
        assert rewritten == ["r", "r", DUMMY]
    assert found == {"best_refined": "b", "most_visited": "r", "majority": "a"}


@pytest.mark.parametrize("pick", [best_refined, most_visited, majority])
async def test_a_dummy_root_never_answers_where_there_is_another_answer(pick: Any) -> None:
    result, _ = await refined(["r", DUMMY], {}, {"r": [-80], DUMMY: [90]}, other=-100, rollouts=4, pick=pick)
    assert result.answer is not None
    assert result.answer != DUMMY
    result, _ = await refined([DUMMY], {DUMMY: [""]}, {DUMMY: [90]}, rollouts=1, pick=pick)
    assert result.answer == DUMMY, "but it is better than nothing"


async def test_a_rewrite_that_is_merged_fills_a_child_slot() -> None:
    """Limit 1. r's rewrite is s again (merged); s' 60 is better than s. r has no child of its own, so it stays a candidate by the second
    half of
    the rule; with a better child born to it, it is closed, though only one slot of two was filled by a birth."""
    result, rewritten = await refined(["r", "s"], {"r": ["s", "a", "b"]}, {"r": [50], "s": [-90], "a": [60]}, other=-100, rollouts=3,
    exploration=0,
                                      child_limit=2, merge=True)  # fmt: skip
    assert rewritten[:2] == ["r", "r"]
    assert rewritten[2] == "a", "two slots are full: one by the merged rewrite"
    assert result.tree.counts().merged == 1
    assert len(find(result, "r").children) == 1


async def test_golden_tree() -> None:
    """Roots r 20 and the dummy -60, greedy, c = 0.1 (20 points), limit 2. In points: UCT = Q' + 20·sqrt((ln N(father) + 1) / N);
    N(father) of a root
    is the total. Mapped values are half of that plus 50, so comparisons stay.

    1  total 2: r 20 + 20·sqrt(1.693) = 46.0; dummy -60 + 26.0 = -34: r; again 20; rewrite a 40; Q'(r) = ½(20 + 40) = 30
    2  total 4, N(r) = 2: r 30 + 20·sqrt(2.386 / 2) = 51.8; a (father r, N 2): 40 + 20·sqrt(1.693) = 66.0; dummy -60 + 30.9 = -29: a
       again 0: R = {40, 0}, Q(a) = ½(0 + 20) = 10; rewrite b 10: Q'(a) = ½(10 + 10) = 10; Q'(r) = ½(20 + 10) = 15
    3  total 6, N(r) = 2, N(a) = 2: r 15 + 20·sqrt(2.792 / 2) = 38.6; a 10 + 20·sqrt(1.693 / 2) = 28.4; b (father a, N 2) 10 + 26.0 =
    36.0: r
       again 20; rewrite c 50: r is fully expanded (two children, and c's Q is higher); Q'(r) = ½(20 + 50) = 35
    4  total 8: candidates: dummy -60 + 20·sqrt(3.079) = -24.9; a (N(r) = 3) 10 + 20·sqrt(2.099 / 2) = 30.5; b 36.0; c 50 + 20·sqrt(2.099)
    = 79: c
    """
    rewards = {"r": [20.0], DUMMY: [-60.0], "a": [40.0, 0.0], "b": [10.0], "c": [50.0]}
    rewrites = {"r": ["a", "c"], "a": ["b"], "c": ["d"]}
    result, rewritten = await refined(["r", DUMMY], rewrites, rewards, rollouts=4, other=-100)
    assert rewritten == ["r", "a", "r", "c"]
    values = {node.thought: quality(node) for node in result.tree}
    assert values == {text: pytest.approx(unit(q)) for text, q in {"r": 20, DUMMY: -60, "a": 10, "b": 10, "c": 50, "d": -100}.items()}
