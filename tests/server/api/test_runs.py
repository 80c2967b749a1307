"""The registry of runs: what a subscriber sees of a run that grows, whenever it comes, and which names lead to a file."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from branchwise import Budget, solve
from branchwise.errors import UnknownName
from branchwise.server.lines import Tail
from branchwise.server.runs import Live, Runs
from branchwise.tasks import task
from branchwise.trace import Started, Stopped, read_trace
from support.models import FakeModel
from support.serving import say


async def search(live: Live, seed: int = 0, **settings: Any) -> None:
    found = task("open")
    problem, method, model = found.problem("Should we?"), found.method("tot_bfs"), FakeModel(say, jitter=seed)
    await solve(problem, method, model, budget=Budget(calls=25), on_event=live.on_event, stop=live.stop, **settings)


@pytest.mark.parametrize("seed", range(5))
async def test_a_subscriber_sees_every_event_once_and_in_order_whenever_it_comes(tmp_path: Path, seed: int) -> None:
    runs = Runs(tmp_path)
    with runs.writing() as live:

        async def listen(turns: int) -> list[Any]:
            for _ in range(turns):
                await asyncio.sleep(0)
            return [event async for event in runs.subscribe(live.id)]

        listeners = [asyncio.create_task(listen(turns)) for turns in (0, 1, 40, 200)]
        await asyncio.sleep(0)
        await search(live, seed, trace=live.path)
        assert runs.listed()[0].live
    seen = await asyncio.gather(*listeners)
    whole = list(read_trace(live.path))
    assert seen == [whole] * 4
    assert isinstance(whole[-1], Stopped)
    assert not runs.listed()[0].live
    assert [event async for event in runs.subscribe(live.id)] == whole


async def test_a_subscriber_can_go_on_from_where_it_was(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with runs.writing() as live:
        await search(live, trace=live.path)
    lines = [found async for found in runs.lines(live.id)]
    offset, _ = lines[4]
    assert [found async for found in runs.lines(live.id, offset)] == lines[5:]
    assert lines[-1][0] == live.path.stat().st_size


async def test_a_run_of_another_process_is_followed_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.server.runs._POLL", 0.01)
    runs, other = Runs(tmp_path), Runs(tmp_path)
    with other.writing() as live:
        await search(live, trace=live.path)
    data = live.path.read_bytes()
    live.path.write_bytes(data[:700])
    listener = asyncio.create_task(anext_all(runs, live.id))
    await asyncio.sleep(0.05)
    assert not listener.done()
    live.path.write_bytes(data)
    assert len(await asyncio.wait_for(listener, 10)) == data.count(b"\n")


async def test_a_cut_line_that_is_taken_off_before_a_run_goes_on_is_not_glued_to_the_next(tmp_path: Path) -> None:
    first, cut, whole = b'{"run":1}\n', b'{"event":"' + b"x" * 10_000, b'{"event":"' + b"y" * 20_000 + b'"}\n'
    path = tmp_path / "a.jsonl"
    path.write_bytes(first + cut)
    with closing(Tail(path, 0)) as tail:
        assert tail.read() == [(len(first), first)]
        assert tail.read() == []
        path.write_bytes(first + cut + b"x" * 5_000)
        assert tail.read() == []
        path.write_bytes(first)
        assert tail.read() == []
        path.write_bytes(first + cut)
        assert tail.read() == []
        path.write_bytes(first + whole + whole[:50])
        assert tail.read() == [(len(first + whole), whole)]
        path.write_bytes(first + whole + whole)
        assert tail.read() == [(len(first + whole + whole), whole)]


async def test_lines_come_whole_however_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.server.lines._CHUNK", 7)
    lines = [b"x" * size + b"\n" for size in (0, 1, 5, 6, 7, 8, 13, 14, 100, 0, 0, 6)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(lines))
    os.utime(path, (1, 1))
    found = [found async for found in Runs(tmp_path).lines("a")]
    assert [line for _, line in found] == lines
    assert found[-1][0] == path.stat().st_size


async def test_a_run_that_was_killed_long_ago_ends_where_it_was_cut(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    with runs.writing() as live:
        await search(live, trace=live.path)
    live.path.write_bytes(live.path.read_bytes()[:-20])
    os.utime(live.path, (1, 1))
    events = [event async for event in runs.subscribe(live.id)]
    assert isinstance(events[0], Started)
    assert not isinstance(events[-1], Stopped)


async def anext_all(runs: Runs, run: str) -> list[Any]:
    return [event async for event in runs.subscribe(run)]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "x\0", "x\n", "-x", "none", "%2e%2e", "a" * 200])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")
    runs = Runs(tmp_path / "runs")
    (tmp_path / "runs").mkdir()
    with pytest.raises(UnknownName):
        runs.path(name)


async def test_stopping_all_ends_every_run_that_this_process_writes(tmp_path: Path) -> None:
    runs = Runs(tmp_path)

    async def one() -> None:
        with runs.writing() as live:
            found = task("open")
            slow = FakeModel(say, seconds=30)
            await solve(found.problem("Should we?"), found.method("tot_bfs"), slow, trace=live.path, on_event=live.on_event, stop=live.stop)

    searches = [asyncio.create_task(one()) for _ in range(3)]
    await asyncio.sleep(0.05)
    assert len(runs.live) == 3
    runs.stop_all()
    await asyncio.wait_for(asyncio.gather(*searches), 5)
    assert not runs.live
    for trace in runs.listed():
        *_, end = read_trace(trace.path)
        assert isinstance(end, Stopped)
        assert end.reason == "cancelled"
