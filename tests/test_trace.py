"""The trace is the truth: its fold is the live tree, any text survives it, and a full disk loses nothing that was committed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from branchwise import Beam, Chain, DepthFirst, Method, Sample, Sampling, TraceError, Tree, Value, read_trace, solve
from branchwise.appending import AppendFile
from branchwise.trace import Birth, Call, Expanded, Judged, Judgement, Recorder, Started, Stopped, TapedSample, Warned
from support.models import FakeModel, Known, Listed, silent
from support.runs import random_budget, random_method, run
from support.trees import snapshot
from support.worlds import Drawn, Toy


async def test_the_fold_of_a_trace_is_the_live_tree_and_listeners_see_what_the_file_holds(tmp_path: Path) -> None:
    for seed in range(60):
        rng, events = Random(seed), []
        trace = tmp_path / f"{seed}.jsonl"
        budget = random_budget(rng) if seed % 2 else None
        method = random_method(rng)
        result, _ = await run(
            Toy(seed, solved=0.02), method, budget=budget, price=None if not seed % 2 else _cheap(), trace=trace, on_event=events.append
        )
        assert snapshot(Tree.fold(read_trace(trace))) == snapshot(result.tree)
        assert snapshot(Tree.fold(iter(events))) == snapshot(result.tree)
        assert [event.event for event in read_trace(trace)] == [event.event for event in events]
        assert isinstance(events[0], Started)
        assert isinstance(events[-1], Stopped)
        assert events[-1].usage["calls"] == result.usage.calls


def _cheap() -> Any:
    from branchwise import Price

    return Price(0.1, 0.2)


async def test_a_line_is_on_disk_before_the_tree_changes(tmp_path: Path) -> None:
    trace, seen = tmp_path / "t.jsonl", []

    def listen(event: Any) -> None:
        seen.append(event.event)
        assert len(trace.read_bytes().splitlines()) == len(seen)

    await solve(
        Toy(1),
        Method(generate=Sample(k=3), evaluate=Value(), search=Beam(breadth=2, depth=2)),
        FakeModel(Toy(1).reply),
        trace=trace,
        on_event=listen,
    )
    assert len(seen) > 5


HOSTILE = {
    "NUL": "a\0b",
    "line ends": "a\nb\r\nc\u2028d\u2029e\x0bf\x85g",
    "a lone surrogate": "a\ud800b",
    "many surrogates": "\udfff\ud800" * 10,
    "beyond the BMP": "𝔘🌳",
    "right to left": "\u202eabc",
    "1 MB": "x" * 1_000_000,
    "1 MB of three bytes each": "木" * 350_000,
    "JSON": '{"event": "started"}\n',
    "quotes": "\\\"'`<script>&amp;{{prompt}}",
    "a BOM": "\ufeffx",
    "controls": "".join(map(chr, range(1, 32))) + "x\x7f",
}


@pytest.mark.parametrize("kind", list(HOSTILE))
@pytest.mark.parametrize("search", [Beam(breadth=2, depth=2), Chain(depth=3), DepthFirst(depth=2)], ids=["beam", "chain", "dfs"])
async def test_any_text_of_a_model_survives_a_round_trip(kind: str, search: Any, tmp_path: Path) -> None:
    """Thoughts in the live tree, in the trace and after a resume are the same."""
    trace = tmp_path / "t.jsonl"
    toy = Toy(1, dead=0, complete=0, malformed=0, merge=False)

    def text(request: Any, i: int) -> str:
        return f"{request.first + i}{HOSTILE[kind]}" if request.role == "generate" else toy.reply(request, i)

    method = Method(generate=Sample(k=2, whole=True, sampling=Sampling(max_tokens=200_000)), evaluate=Value(samples=1), search=search)
    first = await solve(toy, method, FakeModel(text), trace=trace)
    assert len(first.tree) >= 3
    if "surrogate" not in kind:
        assert first.tree.nodes[1].thought == f"0{HOSTILE[kind]}".strip()
    assert snapshot(Tree.fold(read_trace(trace))) == snapshot(first.tree)
    assert snapshot((await solve(toy, method, FakeModel(silent), resume=trace)).tree) == snapshot(first.tree)
    first._repr_html_().encode()
    orjson.dumps(first.to_json())


texts = st.text(st.characters(codec="utf-8"))
texts_of_any_kind = st.text()
floats = st.floats(0, 1) | st.none()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts, texts, floats, st.lists(floats, max_size=3))
def test_events_survive_the_file(tmp_path: Path, a: str, b: str, value: float | None, samples: list[float | None]) -> None:
    path = tmp_path / "t.jsonl"
    path.unlink(missing_ok=True)
    events = [
        Started({"prompt": a}, {}),
        Call(
            a,
            1,
            "generate",
            "d",
            0,
            2,
            [TapedSample(b, "ok", {"calls": 1}, a, logprobs=[{a: -1.5}])],
            b,
            a,
            [{"role": "user", "content": a}],
        ),
        Expanded(1, 0, [Birth(1, 0, a, "dead", b, value)], [(a, b)], [Judgement(1, value, samples, a)]),
        Judged(2, [Judgement(1, value, samples, b)], a),
        Warned(a),
        Stopped(a, 1, b, None, {"calls": 3}),
    ]
    recorder = Recorder(path)
    for event in events:
        recorder.write(event)
    recorder.close()
    assert list(read_trace(path)) == events


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts_of_any_kind, st.integers(-(2**100), 2**100))
def test_whatever_is_written_is_one_line_that_can_be_read(tmp_path: Path, text: str, number: int) -> None:
    path = tmp_path / "t.jsonl"
    path.unlink(missing_ok=True)
    recorder = Recorder(path)
    for event in (Started({"prompt": text}, {"n": number}), Warned(text)):
        recorder.write(event)
    recorder.close()
    assert len(list(read_trace(path))) == 2


class Disk:
    """A file on a disk that is full after `room` bytes; half a line may still fit."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def write(self, data: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        part = data[: self.room]
        self.room -= len(part)
        return self.file.write(part)  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Fills the disk after so many bytes."""

    def fill(room: int) -> None:
        plain = AppendFile.__init__

        def init(self: AppendFile, path: Path) -> None:
            plain(self, path)
            self._file = Disk(self._file, room)  # type: ignore[assignment]

        monkeypatch.setattr(AppendFile, "__init__", init)

    return fill


@pytest.mark.parametrize("freed", [False, True], ids=["stays full", "is freed again"])
async def test_a_full_disk_gives_a_trace_error_and_loses_nothing_that_was_committed(
    freed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full_disk: Callable[[int], None]
) -> None:
    toy = Toy(2, dead=0.05, complete=0.05)
    method = Method(generate=Sample(k=3), evaluate=Value(samples=1), search=Beam(breadth=2, depth=3))
    whole = await solve(toy, method, FakeModel(toy.reply), trace=tmp_path / "whole.jsonl")
    size = (tmp_path / "whole.jsonl").stat().st_size
    first = (tmp_path / "whole.jsonl").read_bytes().index(b"\n") + 1
    for room in range(first, size, (size - first) // 12):
        trace = tmp_path / f"{room}.jsonl"
        with monkeypatch.context() as patch:
            patch.setattr(AppendFile, "__init__", AppendFile.__init__)
            full_disk(room)
            model = FakeModel(toy.reply, jitter=room)

            task = solve(toy, method, model, trace=trace, parallel=4)
            if freed:
                plain = Disk.write

                def write(self: Disk, data: bytes, plain: Any = plain) -> int:
                    try:
                        return plain(self, data)  # type: ignore[no-any-return]
                    except OSError:
                        self.room = 10**9
                        raise

                patch.setattr(Disk, "write", write)
            with pytest.raises(TraceError, match=r"No space left.*--resume"):
                await task
            assert model.flying == 0
        monkeypatch.undo()
        again = await solve(toy, method, FakeModel(toy.reply), resume=trace)
        assert snapshot(again.tree) == snapshot(whole.tree)


def test_a_recorder_without_a_file_only_tells() -> None:
    told: list[Any] = []
    recorder = Recorder(None, [told.append])
    recorder.write(Warned("x"))
    recorder.close()
    assert told == [Warned("x")]


def test_events_that_make_no_tree_are_refused() -> None:
    start = Started({}, {})
    for event in (Expanded(1, 7), Judged(1, [Judgement(9, 0.5)]), Expanded(1, 0, [Birth(1, 0, "x", "sleepy")])):
        with pytest.raises(TraceError):
            Tree.fold(iter((start, event)))


async def test_a_long_chain_is_no_trouble(tmp_path: Path) -> None:
    """Recursion, labels and paths at depth 3,000."""
    children = {tuple(f"{i}" for i in range(depth)): [f"{depth}"] for depth in range(3000)}
    result = await solve(
        Drawn(children), Method(generate=Listed(), evaluate=Known(), search=Chain(depth=3000)), FakeModel(silent), trace=tmp_path / "t"
    )
    assert len(result.tree) == 3000
    assert result.node is not None
    assert result.path[-1] == "2999"
    assert len(result._repr_html_()) > 3000
    assert len({node.label for node in result.tree}) == 3000
    assert Tree.fold(read_trace(tmp_path / "t")).nodes[-1].state == result.node.state
