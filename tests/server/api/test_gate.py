"""Places and queues: so many at once, the keys take turns, nobody waits for ever, and what is given up is free again."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from branchwise.server.gate import Busy, Gate, Turn


async def search(turn: Turn, name: str, order: list[str], turns: int = 1) -> None:
    async with turn.taken():
        order.append(name)
        for _ in range(turns):
            await asyncio.sleep(0)


async def test_no_more_than_the_places_run_and_first_come_is_first_served() -> None:
    gate, order, most = Gate(2, 100), list[str](), 0

    async def one(turn: Turn, name: str) -> None:
        nonlocal most
        async with turn.taken():
            most = max(most, gate.running)
            order.append(name)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(gate.admit("a")[0], str(i)) for i in range(20)))
    assert most == 2
    assert order == [str(i) for i in range(20)]
    assert (gate.running, gate.waiting) == (0, 0)


async def test_keys_take_turns_however_many_one_of_them_sends() -> None:
    gate, order = Gate(1, 100), list[str]()
    turns = [(gate.admit("greedy")[0], "greedy") for _ in range(30)] + [(gate.admit(key)[0], key) for key in ("b", "c") for _ in range(3)]
    await asyncio.gather(*(search(turn, key, order) for turn, key in turns))
    assert order[0] == "greedy"
    assert sorted(order[1:4]) == ["b", "c", "greedy"]
    assert order[1:10].count("b") == order[1:10].count("c") == 3


async def test_a_full_queue_refuses_and_says_how_long_to_wait() -> None:
    gate = Gate(1, 2)
    turns = [gate.admit("a")[0] for _ in range(3)]
    with pytest.raises(Busy) as busy:
        gate.admit("a")
    assert busy.value.wait >= 1
    others = gate.admit("b", 2)
    for turn in (*turns, *others):
        turn.give_up()
    assert (gate.running, gate.waiting) == (0, 0)


async def test_several_places_are_given_all_or_none() -> None:
    gate = Gate(2, 1)
    with pytest.raises(Busy):
        gate.admit("a", 4)
    assert (gate.running, gate.waiting) == (0, 0)
    turns = gate.admit("a", 3)
    assert [turn.waits for turn in turns] == [False, False, True]
    for turn in turns:
        turn.give_up()
    assert (gate.running, gate.waiting) == (0, 0)


async def test_a_search_that_is_cancelled_while_it_waits_gives_its_turn_to_the_next() -> None:
    gate, order = Gate(1, 10), list[str]()
    first, second, third = (gate.admit("a")[0] for _ in range(3))
    waiting = asyncio.create_task(search(second, "second", order))
    last = asyncio.create_task(search(third, "third", order))
    await asyncio.sleep(0)
    waiting.cancel()
    await search(first, "first", order)
    await asyncio.gather(waiting, last, return_exceptions=True)
    assert order == ["first", "third"]
    assert (gate.running, gate.waiting) == (0, 0)


async def test_a_turn_that_comes_in_the_moment_of_the_cancellation_is_not_lost() -> None:
    gate, order = Gate(1, 10), list[str]()
    first, second, third = (gate.admit("a")[0] for _ in range(3))
    waiting = asyncio.create_task(search(second, "second", order))
    last = asyncio.create_task(search(third, "third", order))
    await asyncio.sleep(0)
    first.give_up()
    waiting.cancel()
    await asyncio.gather(waiting, last, return_exceptions=True)
    assert order == ["third"]
    assert (gate.running, gate.waiting) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_is_cancelled_and_when_no_place_is_lost(seed: int) -> None:
    random, gate, order = Random(seed), Gate(3, 1000), list[str]()
    tasks = []
    for i in range(60):
        key = random.choice("abc")
        for turn in gate.admit(key, random.randint(1, 3)):
            if random.random() < 0.1:
                turn.give_up()
            else:
                tasks.append(asyncio.create_task(search(turn, str(i), order, random.randrange(4))))
                tasks[-1].add_done_callback(lambda _, turn=turn: turn.give_up())
        if random.random() < 0.5:
            await asyncio.sleep(0)
        if tasks and random.random() < 0.4:
            random.choice(tasks).cancel()
        assert gate.running <= 3
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (gate.running, gate.waiting) == (0, 0)
