"""The tree: counts add up, values follow from samples, nodes know their place."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from branchwise import Fate, Kind, Tree
from branchwise.trace import Birth, Event, Expanded, Judged, Judgement, Mark, Marked, Started
from support.runs import random_method, run
from support.worlds import Toy


def grown(*events: Event) -> Tree:
    return Tree.fold(iter(events))


async def test_what_was_generated_is_kept_pruned_dead_merged_or_dropped() -> None:
    for seed in range(80):
        proposals = 0

        def listen(event: Event) -> None:
            nonlocal proposals
            if isinstance(event, Expanded):
                proposals += len(event.births) + len(event.dropped)

        result, _ = await run(Toy(seed, solved=0.03), random_method(Random(seed)), on_event=listen)
        counts = result.tree.counts()
        assert counts.generated == proposals
        assert counts.generated == counts.kept + counts.pruned + counts.dead + counts.merged + counts.dropped
        assert counts.dead == sum(node.status.kind is Kind.DEAD for node in result.tree)
        assert len(result.tree) == counts.kept + counts.pruned + counts.dead
        nodes = result.to_json()["nodes"]
        assert nodes["generated"] == nodes["kept"] + nodes["pruned"] + nodes["merged"] + nodes["dropped"] + nodes["dead"]


async def test_every_node_has_its_place() -> None:
    for seed in range(40):
        result, _ = await run(Toy(seed), random_method(Random(seed)))
        tree = result.tree
        assert [node.birth for node in tree.nodes] == list(range(len(tree.nodes)))
        ids = [node.id for node in tree.nodes]
        assert len(set(ids)) == len(ids)
        keys = [Toy(seed).key(node.state) for node in tree.nodes]
        assert len(set(keys)) == len(keys), "equal states are one node"
        for node in tree:
            assert node.parent is not None
            assert node in node.parent.children
            assert node.id == (*node.parent.id, node.index)
            assert node.state == (*node.parent.state, node.thought)
            assert node.size == sum(len(thought.encode()) + 1 for thought in node.state)
            assert node.parent.birth < node.birth
            assert node.parent.status.kind not in (Kind.DEAD, Kind.SOLVED), "such a state is never expanded"
            assert node.value is None or 0 <= node.value <= 1


@given(st.lists(st.floats(0, 1) | st.none(), min_size=1, max_size=30))
def test_judgements_append(values: list[float | None]) -> None:
    events: list[Event] = [Started({}, {}), Expanded(1, 0, [Birth(1, 0, "a")])]
    events += [Judged(n, [Judgement(1, value, (value,))]) for n, value in enumerate(values, 2)]
    node = grown(*events).nodes[1]
    known = [value for value in values if value is not None]
    assert node.count == len(known)
    assert node.unknown == len(values) - len(known)
    assert node.samples == tuple(values)
    if known:
        assert node.mean is not None
        assert abs(node.mean - sum(known) / len(known)) < 1e-9
        assert node.minimum == min(known)
    else:
        assert node.value is None


def test_a_proven_state_is_worth_one_and_a_dead_one_nothing_whatever_was_judged() -> None:
    births = [Birth(1, 0, "a", "solved"), Birth(2, 1, "b", "dead", "why"), Birth(3, 2, "c", "complete"), Birth(4, 3, "d")]
    judged = [Judgement(n, 0.5) for n in (1, 2, 3, 4)]
    tree = grown(Started({}, {}), Expanded(1, 0, births, judgements=judged))
    assert [node.value for node in tree] == [1.0, 0.0, 0.5, 0.5]
    assert tree.nodes[2].status.reason == "why"


def test_an_unknown_value_is_not_zero() -> None:
    node = grown(Started({}, {}), Expanded(1, 0, [Birth(1, 0, "a")], judgements=[Judgement(1, None, (None, None))])).nodes[1]
    assert node.value is None
    assert node.unknown == 1


def test_a_merged_arrival_is_counted_at_the_survivor_and_not_born() -> None:
    births = [Birth(1, 0, "a"), Birth(1, 1, "a", merged=True), Birth(2, 2, "b")]
    tree = grown(Started({}, {}), Expanded(1, 0, births), Expanded(2, 1, [Birth(2, 0, "b", merged=True)]))
    assert [node.arrivals for node in tree] == [2, 2]
    assert [node.id for node in tree] == [(0,), (2,)], "ids may have gaps"
    assert tree.counts().merged == 2
    assert len(tree) == 2


def test_marks_are_numbered_by_the_first_decision() -> None:
    births = [Birth(n, n - 1, str(n)) for n in (1, 2, 3)]
    tree = grown(
        Started({}, {}), Expanded(1, 0, births), Marked([Mark(3, "kept"), Mark(1, "pruned", "low")]), Marked([Mark(3, "pruned", "later")])
    )  # fmt: skip
    assert [node.decided for node in tree] == [2, 0, 1]
    assert [node.fate for node in tree] == [Fate.PRUNED, Fate.UNDECIDED, Fate.PRUNED]
    assert tree.nodes[3].fate_reason == "later"


def test_a_second_start_begins_anew() -> None:
    first = [Started({}, {}), Expanded(1, 0, [Birth(1, 0, "a")], [("x", "bad")]), Judged(2, [Judgement(1, None, (None,))], error="down")]
    tree = grown(*first, *first)
    assert (len(tree), tree.counts().dropped, tree.unparsed, tree.failures) == (1, 1, 1, 1)


def test_labels_are_readable_while_short_and_differ_when_long() -> None:
    events: list[Event] = [Started({}, {})]
    events += [Expanded(depth + 1, depth, [Birth(depth + 1, 3, "x")]) for depth in range(60)]
    tree = grown(*events)
    assert tree.root.label == ""
    assert tree.nodes[2].label == "3.3"
    assert tree.nodes[50].label.startswith("~")
    assert len({node.label for node in tree.nodes}) == 61
