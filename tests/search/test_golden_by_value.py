"""Golden trees of the searches that choose by value, each worked through by hand; window 1, so that every choice sees every value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from branchwise import (
    COMPLETE,
    SOLVED,
    Adaptive,
    AStar,
    BestFirst,
    Budget,
    Mcts,
    Method,
    Node,
    Result,
    Staged,
    State,
    best_path,
    dead,
    hints,
    last,
    solve,
)
from branchwise.search.beam import Beam
from branchwise.search.then_refine import ThenRefine
from support.frontiers import Driver
from support.models import FakeModel, Known, Listed, silent
from support.worlds import Drawn


def drawn(values: dict[str, float | None], statuses: dict[str, Any] | None = None) -> Drawn:
    """A tree whose states are strings of letters: "ab" is a child of "a"."""
    children: dict[State, list[str]] = {}
    for word in values:
        children.setdefault(tuple(word[:-1]), []).append(word[-1])
    named = {tuple(word): status for word, status in (statuses or {}).items()}
    return Drawn(children, {tuple(word): value for word, value in values.items()}, named)


async def searched(problem: Drawn, search: Any, *, window: int | None = 1, **settings: Any) -> tuple[Result, list[str]]:
    """The result, and the states in the order in which they were expanded."""
    expanded: list[str] = []

    class Noted(Listed):
        async def __call__(self, model: Any, problem: Any, state: State, k: int) -> Any:
            expanded.append("".join(state))
            return await super().__call__(model, problem, state, k)

    method = Method(generate=Noted(k=settings.pop("k", 9)), evaluate=Known(), search=search, window=window, **settings)
    return await solve(problem, method, FakeModel(silent)), expanded


def named(nodes: Sequence[Node]) -> list[str]:
    return ["".join(node.state) for node in nodes]


THREE = {
    "a": 0.75, "b": 0.72, "c": 0.5,
    "ap": 0.82, "aq": 0.70, "ar": 0.68, "bp": 0.78, "bq": 0.65, "br": 0.2, "cp": 0.39, "cq": 0.2, "cr": 0.1,
}  # fmt: skip


async def test_best_first_golden_tree_of_the_specification() -> None:
    """Three directions 0.75, 0.72 and 0.5; threshold 0.4, depth 2.

    Expand x; the best open node is a (0.75), then b (0.72), then c (0.5); nodes of depth 2 are not expanded.
    Children of c are 0.39, 0.2, 0.1: all under 0.4, pruned, and so is br. Best path: a, ap with (0.75 + 0.82) / 2 = 0.785;
    b, bp has (0.72 + 0.78) / 2 = 0.75.
    """
    result, expanded = await searched(drawn(THREE), BestFirst(depth=2, prune_below=0.4), pick=best_path)
    assert expanded == ["", "a", "b", "c"]
    assert named([node for node in result.tree if node.fate == "pruned"]) == ["br", "cp", "cq", "cr"]
    assert named([result.node]) == ["ap"]  # type: ignore[list-item]
    assert hints.confidence(result.node) == pytest.approx(0.785)
    assert result.stop_reason == "exhausted"


async def test_best_first_jumps_across_the_tree_and_breaks_ties_by_birth() -> None:
    """a 0.5, b 0.6; b's children 0.4 and 0.5: the next is a (0.5, born before bb); then bb, then a's child ac 0.45, then ba 0.4; d
    unknown last."""
    problem = drawn({"a": 0.5, "b": 0.6, "d": None, "ba": 0.4, "bb": 0.5, "ac": 0.45, "bbx": 0.1, "acx": 0.1, "bax": 0.1, "dx": 0.1})
    _, expanded = await searched(problem, BestFirst(depth=3, prune_below=0.3))
    assert expanded == ["", "b", "a", "bb", "ac", "ba", "d"]


@pytest.mark.parametrize("window", [1, 8])
async def test_backtracking_expands_the_three_best_open_nodes_off_a_weak_best_path(window: int) -> None:
    """k = 3, 18 nodes, the last 9 for going back. x gives a 0.45, b 0.4, c 0.35 (3 nodes); a gives 0.47, 0.46, 0.3 (6); then the best
    open is
    am 0.47, which gives three (9). Now 9 places are left: the best path is a, am, amx = (0.45 + 0.47 + 0.49) / 3 = 0.47 < 0.5, so amx,
    though it
    is the best open node, is set aside with its path, and an 0.46, b 0.4 and c 0.35 are expanded.

    With steps in flight, a, b and c have gone out at once; the last nine places then go to nodes off the best path too.
    """
    values = {
        "a": 0.45, "b": 0.4, "c": 0.35, "am": 0.47, "an": 0.46, "ao": 0.3, "amx": 0.49, "amy": 0.3, "amz": 0.3, "anx": 0.3, "any": 0.3,
        "anz": 0.3, "bx": 0.3, "by": 0.3, "bz": 0.3, "cx": 0.3, "cy": 0.3, "cz": 0.3, "amxx": 0.9,
    }  # fmt: skip
    search = BestFirst(depth=4, prune_below=0.3, max_nodes=18, backtrack=True)
    result, expanded = await searched(drawn(values), search, window=window, k=3)
    assert len(result.tree) <= 18
    if window == 1:
        assert expanded == ["", "a", "am", "an", "b", "c"]
    assert "amx" not in expanded
    _, expanded = await searched(drawn(values), replace(search, backtrack=False), k=3)
    assert expanded == ["", "a", "am", "amx", "an", "b", "c"][: len(expanded)]
    assert "amx" in expanded


async def test_backtracking_keeps_three_times_k_places_also_where_the_first_step_brought_one_thought() -> None:
    """k = 3, 12 nodes, the last 9 for going back, though x gives only a 0.45. a gives b 0.46, c 0.45, d 0.44: 4 nodes, 4 + 9 > 12: late.

    The best path is a, b = 0.455 < 0.5, so c, d are expanded (7 and 10 nodes), then b, as no other is left off it. Without it b comes first.
    """
    values = {"a": 0.45, "ab": 0.46, "ac": 0.45, "ad": 0.44} | {f"a{one}{end}": 0.4 for one in "bcd" for end in "xyz"}
    search = BestFirst(depth=3, prune_below=0.3, max_nodes=12, backtrack=True)
    assert (await searched(drawn(values), search, k=3))[1] == ["", "a", "ac", "ad", "ab"]
    assert (await searched(drawn(values), replace(search, backtrack=False), k=3))[1] == ["", "a", "ab", "ac", "ad"]


async def test_backtracking_looks_at_the_end_of_the_path_not_at_its_best_inner_node() -> None:
    """a 0.8 alone would be confident; its only children are 0.1 and 0.1, so the best path ends at 0.45: b and c are given their turn."""
    values = {"a": 0.8, "b": 0.2, "c": 0.15, "ap": 0.1, "aq": 0.1, "bp": 0.05, "bq": 0.05, "cp": 0.05, "apx": 0.1, "aqx": 0.1}
    search = BestFirst(depth=3, prune_below=0.0, max_nodes=14, backtrack=True)
    _, expanded = await searched(drawn(values), search, k=3)
    assert expanded[:4] == ["", "a", "b", "c"]


async def test_a_star_by_unit_cost() -> None:
    """T = 3. f = g + (1 - V)·steps left. a 0.5: 1 + 0.5·2 = 2; b 0.4: 1 + 0.6·2 = 2.2. Expand a: ap 0.1: 2 + 0.9 = 2.9; aq 0.7: 2 + 0.3 =
    2.3.
    The lowest is b (2.2), whose child bp 0.9 has 2.1; then bp; then aq (2.3), then ap."""
    problem = drawn({"a": 0.5, "b": 0.4, "ap": 0.1, "aq": 0.7, "bp": 0.9, "bpx": 0.5, "aqx": 0.5, "apx": 0.5})
    _, expanded = await searched(problem, AStar(depth=3))
    assert expanded == ["", "a", "b", "bp", "aq", "ap"]


async def test_a_star_by_log_cost() -> None:
    """f = -log of the product of the values on the path, the last one twice. a 0.9: 0.81; b 0.8: 0.64; ap 0.7: 0.9·0.49 = 0.441; aq 0.9:
    0.729;
    bp 0.95: 0.8·0.9025 = 0.722. The order by falling product: a 0.81, aq 0.729, b 0.64, bp 0.722 (born late), ap."""
    problem = drawn({"a": 0.9, "b": 0.8, "ap": 0.7, "aq": 0.9, "bp": 0.95, "aqx": 0.5, "bpx": 0.5, "apx": 0.5})
    _, expanded = await searched(problem, AStar(depth=3, cost_model="log"))
    assert expanded == ["", "a", "aq", "b", "bp", "ap"]


async def test_mcts_uct_by_hand() -> None:
    """c = 1, T = 3, mean. Each rollout: the way down, then what goes up.

    1  x (N=0): children a 0.8, b 0.6; up 0.7: Q(x) = 0.7, N(x) = 1
    2  a, b unvisited, a is better: am 0.2, an 0.4; up 0.3: N(a) = 1, Q(a) = 0.3, N(x) = 2
    3  b unvisited: bm 0.5, bn 0.9; up 0.7: N(b) = 1, Q(b) = 0.7, N(x) = 3
    4  UCT(a) = 0.3 + sqrt(ln 3 / 1) = 1.348; UCT(b) = 0.7 + 1.048 = 1.748: b, then bn (0.9 > 0.5): bnx 0.1; up 0.1: Q(b) = (0.7 + 0.1) /
    2 = 0.4
    5  N(x) = 4: UCT(a) = 0.3 + sqrt(ln 4) = 1.477; UCT(b) = 0.4 + sqrt(ln 4 / 2) = 1.233: a, then an: anx 1.0; up 1.0: Q(a) = 0.65
    6  N(x) = 5: UCT(a) = 0.65 + sqrt(ln 5 / 2) = 1.547; UCT(b) = 0.4 + 0.897 = 1.297: a; an is full, am: nothing new; up its own 0.2
       Q(a) = (0.3 + 1.0 + 0.2) / 3 = 0.5; every child of a is finished
    7  only b is left, and of it bm: its child bmx 0.5
    Then the tree is full: exhausted, 3 of 10 rollouts are not run.
    """
    values = {"a": 0.8, "b": 0.6, "am": 0.2, "an": 0.4, "bm": 0.5, "bn": 0.9, "bnx": 0.1, "anx": 1.0, "bmx": 0.5}
    result, expanded = await searched(drawn(values), Mcts(rollouts=10, exploration=1.0, depth=3))
    assert expanded == ["", "a", "b", "bn", "an", "am", "bm"]
    assert result.stop_reason == "exhausted"
    assert "3 of 10 rollouts were not run: the tree is full" in result.warnings


def test_mcts_backs_up_the_mean_or_the_best_of_the_new_children() -> None:
    for backup, q in (("mean", 0.5), ("max", 0.9)):
        driver = Driver(Mcts(rollouts=1, backup=backup))  # type: ignore[arg-type]
        frontier: Any = driver.frontier
        _expand(driver, {"a": 0.1, "b": 0.9})
        assert frontier._q(driver.tree.root) == pytest.approx(q)


def _expand(driver: Driver, children: dict[str, float | None], statuses: dict[str, str] | None = None) -> None:
    from branchwise.trace import Birth, Expanded, Judgement

    step, number = driver.pending.pop(0), len(driver.tree.nodes)
    births = [Birth(number + i, i, name, (statuses or {}).get(name, "open")) for i, name in enumerate(children)]
    driver._tell(Expanded(1, step.node.birth, births, judgements=[Judgement(number + i, v) for i, v in enumerate(children.values())]))


async def test_puct_by_hand() -> None:
    """c = 1. x gives a 0.6, b 0.3, c 0.1 (priors the same, as they add up to 1).

    1  x: N(x) = 1
    2  a: Q 0.6 + 0.6·sqrt(1)/1 = 1.2; b: 0.6; c: 0.2: a: am 0.0; Q(a) = 0, N(a) = 1, N(x) = 2
    3  a: 0 + 0.6·1.414/2 = 0.424; b: 0.3 + 0.3·1.414 = 0.724; c: 0.1 + 0.141: b: bm 0.5; N(x) = 3
    4  a: 0.6·1.732/2 = 0.52; b: 0.5 + 0.3·1.732/2 = 0.76: b, then bm
    """
    values = {"a": 0.6, "b": 0.3, "c": 0.1, "am": 0.0, "bm": 0.5, "bmx": 0.5, "amx": 0.5, "cm": 0.5}
    _, expanded = await searched(drawn(values), Mcts(rollouts=4, depth=3, puct=True))
    assert expanded == ["", "a", "b", "bm"]


async def test_mcts_max_remembers_the_best() -> None:
    """As above, but the maximum goes up: a once had 0.4, then 1.0 below an; after that a keeps 1.0 and b 0.9."""
    values = {"a": 0.8, "b": 0.6, "am": 0.2, "an": 0.4, "bm": 0.5, "bn": 0.9, "bnx": 0.1, "anx": 1.0, "bmx": 0.5}
    _, expanded = await searched(drawn(values), Mcts(rollouts=7, exploration=0.0, depth=3, backup="max"))
    assert expanded == ["", "a", "b", "bn", "bm", "an", "am"], "without exploration b (0.9) is finished before a (0.4) is gone on with"


async def test_then_refine_rewrites_the_best_kept_answer_until_it_stays() -> None:
    """Beam of 1: p 0.3, q 0.6 complete; q is kept, rewritten to q1, that to q2, and that gives nothing more."""
    problem = drawn({"p": 0.3, "q": 0.6, "qr": None, "qrs": None}, dict.fromkeys(("p", "q", "qr", "qrs"), COMPLETE))

    class Rewriter(Listed):
        rewrites = True

    generate = Staged(open=Listed(), complete=Rewriter())
    for rounds, answer, stop in ((1, "qr", "max_depth"), (2, "qrs", "max_depth"), (5, "qrs", "exhausted")):
        method = Method(generate=generate, evaluate=Known(), search=ThenRefine(first=Beam(breadth=1, depth=1), rounds=rounds), pick=last)
        result = await solve(problem, method, FakeModel(silent))
        assert (named([result.node]), result.stop_reason) == ([answer], stop)  # type: ignore[list-item]


class Fixed:
    """Chance that is written down: draws of Beta in order, with the parameters noted; uniform numbers are 0.5."""

    def __init__(self, *draws: float) -> None:
        self.draws, self.asked = list(draws), []  # type: ignore[var-annotated]

    def betavariate(self, alpha: float, beta: float) -> float:
        self.asked.append((alpha, beta))
        return self.draws.pop(0)

    def random(self) -> float:
        return 0.5


def test_adaptive_by_hand() -> None:
    """Prior ½, ½. 1: x has no child, so wider, no draw: a 0.75.
    2: wider Beta(½ + 0.75, ½ + 0.25) draws 0.2; deeper has seen nothing: Beta(½, ½) draws 0.9: deeper; the only child a draws from
       Beta(½ + 0.75, ½ + 0.25). At a: no child, so wider: ab 0.25; up: wider(a), itself(a), deeper(x) get 0.25.
    3: wider draws 0.8 from the same; deeper from Beta(½ + 0.25, ½ + 0.75) draws 0.7: wider: b 1.0; wider(x) is now 1.75 of 2.
    4: wider Beta(½ + 1.75, ½ + 0.25); deeper wins; a draws 0.9 from Beta(½ + 1.0, ½ + 1.0). b has Beta(½ + 1.0, ½ + 0.0); above 0.9 it
    lies under
       a mass of 0.1^½ / (½·B(1.5, 0.5)) = 0.316 / 0.785 = 0.40, and the uniform number 0.5 is above that: b does not win, and is not drawn.
       At a wider Beta(½ + 0.25, ½ + 0.75) draws 0.1, deeper, which has seen nothing, 0.6 from Beta(½, ½); the only child is ab; there
       wider.
    """
    rng = Fixed(0.2, 0.9, 0.5, 0.8, 0.7, 0.1, 0.3, 0.9, 0.1, 0.6, 0.4)
    driver = Driver(Adaptive(rollouts=4, depth=3), None)
    driver.frontier._rng = rng  # type: ignore[attr-defined]
    frontier: Any = driver.frontier
    driver.pending = driver.pending[:1]
    frontier.__init__(Adaptive(rollouts=4, depth=3), driver.tree, rng)
    driver.pending, driver._ask = [frontier.ask()], lambda: None  # type: ignore[method-assign]
    where = []
    for children in ({"a": 0.75}, {"b": 0.25}, {"b": 1.0}, {"c": 0.5}):
        where.append("".join(driver.pending[0].node.state))
        _expand(driver, children)  # type: ignore[arg-type]
        driver.pending = [frontier.ask()]
    assert where == ["", "a", "", "ab"]
    half = 0.5
    assert rng.asked == [
        (half + 0.75, half + 0.25), (half, half), (half + 0.75, half + 0.25),
        (half + 0.75, half + 0.25), (half + 0.25, half + 0.75),
        (half + 1.75, half + 0.25), (half + 0.25, half + 0.75), (half + 1.0, half + 1.0),
        (half + 0.25, half + 0.75), (half, half), (half + 0.25, half + 0.75),
    ]  # fmt: skip
    assert frontier.ended == "budget:rollouts"


def test_adaptive_reopens_a_node_that_was_closed_while_its_last_child_was_on_its_way() -> None:
    """All steps go below a. Three come back empty, so a is closed; the fourth, issued before that, brings a child: the way to it is
    open."""
    rng = Fixed(*[0.1, 0.9, 0.5] * 4)
    search = Adaptive(rollouts=40, depth=4)
    driver = Driver(search, None)
    frontier: Any = driver.frontier
    frontier.__init__(search, driver.tree, rng)
    driver.pending, driver._ask = [frontier.ask()], lambda: None  # type: ignore[method-assign]
    _expand(driver, {"a": 0.5})
    driver.pending = [frontier.ask() for _ in range(4)]
    assert named([step.node for step in driver.pending]) == ["a"] * 4
    for _ in range(3):
        _expand(driver, {})
    assert not frontier._arms[1].wide
    _expand(driver, {"b": 0.5})
    assert (frontier._arms[0].open, frontier._arms[1].open) == (1, 1)
    for _ in range(3):
        rng.draws = [0.1, 0.9, 0.5, 0.5]
        driver.pending = [frontier.ask()]
        assert named([driver.pending[0].node]) == ["ab"]
        _expand(driver, {})
    assert (frontier._arms[0].open, frontier._arms[1].open) == (0, 0)
    assert frontier.ask() is not None, "wider at the root is all that is left"


# Cases 40 to 54, as kinds.


async def test_a_selection_descends_level_by_level_to_a_leaf() -> None:
    """Case 40: a chain whose best leaf is at depth 3; visits on the path grow by one each."""
    problem = drawn({"a": 0.9, "ab": 0.9, "abc": 0.9, "abcd": 0.9})
    for search in (Mcts(rollouts=4, depth=9), BestFirst(depth=9, max_nodes=None), AStar(depth=9)):
        _, expanded = await searched(problem, search)
        assert expanded[:4] == ["", "a", "ab", "abc"]
    driver = Driver(Mcts(rollouts=3, depth=9))
    frontier: Any = driver.frontier
    for name in "abc":
        _expand(driver, {name: 0.9})
    assert frontier._visits == [3, 2, 1, 0]


async def test_a_good_grandchild_under_a_poor_child_waits_for_the_better_sibling() -> None:
    """Case 41: UCT is compared among siblings only. a 0.1 with the child ax 1.0; b 0.5. mcts goes to b; best-first, asked for by name, to
    ax."""
    values = {"a": 0.6, "b": 0.5, "ax": 1.0, "ay": 0.0, "az": 0.0, "bx": 0.5, "axx": 0.5, "bxx": 0.5}
    _, expanded = await searched(drawn(values), Mcts(rollouts=4, depth=3, exploration=0.1))
    assert expanded[:4] == ["", "a", "b", "bx"], "Q(a) = 1/3 stays behind Q(b) = 0.5, whatever stands under a"
    _, expanded = await searched(drawn(values), BestFirst(depth=3, max_nodes=None))
    assert expanded[:3] == ["", "a", "ax"]


async def test_values_go_to_the_children_that_they_were_given_for() -> None:
    """Case 42: a terminal child first; it keeps its own value, and A and B theirs."""
    values = {"t": None, "A": 0.1, "B": 0.9, "Bx": 0.2, "Ax": 0.2}
    for status, own in ((dead("over"), 0.0), (COMPLETE, None), (SOLVED, 1.0)):
        for search in (Mcts(rollouts=3), BestFirst(prune_below=0.0), AStar(), Adaptive(rollouts=3)):
            result, _ = await searched(drawn(values, {"t": status}), search, stop_when_solved=False)
            found = {"".join(node.state): node.value for node in result.tree}
            assert found.get("t", own) == own
            assert found.get("A", 0.1) == 0.1
            assert found.get("B", 0.9) == 0.9


@pytest.mark.parametrize("search", [Mcts(rollouts=50, depth=3), BestFirst(depth=3, prune_below=0.0, max_nodes=None), AStar(depth=3)])
async def test_a_full_tree_ends_the_search_and_what_was_not_run_is_reported(search: Any) -> None:
    """Case 44: one child a step, three levels, 50 rollouts."""
    for window in (1, 8):
        result, expanded = await searched(drawn({"a": 0.5, "ab": 0.5, "abc": 0.5, "abcd": 0.5}), search, window=window)
        assert (result.stop_reason, expanded) == ("exhausted", ["", "a", "ab"])
        if isinstance(search, Mcts):
            assert "47 of 50 rollouts were not run: the tree is full" in result.warnings


async def test_adaptive_ends_where_nothing_new_comes() -> None:
    result, expanded = await searched(drawn({"a": 0.5}), Adaptive(rollouts=50, depth=2))
    assert result.stop_reason == "exhausted"
    assert len(expanded) < 50
    assert any("rollouts were not run: nothing new comes" in warning for warning in result.warnings)


async def test_a_proven_value_replaces_the_estimate() -> None:
    """Case 47: a and b at depth 1 of 2, both 0.5; a wins, b loses. Once each was visited, a is worth 1 and b 0."""
    problem = drawn({"a": 0.5, "b": 0.5, "aw": 0.5, "bl": 0.5}, {"aw": SOLVED, "bl": dead("lost")})
    for backup in ("mean", "max"):
        search = Mcts(rollouts=3, depth=2, backup=backup)  # type: ignore[arg-type]
        driver = Driver(search)
        _expand(driver, {"a": 0.5, "b": 0.5})
        _expand(driver, {"w": 1.0}, {"w": "solved"})
        _expand(driver, {"l": 0.0}, {"l": "dead"})
        frontier: Any = driver.frontier
        assert [frontier._q(node) for node in driver.tree.nodes[1:3]] == [1.0, 0.0]
        result, _ = await searched(problem, search, stop_when_solved=False)
        assert result.solved
        stopped, expanded = await searched(problem, search)
        assert (stopped.stop_reason, expanded) == ("solved", ["", "a"]), "and the run ends by it"


async def test_a_complete_answer_is_chosen_before_an_unfinished_state() -> None:
    """Case 50: of six last states one is complete, and it is valued least."""
    values = {"a": 0.5, "b": 0.5, "ap": 0.9, "aq": 0.9, "ar": 0.9, "bp": 0.9, "bq": 0.2, "br": 0.9}
    for search in (Mcts(depth=2), BestFirst(depth=2, prune_below=0.0), AStar(depth=2), Adaptive(rollouts=60, depth=2)):
        result, _ = await searched(drawn(values, {"bq": COMPLETE}), search)
        if any("".join(node.state) == "bq" for node in result.tree):
            assert (result.answer, result.unfinished) == ("q", result.stop_reason.startswith("budget:"))
        result, _ = await searched(drawn(values), search)
        assert result.unfinished, "no state is complete, and it is said"


@pytest.mark.parametrize("search", [Mcts(rollouts=400), BestFirst(max_nodes=None, depth=50), AStar(depth=50), Adaptive(rollouts=400)])
async def test_a_judge_that_wants_one_more_check_for_ever_does_not_keep_the_run_going(search: Any) -> None:
    """Case 51: "verify again" is rated 0.8 and the finish 0.2, whatever was said. Equal states are one; the program says what is
    finished."""

    class Again(Drawn):
        def key(self, state: State) -> object:
            return frozenset(state)

    children = {("verify",) * n: ["finish", "verify"] for n in range(60)}
    values = {(*("verify",) * n, word): {"finish": 0.2, "verify": 0.8}[word] for n in range(60) for word in ("finish", "verify")}
    statuses = {(*("verify",) * n, "finish"): COMPLETE for n in range(60)}
    method = Method(generate=Listed(k=2), evaluate=Known(), search=search)
    result = await solve(Again(children, values, statuses), method, FakeModel(silent), budget=Budget(nodes=500))  # type: ignore[arg-type]
    assert result.stop_reason == "exhausted"
    assert result.answer == "finish"
    assert len(result.tree) <= 3
    assert result.tree.counts().merged >= 1


@pytest.mark.parametrize("search", [Mcts(rollouts=4), BestFirst(), AStar(), Adaptive(rollouts=9)])
async def test_one_score_for_all_is_said_and_ties_go_to_the_earlier_birth(search: Any) -> None:
    """Case 53."""
    values: dict[str, float | None] = dict.fromkeys(("a", "b", "c", "d", "ap", "aq", "bp", "cp"), 0.5)
    result, expanded = await searched(drawn(values), search)
    if not isinstance(search, Adaptive):
        assert expanded[:2] == ["", "a"]
        assert any("no signal" in warning for warning in result.warnings)


@pytest.mark.parametrize("search", [Mcts(rollouts=4), BestFirst(), AStar(), Adaptive(rollouts=9)])
async def test_equal_states_are_one_node_and_the_merge_is_counted(search: Any) -> None:
    """Case 54: 5 · 4 and 4 · 5 leave the same."""

    class Commutes(Drawn):
        def key(self, state: State) -> object:
            return tuple("".join(sorted(word)) for word in state)

    problem = Commutes({(): ["4*5", "5*4", "4+5"]}, {("4*5",): 0.5, ("5*4",): 0.5, ("4+5",): 0.5})
    result = await solve(problem, Method(generate=Listed(k=3), evaluate=Known(), search=search), FakeModel(silent))
    assert named(list(result.tree))[:1] == ["4*5"]
    if not isinstance(search, Adaptive):
        assert named(list(result.tree)) == ["4*5", "4+5"]
        assert result.tree.counts().merged == 1
        assert result.tree.nodes[1].arrivals == 2


def test_the_cost_of_a_worthless_state_is_finite() -> None:
    driver = Driver(AStar())
    _expand(driver, {"a": 0.0})
    assert math.isfinite(AStar(cost_model="log").cost(driver.tree.nodes[1], 0.0)[0])
