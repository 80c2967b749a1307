"""What the page reads of a server: files with a strict policy, the list, streams from any byte, single lines; and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from branchwise import Result, TraceError
from branchwise.server.keys import Account, Keys
from branchwise.server.lines import LONGEST_LINE
from branchwise.server.runs import Runs
from branchwise.server.viewer.files import asset, scripts
from branchwise.server.viewer.follow import follow
from branchwise.server.viewer.listing import summary
from branchwise.server.viewer.local import application, folder_of
from branchwise.server.viewer.serving import POLICY
from branchwise.server.viewer.single import joined, single_page
from branchwise.server.viewer.slim import LONGEST, slim
from support.browsing import Site, birth, call, expanded, large_trace, record, site, started, stopped, toy_run
from support.serving import serving


def trace(path: Path, *more: dict[str, object]) -> Path:
    return record(path, [started("Why?"), call("", "generate", "a", prompt="secret prompt " * 50), expanded(0, [birth(1, 0, "a")]), *more])


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    trace(tmp_path / "one.jsonl", stopped(1, "a", solved=True))
    with site(tmp_path) as found:
        yield found


@pytest.fixture
def http(here: Site) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=here.url, timeout=10) as client:
        yield client


def streamed(reply: httpx2.Response) -> list[dict[str, object]]:
    return [json.loads(line) for line in reply.text.splitlines()]


def test_every_reply_has_the_policy_and_is_never_kept(http: httpx2.Client) -> None:
    for path in ("/", "/viewer/page.css", "/viewer/main.js", "/viewer/none.js", "/runs", *(f"/runs/{run}/events" for run in ("one", "none"))):
        headers = http.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    for word in ("unsafe", "*", "data: ;", "http"):
        assert word not in POLICY
    assert "script-src 'self'; style-src 'self'" in POLICY
    assert "default-src 'none'" in POLICY
    assert "frame-ancestors 'none'" in POLICY


def test_the_page_has_nothing_inline_and_names_no_other_place() -> None:
    page = asset("page.html")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", page)
    for name in ("page.html", "page.css", *scripts()):
        text = asset(name).replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", text), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|setTimeout\(['\"]", text), name


def test_only_its_own_files_are_served(http: httpx2.Client) -> None:
    assert http.get("/").headers["content-type"].startswith("text/html")
    for name in scripts():
        assert http.get(f"/viewer/{name}").headers["content-type"].startswith("text/javascript")
    for path in ("/viewer/..%2fserving.py", "/viewer/../serving.py", "/viewer/page.html", "/viewer/", "/viewer/main.js/x", "/viewer/%2e%2e"):
        assert http.get(path).status_code == 404, path


def test_the_list_tells_how_each_run_stands(here: Site, http: httpx2.Client) -> None:
    trace(here.runs.folder / "open.jsonl")
    (here.runs.folder / "rows.jsonl").write_text('{"branchwise": "results"}\n')
    (here.runs.folder / "broken.jsonl").write_text('{"run": no\n')
    for at, name in enumerate(("one", "open", "rows", "broken")):
        os.utime(here.runs.folder / f"{name}.jsonl", (at, at))
    runs = http.get("/runs").json()["runs"]
    assert [run["id"] for run in runs] == ["broken", "open", "one"]
    assert (runs[2]["stop"], runs[2]["solved"], runs[2]["answer"], runs[2]["calls"], runs[2]["live"]) == ("exhausted", True, "a", 7, False)
    assert (runs[1]["stop"], runs[1]["prompt"], runs[1]["method"], runs[1]["model"], runs[1]["live"]) == (None, "Why?", "best_first", "script", False)
    assert "cannot be read" in runs[0]["error"]


def test_a_run_of_another_process_is_seen_by_its_lock(here: Site, http: httpx2.Client) -> None:
    fcntl = pytest.importorskip("fcntl")
    with open(here.runs.folder / "one.jsonl", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert http.get("/runs").json()["runs"][0]["live"] is True
    assert http.get("/runs").json()["runs"][0]["live"] is False


def test_a_run_of_this_process_is_live_until_it_ends(here: Site, http: httpx2.Client) -> None:
    run = toy_run(here)
    run.allow(1)
    found = {one["id"]: one for one in http.get("/runs").json()["runs"]}
    assert (found[run.id]["live"], found[run.id]["steering"], found[run.id]["paused"]) == (True, False, False)
    run.allow(1000)
    assert isinstance(run.result(), Result)
    assert {one["id"]: one["live"] for one in http.get("/runs").json()["runs"]}[run.id] is False


def test_a_stream_has_all_events_without_prompts_and_says_that_it_ended(http: httpx2.Client) -> None:
    *batches, end = streamed(http.get("/runs/one/events"))
    events = [event for batch in batches for event in batch["events"]]  # type: ignore[attr-defined]
    assert [event["event"] for event in events] == ["started", "call", "expanded", "stopped"]
    assert end == {"end": True, "cut": False}
    assert "secret prompt" not in json.dumps(events)
    assert "prompts" not in events[0]["run"]["problem"]


def test_a_stream_goes_on_from_where_it_broke(here: Site, http: httpx2.Client) -> None:
    data = (here.runs.folder / "one.jsonl").read_bytes()
    starts = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)]
    for at in starts:
        events = [event for batch in streamed(http.get(f"/runs/one/events?from={at}")) for event in batch.get("events", [])]  # type: ignore[attr-defined]
        assert [event["at"] for event in events] == [one for one in starts[:-1] if one >= at]
        for event in events:
            assert http.get(f"/runs/one/lines/{event['at']}").json()["event"] == event["event"]
    for wrong, status in (("5", 409), ("999999", 409), ("-1", 400), ("x", 400), ("٣", 400), ("1" * 40, 400)):
        assert http.get("/runs/one/events", params={"from": wrong}).status_code == status, wrong
        assert http.get(f"/runs/one/lines/{wrong}").status_code == status, wrong
    assert http.get(f"/runs/one/lines/{starts[-1]}").status_code == 404


def test_no_name_leads_out_of_the_folder(here: Site, http: httpx2.Client) -> None:
    (here.runs.folder.parent / "outside.jsonl").write_bytes((here.runs.folder / "one.jsonl").read_bytes())
    for name in ("../outside", "..%2foutside", "%2e%2e%2foutside", "/etc/passwd", "one.jsonl", "", "%00", "a" * 500):
        for what in ("events", "lines/0"):
            assert http.get(f"/runs/{name}/{what}").status_code == 404, name


def test_it_is_read_only_and_for_this_machine_only(http: httpx2.Client) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert http.request(method, "/runs/one/events").status_code == 405
    assert http.get("/runs", headers={"Host": "evil.example"}).status_code == 403
    assert http.get("/runs", headers={"Origin": "http://evil.example"}).status_code == 403


def test_a_line_that_is_no_event_ends_the_stream_with_a_word(here: Site, http: httpx2.Client) -> None:
    for bad in (b"no JSON\n", b"[]\n", b'{"event": 3}\n', b"null\n"):
        path = trace(here.runs.folder / "bad.jsonl")
        path.write_bytes(path.read_bytes() + bad + path.read_bytes())
        assert "no event" in str(streamed(http.get("/runs/bad/events"))[-1]["error"])


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
        with http.stream("GET", "/runs/long/events", timeout=60) as reply, httpx2.Client(base_url=here.url, timeout=60) as other:
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
    assert slowest < 1.0
    assert http.get(f"/runs/long/lines/{size}").status_code == 404
    assert {run["id"] for run in http.get("/runs").json()["runs"]} == {"one", "long"}


def test_each_prefix_of_a_trace_streams_its_whole_lines(tmp_path: Path) -> None:
    data = trace(tmp_path / "whole.jsonl", stopped(1, "a")).read_bytes()
    part = tmp_path / "part.jsonl"

    async def events() -> tuple[int, object]:
        lines = [json.loads(line) async for line in follow(Runs(tmp_path), "part", 0)]
        return sum(len(line.get("events", [])) for line in lines), lines[-1]

    for end in range(len(data.split(b"\n", 1)[0]) + 2, len(data), 97):
        part.write_bytes(data[:end])
        os.utime(part, (0, 0))
        count, last = asyncio.run(events())
        assert (count, last) == (data[:end].count(b"\n"), {"end": True, "cut": not data[:end].endswith(b"\n")})


def test_who_goes_away_leaves_nothing_behind(tmp_path: Path) -> None:
    large_trace(tmp_path / "large.jsonl", 3_000)

    async def leave() -> int:
        async with asyncio.timeout(10):
            stream = follow(Runs(tmp_path), "large", 0)
            await anext(stream)
            await stream.aclose()  # type: ignore[attr-defined]
            return len(asyncio.all_tasks())

    assert asyncio.run(leave()) == 1


def test_a_trace_that_is_removed_while_it_is_watched_ends_with_a_word(tmp_path: Path) -> None:
    path = trace(tmp_path / "one.jsonl")

    async def watch() -> bytes:
        async with asyncio.timeout(10):
            stream = follow(Runs(tmp_path), "one", 0)
            await anext(stream)
            path.unlink()
            return [line async for line in stream][-1]

    assert "gone" in json.loads(asyncio.run(watch()))["error"]


async def test_a_fault_of_ours_ends_the_stream_with_a_word_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(line: bytes, at: int) -> dict[str, object]:
        raise ZeroDivisionError

    monkeypatch.setattr("branchwise.server.viewer.follow.slim", faulty)
    trace(tmp_path / "one.jsonl", stopped(1, "a"))
    stream = follow(Runs(tmp_path), "one", 0)
    assert "its log has the details" in json.loads(await anext(stream))["error"]
    with pytest.raises(ZeroDivisionError):
        await anext(stream)


def test_a_server_that_stops_sends_away_who_watches(tmp_path: Path) -> None:
    trace(tmp_path / "one.jsonl")

    async def watch() -> list[bytes]:
        async with asyncio.timeout(10):
            runs = Runs(tmp_path)
            stream = follow(runs, "one", 0)
            await anext(stream)
            asyncio.get_running_loop().call_later(0.05, runs.stop_all)
            return [line async for line in stream]

    assert asyncio.run(watch()) == [], "the run has not ended, so nothing says so"


def test_long_texts_are_cut_with_their_length_and_short_ones_kept() -> None:
    text = "é" * (LONGEST + 1)
    event = slim(json.dumps(expanded(0, [birth(1, 0, text), birth(2, 1, text[1:])])).encode(), 7)
    assert event["births"][0]["thought"] == {"cut": text[1:], "length": LONGEST + 1}
    assert event["births"][1]["thought"] == text[1:]
    assert event["at"] == 7


def test_a_byte_order_mark_changes_nothing(here: Site, http: httpx2.Client) -> None:
    path = here.runs.folder / "one.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert http.get("/runs").json()["runs"][0]["prompt"] == "Why?"
    assert len(streamed(http.get("/runs/one/events"))[0]["events"]) == 4  # type: ignore[arg-type]
    assert "Why?" in single_page(path)


def test_a_summary_never_fails(tmp_path: Path) -> None:
    odd = '{"run":{"method":[],"problem":null},"about":4}\n'
    for text in ("", '{"run":', '{"run":3}\n', '{"run":{}}\n', odd, '{"run":{}}\n{"event":"stopped","usage":7}\n'):
        (tmp_path / "x.jsonl").write_text(text)
        assert summary(tmp_path / "x.jsonl")["stop"] is None
    assert "cannot be read" in summary(tmp_path / "none.jsonl")["error"]


def test_the_files_of_the_page_need_no_token_and_all_else_does(tmp_path: Path) -> None:
    trace(tmp_path / "one.jsonl")
    keys = Keys([("a-token-of-some-length", Account("me"))])
    with serving(tmp_path, keys=keys) as served, served.http() as stranger, served.http("a-token-of-some-length") as friend:
        for path in ("/", "/viewer/page.css", *(f"/viewer/{name}" for name in scripts())):
            assert stranger.get(path).status_code == 200, path
        for path in ("/runs", "/runs/one/events", "/runs/one/lines/0"):
            assert stranger.get(path).status_code == 401, path
        assert friend.get("/runs").status_code == 200


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


def test_a_single_trace_is_served_alone(tmp_path: Path) -> None:
    trace(tmp_path / "my run; 1.jsonl")
    trace(tmp_path / "other.jsonl")
    with folder_of(tmp_path / "my run; 1.jsonl") as (folder, run), TestClient(
        application(Runs(folder, linked=True)), base_url="http://localhost"
    ) as client:
        assert [one["id"] for one in client.get("/runs").json()["runs"]] == [run] == ["my-run-1"]
        assert client.get("/runs/other/events").status_code == 404
    assert not folder.exists()


def test_the_folder_of_a_bench_shows_its_traces(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_text("{}")
    (tmp_path / "traces").mkdir()
    with folder_of(tmp_path) as (folder, run):
        assert (folder, run) == (tmp_path / "traces", "")
    with folder_of(tmp_path / "traces") as (folder, run):
        assert (folder, run) == (tmp_path / "traces", "")


def test_one_file_carries_all_and_its_policy_allows_only_its_own_script(tmp_path: Path) -> None:
    page = single_page(trace(tmp_path / "one.jsonl", stopped(1, "</script><b>&")))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "default-src 'none'; script-src 'sha256-" in policy[1]
    assert "unsafe" not in policy[1]
    data = re.search(r'<script type="application/json" id="data">([^<]*)</script>', page)
    assert data is not None
    found = json.loads(data[1])
    assert found["events"][-1]["answer"] == "</script><b>&"
    assert "viewer/" not in page.split("<script", 1)[0]
    assert page.count("<script") == 2


def test_the_scripts_fit_together_as_one() -> None:
    names = re.findall(r"^(?:async )?(?:function\*?|class|const|let) (\w+)", joined(), re.MULTILINE)
    assert len(names) == len(set(names)), "two files of the page use one name"
    assert "import" not in re.sub(r"//.*|\bimportant\b", "", joined()).split()


def test_one_file_is_refused_for_what_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\nno\n")
    with pytest.raises(TraceError, match="not a line"):
        single_page(tmp_path / "x.jsonl")
    with pytest.raises(TraceError, match="cannot read"):
        single_page(tmp_path / "none.jsonl")
    for depth in (300, 900):
        path = trace(tmp_path / "deep.jsonl")
        path.write_text(path.read_text() + f'{{"event":"x","y":{nested(depth)}}}\n')
        with pytest.raises(TraceError, match="nested too deeply"):
            single_page(path)
