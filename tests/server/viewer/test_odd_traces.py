"""Traces that somebody broke, and runs of others: each is told or refused, none hides another, and nobody is held up."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from branchwise import TraceError
from branchwise.server.keys import Account, Keys
from branchwise.server.lines import LONGEST_LINE
from branchwise.server.runs import Runs
from branchwise.server.viewer.follow import follow
from branchwise.server.viewer.single import single_page
from support.browsing import Site, record, site, started, stopped
from support.pace import slowness
from support.serving import serving
from support.traces import streamed, trace


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    trace(tmp_path / "one.jsonl", stopped(1, "a", solved=True))
    with site(tmp_path) as found:
        yield found


@pytest.fixture
def http(here: Site) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=here.url, timeout=120) as client:
        yield client


def nested(depth: int) -> str:
    return "[" * depth + "1" + "]" * depth


BAD = [
    '{"event":"call","samples":5}', '{"event":"call"}', '{"event":"call","samples":{"a":1}}', '{"event":"call","samples":"x"}', "5", "\x00", "",
    *(f'{{"event":"expanded","x":{nested(depth)}}}' for depth in (260, 300, 990, 1100)),
    *(f'{{"event":"call","samples":[{{"text":{nested(depth)}}}]}}' for depth in (253, 300, 990, 1100)),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(BAD)))
def test_an_event_that_cannot_be_told_ends_the_stream_with_a_word_and_the_place(here: Site, http: httpx2.Client, at: int) -> None:
    path = trace(here.runs.folder / "bad.jsonl")
    good = path.read_bytes()
    path.write_bytes(good + BAD[at].encode() + b"\n" + good)
    *batches, end = streamed(http.get("/runs/bad/events"))
    assert end == {"error": f"At byte {len(good):,} there is something that is no event: the trace was changed, or parts of it are lost."}
    assert sum(len(batch["events"]) for batch in batches) == 3  # type: ignore[arg-type, misc]
    assert batches[-1]["next"] == len(good)


@pytest.mark.parametrize("depth", [200, 300, 990, 1100])
def test_one_bad_trace_never_hides_the_others(here: Site, http: httpx2.Client, depth: int) -> None:
    deep, folder = nested(depth), here.runs.folder
    base = {"problem": '{"prompt":"p"}', "method": '{"name":"io"}', "model": '"m"', "seed": "0"}
    count = 0
    for name in base:
        for value in (deep, f'{{"prompt":{deep},"name":{deep}}}', "1e999", "-1e999", "1e400", str(2**70), '"\\u0000"', "null", "true", '"\\ud800"'):
            run = ",".join(f'"{key}":{value if key == name else text}' for key, text in base.items())
            count += 1
            (folder / f"bad{count}.jsonl").write_text(f'{{"run":{{{run}}},"about":{{"settings":{{"task":{value}}}}},"event":"started"}}\n')
    begun = (folder / "one.jsonl").read_text().partition("\n")[0]
    for name in ("reason", "solved", "answer", "usage"):
        for value in (deep, f'{{"calls":{deep},"cost_usd":{deep}}}', '{"calls":1e999,"cost_usd":-1e999}', "[1]"):
            count += 1
            (folder / f"bad{count}.jsonl").write_text(f'{begun}\n{{"event":"stopped","{name}":{value}}}\n')
    reply = http.get("/runs")
    assert reply.status_code == 200
    runs = {run["id"]: run for run in reply.json()["runs"]}
    assert len(runs) == count + 1
    assert runs["one"]["stop"] == "exhausted"
    for run in runs.values():
        assert all(value is None or isinstance(value, (str, int, float)) for value in run.values())


def test_lines_are_given_of_traces_and_events_only(here: Site, http: httpx2.Client) -> None:
    folder = here.runs.folder
    (folder / "rows.jsonl").write_text('{"secret":1}\n{"event":"call","secret":1}\n')
    (folder / "keys.jsonl").write_text("OPENAI_API_KEY=secret\n")
    (folder / "cut.jsonl").write_text('{"run":{"secret":1}')
    (folder / "empty.jsonl").write_text("")
    for run in ("rows", "keys"):
        for what in ("lines/0", "events", "lines/13", "events?from=13"):
            assert http.get(f"/runs/{run}/{what}").status_code == 404
    assert http.get("/runs/cut/lines/0").status_code == http.get("/runs/empty/lines/0").status_code == 404
    path = trace(folder / "mixed.jsonl")
    size = path.stat().st_size
    for bad in ('{"secret":1}\n', "secret\n", nested(1100) + "\n", '"secret"\n', '{"event":["secret"]}\n', '{"event":"call"'):
        path.write_text(path.read_text()[:size] + bad)
        reply = http.get(f"/runs/mixed/lines/{size}")
        assert (reply.status_code, "secret" in reply.text) == (404, False), bad


def test_a_link_that_leads_out_of_the_folder_is_no_run(here: Site, http: httpx2.Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside, folder = trace(tmp_path_factory.mktemp("outside") / "x.jsonl"), here.runs.folder
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "up.jsonl").symlink_to(folder / ".." / outside.parent.name / "x.jsonl")
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    (folder / "inside.jsonl").symlink_to("one.jsonl")
    assert {run["id"] for run in http.get("/runs").json()["runs"]} == {"one", "inside"}
    for run, status in (("link", 404), ("up", 404), ("loop", 404), ("inside", 200)):
        for what in ("events", "lines/0"):
            assert http.get(f"/runs/{run}/{what}").status_code == status, run
    assert {trace.id for trace in Runs(folder, linked=True).listed()} == {"one", "inside", "link", "up"}


def test_a_folder_that_is_a_link_itself_is_served(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    trace(tmp_path / "real" / "one.jsonl", stopped(1, "a"))
    (tmp_path / "link").symlink_to("real")
    with site(tmp_path / "link") as here, httpx2.Client(base_url=here.url) as client:
        assert client.get("/runs/one/lines/0").status_code == 200


def test_a_line_of_any_length_holds_nobody_up_and_is_read_once(here: Site, http: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.server.runs._POLL", 0.01)
    path = trace(here.runs.folder / "long.jsonl")
    size = path.stat().st_size
    with open(path, "ab") as file:
        file.write(b'{"event":"warned","text":"')
        file.truncate(size + LONGEST_LINE + (1 << 22))
        file.flush()
        slowest = 0.0
        with http.stream("GET", "/runs/long/events", timeout=240) as reply, httpx2.Client(base_url=here.url, timeout=240) as other:
            lines = reply.iter_lines()
            assert len(json.loads(next(lines))["events"]) == 3
            ends: list[str] = []
            reader = threading.Thread(target=lambda: ends.extend(lines))
            reader.start()
            while reader.is_alive():
                began = time.monotonic()
                assert other.get("/viewer/page.css").status_code == 200
                slowest = max(slowest, time.monotonic() - began)
                reader.join(0.02)
    assert json.loads(ends[-1]) == {"error": f"At byte {size:,} there is a line that is too long to be an event: the trace was changed."}
    assert slowest < 1.0 * slowness()
    assert http.get(f"/runs/long/lines/{size}").status_code == 404
    assert {run["id"] for run in http.get("/runs").json()["runs"]} == {"one", "long"}


async def test_a_fault_of_ours_ends_the_stream_with_a_word_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(line: bytes, at: int) -> dict[str, object]:
        raise ZeroDivisionError

    monkeypatch.setattr("branchwise.server.viewer.follow.slim", faulty)
    trace(tmp_path / "one.jsonl", stopped(1, "a"))
    stream = follow(Runs(tmp_path), "one", 0)
    assert "its log has the details" in json.loads(await anext(stream))["error"]
    with pytest.raises(ZeroDivisionError):
        await anext(stream)


def test_a_key_sees_the_runs_that_were_started_with_it_and_no_others(tmp_path: Path) -> None:
    ann, bob = "ann-0123456789abcdef", "bob-0123456789abcdef"
    trace(tmp_path / "solve.jsonl", stopped(1, "a"))
    record(tmp_path / "open.jsonl", [started("Why?") | {"about": {"server": {"key": "anonymous"}}}])
    record(tmp_path / "odd.jsonl", [started("Why?") | {"about": {"server": {"key": ["ann"]}}}])
    resumed = started("Why?") | {"about": {"server": {"key": "bob"}}}
    record(tmp_path / "resumed.jsonl", [resumed, stopped(1, "a"), started("Why?") | {"about": {"server": {"key": "ann"}}}, stopped(1, "a")])
    (tmp_path / "broken.jsonl").write_text('{"run":{},"about":{"server":{"key":"ann"}')
    with serving(tmp_path, keys=Keys([(ann, Account("ann")), (bob, Account("bob"))])) as served:
        runs = {name: served.chat(token).json()["branchwise"]["searches"][0]["run"] for name, token in (("ann", ann), ("bob", bob))}
        for name, token, more in (("ann", ann, set()), ("bob", bob, {"resumed"})):
            own = {runs[name], *more}
            with served.http(token) as client:
                assert {run["id"] for run in client.get("/runs").json()["runs"]} == own
                for run in (*runs.values(), "solve", "open", "odd", "resumed", "broken", "none"):
                    for what in ("events", "lines/0"):
                        reply = client.get(f"/runs/{run}/{what}")
                        assert reply.status_code == (200 if run in own else 404), (name, run, what)
                        assert run in own or reply.json() == {"error": {"message": "there is no such run"}}
    with serving(tmp_path) as served, served.http() as anybody:
        assert len(anybody.get("/runs").json()["runs"]) == 7
        assert "key" not in anybody.get("/runs").json()["runs"][0]


def test_a_key_sees_no_run_of_another_while_it_goes_on(tmp_path: Path) -> None:
    keys = Keys([(f"{name}-0123456789abcdef", Account(name)) for name in ("ann", "bob")])
    with serving(tmp_path, keys=keys) as served, served.service.runs.writing() as live:
        live.owner = "ann"
        record(live.path, [started("Why?") | {"about": {"server": {"key": "ann"}}}])
        for name, status, count in (("ann", 200, 1), ("bob", 404, 0)):
            with served.http(f"{name}-0123456789abcdef") as client:
                assert client.get(f"/runs/{live.id}/lines/0").status_code == status
                assert len(client.get("/runs").json()["runs"]) == count
                if not count:
                    assert client.get(f"/runs/{live.id}/events").status_code == status


def test_one_file_is_refused_for_what_is_nested_too_deeply(tmp_path: Path) -> None:
    for depth in (300, 900):
        path = trace(tmp_path / "deep.jsonl")
        path.write_text(path.read_text() + f'{{"event":"x","y":{nested(depth)}}}\n')
        with pytest.raises(TraceError, match="nested too deeply"):
            single_page(path)
