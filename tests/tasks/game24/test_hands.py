"""The lists of hands: ours is complete and ordered by its definition; the published one keeps its ranks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import branchwise
from branchwise.bench.oracles.game24 import chance, expressions, next_states, reachable
from branchwise.errors import UsageError
from branchwise.tasks import select, task
from branchwise.tasks.game24.hands import by_difficulty
from support.data import shared

GAME24 = task("game24")


def published() -> list[tuple[int, ...]]:
    lines = shared("game24/24.csv").read_text("utf-8").splitlines()[1:]
    return [tuple(map(int, line.split(",")[1].split())) for line in lines]


def test_our_list_holds_each_published_hand_once() -> None:
    ours = by_difficulty()
    assert len(ours) == len(set(ours)) == 1362
    assert set(ours) == {tuple(sorted(hand)) for hand in published()}


def test_our_order_is_what_its_definition_says() -> None:
    ours = by_difficulty()
    sample = [*ours[:8], *ours[600:606], *ours[-8:]]
    assert sample == sorted(sample, key=lambda hand: (-chance(hand), hand))
    assert all(chance(hand) > 0 for hand in sample)


def test_the_oracle_knows_what_can_be_reached() -> None:
    assert reachable((3, 3, 8, 8))
    assert not reachable((1, 1, 1, 1))
    assert chance((1, 1, 1, 1)) == 0
    assert chance((11, 13)) == chance((24,)) / len(next_states((11, 13)))
    assert expressions((3, 8)) == {"(3*8)"}


def test_items_without_a_file_are_ours_in_order_and_have_no_rank() -> None:
    items = GAME24.items()
    assert len(items) == 1362
    assert all(item.rank is None for item in items)
    assert [item.input for item in select(items, "2:3")] == [" ".join(map(str, hand)) for hand in by_difficulty()[1:3]]


def test_items_of_the_published_file_keep_its_ranks() -> None:
    items = GAME24.items(shared("game24/24.csv"))
    chosen = select(items, "901:910")
    assert [item.rank for item in chosen] == list(range(901, 911))
    assert chosen[0].input == "4 5 6 10"


def test_a_rank_is_the_file_s_own_and_not_its_line(tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("Rank,Puzzles\n905,1 2 3 4\n901,4 5 6 10\n", encoding="utf-8")
    items = GAME24.items(file)
    assert [(item.rank, item.input) for item in select(items, "901")] == [(901, "4 5 6 10")]
    assert [item.rank for item in select(items, "902:")] == [905]
    assert [item.rank for item in select(items, ":904")] == [901]


@pytest.mark.parametrize(
    "text", ["", "Rank,Puzzles\n", "a,b\n1,2\n", "Rank,Puzzles\nx,1 2 3 4\n", "Rank,Puzzles\n1,\n", "{}", "\x00,\x00\n1,2"]
)
def test_a_file_that_is_no_list_of_hands_says_what_one_looks_like(text: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="columns Rank and Puzzles"):
        GAME24.items(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(b"Rank,Puzzles\n1,\xff\xfe")
    for file in (tmp_path / "none.csv", tmp_path / "latin.csv"):
        with pytest.raises(UsageError, match="cannot read"):
            GAME24.items(file)


@pytest.mark.parametrize("span", ["", ":", "a:b", "0:3", "5:2", "1:5000", "-1", "1:2:3", "1363", "9" * 30])
def test_a_range_that_is_none_is_refused(span: str) -> None:
    with pytest.raises(UsageError, match="items"):
        select(GAME24.items(), span)


def imports(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    found = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return found | {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}


def test_no_oracle_can_be_reached_from_the_package_but_the_bench() -> None:
    package = Path(branchwise.__file__).parent
    for file in package.rglob("*.py"):
        if "bench" not in file.relative_to(package).parts:
            assert not any("oracles" in name for name in imports(file)), file
