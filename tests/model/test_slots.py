"""The first of a group runs alone and its state is saved; later ones get it, whichever slot they work in."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from branchwise.model.base import Message, Request
from branchwise.model.slots import PREFIX, SlotBook, group_of, scratch


class Engine:
    """Remembers what it was asked to save and restore."""

    def __init__(self, status: int = 200) -> None:
        self.done: list[str] = []
        self.status_code, self.text = status, "no"

    async def post(self, path: str, json: dict[str, str]) -> "Engine":
        self.done.append(f"{path} {json['filename']}")
        return self


def request(text: str) -> Request:
    return Request((Message("user", text),))


def test_prompts_that_begin_alike_are_a_group() -> None:
    shared = "x" * 500
    assert group_of(request(shared + "a")) == group_of(request(shared + "b")) != ""
    assert group_of(request("y" + shared)) != group_of(request(shared))
    assert group_of(request("short")) == ""


async def one(book: SlotBook, group: str, log: list[tuple[str, int]], fail: bool = False) -> None:
    first = await book.is_first(group)
    good = False
    try:
        async with book.slot(group) as slot:
            log.append(("first" if first else "later", slot))
            await asyncio.sleep(0.01)
            if fail:
                raise ValueError
            if first:
                await book.saved(group, slot)
            good = True
    finally:
        if first and not good:
            await book.saved(group, None)


async def test_the_first_runs_alone_and_the_others_get_its_state(tmp_path: Path) -> None:
    engine, log = Engine(), []
    book = SlotBook(3, engine, tmp_path)
    await asyncio.gather(*(one(book, "g", log) for _ in range(5)))
    assert log[0] == ("first", 0)
    assert [kind for kind, _ in log[1:]] == ["later"] * 4
    assert engine.done[0] == "/slots/0?action=save g"
    assert sum("restore g" in done for done in engine.done) == 4


async def test_a_first_that_fails_is_replaced(tmp_path: Path) -> None:
    log: list[tuple[str, int]] = []
    book = SlotBook(2, Engine(), tmp_path)
    results = await asyncio.gather(one(book, "g", log, fail=True), one(book, "g", log), one(book, "g", log), return_exceptions=True)
    assert [type(r) for r in results] == [ValueError, type(None), type(None)]
    assert [kind for kind, _ in log] == ["first", "first", "later"]


async def test_a_cancelled_first_is_replaced_and_no_slot_is_lost(tmp_path: Path) -> None:
    log: list[tuple[str, int]] = []
    book = SlotBook(1, Engine(), tmp_path)
    tasks = [asyncio.create_task(one(book, "g", log)) for _ in range(4)]
    await asyncio.sleep(0.005)
    tasks[0].cancel()
    tasks[2].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.wait_for(one(book, "", log), 1)
    assert [slot for _, slot in log] == [0, 0, 0, 0]


async def test_no_slot_is_used_twice_at_once(tmp_path: Path) -> None:
    book, busy = SlotBook(3, Engine(), tmp_path), set()

    async def work(i: int) -> None:
        async with book.slot("") as slot:
            assert slot not in busy
            busy.add(slot)
            try:
                await asyncio.sleep(0.001 * (i % 3))
            finally:
                busy.remove(slot)

    tasks = [asyncio.create_task(work(i)) for i in range(40)]
    await asyncio.sleep(0.002)
    for task in tasks[::7]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert not [r for r in results if isinstance(r, AssertionError)]
    assert not busy
    await asyncio.wait_for(asyncio.gather(*(one(book, "", []) for _ in range(3))), 1)


async def test_an_engine_that_cannot_save_costs_only_time(tmp_path: Path) -> None:
    engine, log = Engine(501), []
    book = SlotBook(2, engine, tmp_path)
    await asyncio.gather(*(one(book, "g", log) for _ in range(4)))
    assert len(log) == 4
    assert len(engine.done) == 1


async def test_nobody_waits_long_for_a_first_with_a_long_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.model.slots.MOST_SECONDS", 0.002)
    log: list[tuple[str, int]] = []
    book = SlotBook(2, Engine(), tmp_path)
    await asyncio.gather(*(one(book, "g", log) for _ in range(2)))
    assert log == [("first", 0), ("later", 1)]


async def test_few_states_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.model.slots.MOST_GROUPS", 2)
    book, log = SlotBook(1, Engine(), tmp_path), []
    for name in "abc":
        (tmp_path / name).write_text("")
        await one(book, name, log)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b", "c"]  # noqa: ASYNC240
    assert await book.is_first("a")


def test_what_killed_processes_left_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("shutil.disk_usage", lambda p: type("U", (), {"free": 0}))
    left = tmp_path / f"{PREFIX}99999999-abc"
    left.mkdir()
    made: Any = scratch()
    assert not left.exists()
    assert made.parent == tmp_path
