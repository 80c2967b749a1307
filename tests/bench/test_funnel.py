"""The coverage funnel, against a count by hand and against a second, plainer program."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

from branchwise import Fate, Tree
from branchwise.bench.funnel import Funnel, Game24Truth, Level, funnel
from branchwise.bench.imported import import_log
from branchwise.bench.traces import Traced, read_folder
from branchwise.trace import Birth, Expanded, Mark, Marked
from support.data import shared

HAND = "4 9 10 13"
GOOD, ALSO, BAD = "13 - 9 = 4 (left: 4 4 10)", "10 - 4 = 6 (left: 6 9 13)", "9 * 13 = 117 (left: 4 10 117)"


def run(steps: list[tuple[int, list[str], list[int]]], chosen: int | None = None) -> Traced:
    """A tree from (parent, thoughts, places kept); the rest is pruned."""
    tree, size = Tree(), 1
    for number, (parent, thoughts, kept) in enumerate(steps, 1):
        births = [Birth(size + i, i, thought) for i, thought in enumerate(thoughts)]
        size += len(births)
        tree.apply(Expanded(number, parent, births))
        tree.apply(Marked([Mark(birth.node, "kept" if i in kept else "pruned") for i, birth in enumerate(births)]))
    return Traced(Path("x"), HAND, tree, None if chosen is None else tree.nodes[chosen], None, None, {})


WON = run([(0, [GOOD, BAD], [0]), (1, ["10 - 4 = 6 (left: 4 6)"], [0]), (3, ["4 * 6 = 24 (left: 24)"], [0])], 4)
PRUNED = run([(0, [GOOD, BAD], [1]), (2, ["10 + 4 = 14 (left: 14 117)"], [0])], 3)
NEVER = run([(0, [BAD], [0])], 1)
SECOND = run([(0, [ALSO], [0]), (1, ["6 + 9 = 15 (left: 13 15)"], [0])], 2)
NOT_PICKED = run(
    [(0, [GOOD, BAD], [0, 1]), (1, ["10 - 4 = 6 (left: 4 6)"], [0]), (3, ["4 * 6 = 24 (left: 24)", "4 + 6 = 10 (left: 10)"], [0, 1])], 5
)
UNWRITTEN = run(
    [(0, [GOOD], [0]), (1, ["10 - 4 = 6 (left: 4 6)"], [0]), (2, ["4 * 6 = 24 (left: 24)"], [0]), (3, ["Answer: 4 * 6 = 24"], [0])], 4
)
NOTHING = run([])


def test_each_stage_and_each_loss_is_counted_once() -> None:
    found = funnel([WON, PRUNED, NEVER, SECOND, NOT_PICKED, UNWRITTEN, NOTHING], Game24Truth())
    assert found == Funnel(
        items=7, generated=3, kept=3, final=2, chosen=1,
        levels=(Level(1, 5, 4), Level(2, 3, 3), Level(3, 3, 3), Level(4, 3, 3)),
        lost={
            "answer: a right state was kept, and no right answer came of it": 1,
            "pick: a right final state was not chosen": 1,
            "step 1, evaluator: generated and pruned": 1,
            "step 1, generator: never generated": 2,
            "step 2, generator: never generated": 1,
        },
    )  # fmt: skip
    assert found.shares() == {"generated": 3 / 7, "kept": 3 / 7, "final": 2 / 7, "chosen": 1 / 7}


def test_what_nothing_was_decided_about_is_lost_to_the_limit_and_not_to_the_evaluator() -> None:
    cut = run([(0, [GOOD, BAD], [1])])
    cut.tree.nodes[1].fate = Fate.UNDECIDED
    cut.tree.nodes[2].fate = Fate.UNDECIDED
    assert funnel([cut], Game24Truth()).lost == {"step 1, limit: generated, and the run ended before it was decided about": 1}


def test_what_is_chosen_was_kept_and_final_whatever_was_decided_about_it() -> None:
    tree = Tree()
    tree.apply(Expanded(1, 0, [Birth(1, 0, "Answer: (13 - 9) * (10 - 4) = 24", "complete")]))
    found = funnel([Traced(Path("x"), HAND, tree, tree.nodes[1], None, None, {})], Game24Truth())
    assert (found.generated, found.kept, found.final, found.chosen) == (1, 1, 1, 1)


def test_a_state_that_cheats_is_not_hopeful_and_a_rounded_one_is_exact() -> None:
    truth = Game24Truth()
    assert truth.hopeful(HAND, (GOOD,))
    assert not truth.hopeful(HAND, ("13 - 9 = 4 (left: 24)", "24 + 0 = 24 (left: 24)"))
    assert truth.hopeful("3 3 8 8", ("8 / 3 = 2.67 (left: 2.67 3 8)", "3 - 2.67 = 0.33 (left: 0.33 8)"))
    assert truth.right("3 3 8 8", ("8 / 3 = 2.67 (left: 2.67 3 8)", "3 - 2.67 = 0.33 (left: 0.33 8)", "8 / 0.33 = 24.24 (left: 24.24)"))
    assert truth.right(HAND, ("Answer: (13 - 9) * (10 - 4) = 24",))
    assert not truth.right(HAND, ("Answer: 6 * 4 = 24",))


def can_make_24(numbers: list[Fraction]) -> bool:
    """Written anew for this test: all pairs, all operations."""
    if len(numbers) == 1:
        return numbers[0] == 24
    for i, j in combinations(range(len(numbers)), 2):
        a, b = numbers[i], numbers[j]
        rest = [n for k, n in enumerate(numbers) if k not in (i, j)]
        made = [a + b, a - b, b - a, a * b, *([a / b] if b else []), *([b / a] if a else [])]
        if any(can_make_24([*rest, value]) for value in made):
            return True
    return False


def test_the_funnel_of_the_published_log(tmp_path: Path) -> None:
    import_log(shared("game24/gpt4_tot_log_900_1000.json"), tmp_path / "out")
    runs = list(read_folder(tmp_path / "out"))
    found = funnel(runs, Game24Truth())
    assert (found.generated, found.kept, found.final, found.chosen) == (76, 74, 69, 62)
    assert sum(found.lost.values()) == 100 - 62
    seen = 0
    for one in runs[:25]:
        for node in one.tree:
            if node.depth == 1 and node.fate is Fate.KEPT and "." not in node.thought and "/" not in node.thought:
                left = [Fraction(n) for n in node.thought.split("(left: ")[1].rstrip(") ").split()]
                assert Game24Truth().hopeful(one.prompt, node.state) == can_make_24(left), (one.prompt, node.thought)
                seen += 1
    assert seen > 50
