"""What the page reads of a server: files with a strict policy, the list, streams from any byte, single lines; and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from branchwise import Result, TraceError
from branchwise.server.keys import Account, Keys
from branchwise.server.runs import Runs
from branchwise.server.viewer.files import asset, scripts
from branchwise.server.viewer.follow import follow
from branchwise.server.viewer.listing import summary
from branchwise.server.viewer.local import application, folder_of
from branchwise.server.viewer.serving import POLICY
from branchwise.server.viewer.single import joined, single_page
from branchwise.server.viewer.slim import LONGEST, slim
from support.browsing import Site, birth, expanded, large_trace, site, stopped, toy_run
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
