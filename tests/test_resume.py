"""A run that is killed at any point goes on where it was; what belongs to another run, or is no trace, is refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from branchwise import (
    Adaptive,
    Beam,
    Budget,
    DepthFirst,
    Mcts,
    Method,
    Price,
    Propose,
    RetryPolicy,
    Sample,
    TapeModel,
    TraceError,
    Tree,
    Value,
    preset,
    read_trace,
    solve,
)  # fmt: skip
from branchwise.errors import MissingCall, TransientError
from branchwise.trace import Started, Stopped
from support.killed import METHODS, toy
from support.models import FakeModel, silent
from support.tapes import samples_of
from support.trees import snapshot
from support.worlds import PROMPTS, Toy

TESTS = Path(__file__).parent
SEED = 2
ONCE = RetryPolicy(attempts=1)


def logged(path: Path) -> set[tuple[str, int]]:
    lines = [line.split("\t") for line in path.read_text().splitlines()] if path.exists() else []
    return {(where, int(index)) for where, index in lines}


@pytest.mark.parametrize("half", [False, True], ids=["after a line", "within a line"])
@pytest.mark.parametrize("name", list(METHODS))
async def test_a_run_killed_at_every_event_goes_on_to_the_same_tree_and_pays_only_what_is_missing(
    name: str, half: bool, tmp_path: Path
) -> None:
    command = [sys.executable, str(TESTS / "support" / "killed.py"), str(tmp_path), name, str(SEED), str(int(half))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": str(TESTS)})  # noqa: ASYNC221
    assert done.returncode == 0, done.stderr
    events = int(done.stdout)
    assert events > 10
    method = METHODS[name]
    whole = FakeModel(toy(SEED).reply)
    unbroken = await solve(toy(SEED), method, whole, seed=SEED)
    everything = set(whole.samples)
    for n in range(1, events + 1):
        trace = tmp_path / f"{n}.jsonl"
        paid = logged(tmp_path / f"{n}.paid")
        if half and n == 1:
            with pytest.raises(TraceError, match="no run"):
                await solve(toy(SEED), method, FakeModel(silent), seed=SEED, resume=trace)
            continue
        taped = samples_of(trace)
        assert taped <= paid <= everything
        model = FakeModel(toy(SEED).reply, jitter=n)
        result = await solve(toy(SEED), method, model, seed=SEED, resume=trace, parallel=1 + n % 5)
        assert snapshot(result.tree) == snapshot(unbroken.tree), n
        assert (result.answer, result.stop_reason) == (unbroken.answer, unbroken.stop_reason)
        assert len(model.samples) == len(set(model.samples))
        assert set(model.samples) == everything - taped, n
        assert paid - taped <= set(model.samples), "what was in flight at the kill is paid again"
        assert result.usage.calls == unbroken.usage.calls
        assert snapshot(Tree.fold(read_trace(trace))) == snapshot(unbroken.tree)
        assert any("last line is cut" in warning for warning in result.warnings) == half, "the cut line is told"
        assert sum(isinstance(event, Started) for event in read_trace(trace)) == 2


async def finished(tmp_path: Path, method: Method | None = None, problem: Toy | None = None, **settings: Any) -> Path:
    trace = tmp_path / "run.jsonl"
    await solve(
        problem or toy(SEED), method or METHODS["beam"], FakeModel((problem or toy(SEED)).reply), trace=trace, seed=SEED, **settings
    )
    return trace


async def test_resuming_a_finished_run_makes_no_call(tmp_path: Path) -> None:
    trace = await finished(tmp_path)
    before = snapshot(Tree.fold(read_trace(trace)))
    for _ in range(3):
        result = await solve(toy(SEED), METHODS["beam"], FakeModel(silent), resume=trace, seed=SEED)
        assert snapshot(result.tree) == before == snapshot(Tree.fold(read_trace(trace)))
    assert sum(isinstance(event, Stopped) for event in read_trace(trace)) == 4


async def test_a_cut_last_line_is_dropped_with_a_notice_and_the_next_one_starts_afresh(tmp_path: Path) -> None:
    trace = await finished(tmp_path)
    data = trace.read_bytes()
    for cut in range(1, len(data.splitlines(keepends=True)[-1]), 37):
        trace.write_bytes(data[:-cut])
        notices: list[str] = []
        list(read_trace(trace, notices.append))
        assert len(notices) == 1
        assert "last line" in notices[0]
        result = await solve(toy(SEED), METHODS["beam"], FakeModel(silent), resume=trace, seed=SEED)
        assert any("last line" in warning for warning in result.warnings)
        for line in trace.read_bytes().splitlines():
            orjson.loads(line)


OTHERS: dict[str, tuple[Callable[[Toy], Toy], Callable[[Method], Method], int, str]] = {
    "problem": (lambda p: replace(p, seed=99), lambda m: m, SEED, "fake"),
    "problem (wording)": (lambda p: replace(p, prompts={**PROMPTS, "value": "VALUE now\n{{prompt}}"}), lambda m: m, SEED, "fake"),
    "method": (lambda p: p, lambda m: replace(m, search=Beam(breadth=3, depth=2)), SEED, "fake"),
    "method (sampling)": (lambda p: p, lambda m: replace(m, evaluate=Value(samples=3)), SEED, "fake"),
    "model": (lambda p: p, lambda m: m, SEED, "another"),
    "seed": (lambda p: p, lambda m: m, SEED + 1, "fake"),
    "window": (lambda p: p, lambda m: replace(m, window=2), SEED, "fake"),
}


@pytest.mark.parametrize("what", list(OTHERS))
async def test_other_settings_are_refused_by_name_before_any_call_and_leave_the_file_as_it_was(what: str, tmp_path: Path) -> None:
    trace = await finished(tmp_path)
    data = trace.read_bytes()
    problem, method, seed, name = OTHERS[what]
    model = FakeModel(toy(SEED).reply, name=name)
    with pytest.raises(TraceError, match=f"another {what.split()[0]}"):
        await solve(problem(toy(SEED)), method(METHODS["beam"]), model, resume=trace, seed=seed)
    assert model.calls == 0
    assert trace.read_bytes() == data


ENDING = {
    "mcts": lambda n: Method(name="m", generate=Propose(k=2), evaluate=Value(samples=1), search=Mcts(rollouts=n, depth=4), window=3),
    "mctsr": lambda n: preset("mctsr").make(rollouts=n, patience=0),
    "adaptive": lambda n: Method(name="m", generate=Sample(k=1), evaluate=Value(samples=1), search=Adaptive(rollouts=n, depth=4), window=3),
    "dfs": lambda n: Method(name="m", generate=Propose(k=2), evaluate=Value(samples=1), search=DepthFirst(depth=6, prune_at=-1, max_steps=n)),
}


@pytest.mark.parametrize("parts", [(2, 9), (3, 4, 7), (5, 12)])
@pytest.mark.parametrize("name", list(ENDING))
async def test_a_finished_search_goes_on_under_more_rollouts_to_the_tree_of_one_that_had_them_at_once(
    name: str, parts: tuple[int, ...], tmp_path: Path
) -> None:
    """And pays for nothing twice."""
    problem, trace, asked = toy(SEED), tmp_path / "t.jsonl", list[Any]()
    for at, n in enumerate(parts):
        model = FakeModel(problem.reply, jitter=at)
        where = {"resume": trace} if at else {"trace": trace}
        result = await solve(problem, ENDING[name](n), model, seed=SEED, **where)  # type: ignore[arg-type]
        asked += model.samples
    whole = FakeModel(problem.reply)
    at_once = await solve(problem, ENDING[name](parts[-1]), whole, seed=SEED)
    assert snapshot(result.tree) == snapshot(at_once.tree)
    assert (result.answer, result.stop_reason) == (at_once.answer, at_once.stop_reason)
    assert sorted(asked) == sorted(whole.samples)


async def test_budget_parallelism_and_price_may_change(tmp_path: Path) -> None:
    trace = await finished(tmp_path, budget=Budget(calls=5), parallel=2, price=None)
    result = await solve(
        toy(SEED), METHODS["beam"], FakeModel(toy(SEED).reply), resume=trace, seed=SEED, budget=Budget(tokens=10**6, cost=5.0), parallel=9,
        price=Price(1, 2),
    )  # fmt: skip
    whole = await solve(toy(SEED), METHODS["beam"], FakeModel(toy(SEED).reply), seed=SEED)
    assert snapshot(result.tree) == snapshot(whole.tree)
    assert result.usage.cost, "what was spent at an unknown price is priced now, and is not free"


@pytest.mark.parametrize("seed", [-1, 0, 2**40, 2**80])
async def test_any_seed_can_be_resumed(seed: int, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    for search in (Beam(breadth=2, depth=2), DepthFirst(depth=2, prune_at=float("-inf"))):
        trace.unlink(missing_ok=True)
        method = Method(generate=Propose(k=2), evaluate=Value(), search=search)
        first = await solve(toy(1), method, FakeModel(toy(1).reply), seed=seed, trace=trace)
        again = await solve(toy(1), method, FakeModel(silent), seed=seed, resume=trace)
        assert snapshot(again.tree) == snapshot(first.tree)


async def test_a_new_run_does_not_overwrite_a_trace(tmp_path: Path) -> None:
    trace = await finished(tmp_path)
    with pytest.raises(TraceError, match="exists already"):
        await solve(toy(SEED), METHODS["beam"], FakeModel(silent), trace=trace, seed=SEED)
    with pytest.raises(TraceError, match="either"):
        await solve(toy(SEED), METHODS["beam"], FakeModel(silent), trace=tmp_path / "other.jsonl", resume=trace, seed=SEED)


async def test_a_tape_gives_the_same_tree_offline_at_the_recorded_cost(tmp_path: Path) -> None:
    for seed in range(4):
        for name, method in METHODS.items():
            trace = tmp_path / f"{name}{seed}.jsonl"
            first = await solve(toy(seed), method, FakeModel(toy(seed).reply, jitter=1), seed=seed, trace=trace, price=Price(3, 5))
            again = await solve(toy(seed), method, TapeModel.open(trace), seed=seed, parallel=3)
            assert snapshot(again.tree) == snapshot(first.tree)
            assert again.usage == first.usage
            assert again.answer == first.answer


async def test_a_changed_prompt_says_which_call_is_missing_from_the_tape(tmp_path: Path) -> None:
    trace = await finished(tmp_path)
    other = replace(toy(SEED), prompts={**PROMPTS, "value": "VALUE anew\n{{prompt}}\n{{thoughts}}"})
    result = await solve(other, METHODS["beam"], TapeModel.open(trace), seed=SEED)
    assert result.stop_reason == "failed"
    assert "evaluate at 0" in result.error
    assert "another prompt" in result.error
    assert result.usage.calls == 1, "a call that the tape lacks was not made"


async def test_a_tape_answers_only_the_calls_of_a_run(tmp_path: Path) -> None:
    from branchwise import Request

    with pytest.raises(MissingCall):
        await TapeModel.open(await finished(tmp_path)).sample(Request(()))


async def test_replies_that_came_short_are_replayed_short(tmp_path: Path) -> None:
    """What the server did not give is on the tape too: it is not asked for again, and the tree is the same."""
    problem, method = toy(1), Method(generate=Sample(k=4), evaluate=Value(samples=3), search=Beam(breadth=2, depth=2))
    trace = tmp_path / "t.jsonl"
    first = await solve(problem, method, FakeModel(problem.reply, short=1), trace=trace, retry=ONCE)
    model = FakeModel(problem.reply)
    assert snapshot((await solve(problem, method, TapeModel.open(trace))).tree) == snapshot(first.tree)
    again = await solve(problem, method, model, resume=trace)
    assert model.calls == 0
    assert snapshot(again.tree) == snapshot(first.tree)


async def test_a_call_that_failed_is_asked_again_on_resume(tmp_path: Path) -> None:
    """A fault is no reply: it is not on the tape, and a later run may get past it."""
    problem, method = toy(1), METHODS["chain"]
    trace = tmp_path / "t.jsonl"

    def down(request: Any, tried: int) -> Exception | None:
        return TransientError("down") if request.id.node == "0" and request.role == "generate" else None

    first = await solve(problem, method, FakeModel(problem.reply, fault=down), trace=trace, retry=ONCE)
    whole = await solve(problem, method, FakeModel(problem.reply))
    assert len(first.tree) == 1 < len(whole.tree)
    again = await solve(problem, method, FakeModel(problem.reply), resume=trace)
    assert snapshot(again.tree) == snapshot(whole.tree)


GOOD = orjson.dumps(Started({"model": "fake"}, {})) + b"\n"
CALL = b'{"event":"call","node":"","occurrence":0,"role":"g","digest":"d","repeat":0,"first":0,"samples":[%b]}\n'
FOREIGN = {
    "empty": b"",
    "one newline": b"\n",
    "text": b"Dear diary,\ntoday\n",
    "binary": bytes(range(256)) * 20,
    "binary without a newline": b"\x7fELF\x00\x01" * 50,
    "nulls": b"\x00" * 4096 + b"\n",
    "JSON of another kind": b'{"a": 1}\n{"b": 2}\n',
    "a JSON array": b"[1, 2, 3]\n",
    "a JSON number": b"17\n",
    "a JSON string": b'"started"\n',
    "null": b"null\n",
    "an unknown event": GOOD + b'{"event": "danced"}\n',
    "an event that is a list": GOOD + b'{"event": []}\n',
    "no start": b'{"event": "warned", "text": "x"}\n',
    "a start that is no object": b'{"event": "started", "run": 5, "about": {}}\n',
    "a start without a run": b'{"event": "started"}\n',
    "a start with unknown keys": b'{"event": "started", "run": {}, "about": {}, "shoe": 42}\n',
    "another format": b'{"event": "started", "run": {}, "about": {}, "format": 99}\n',
    "garbage in the middle": GOOD + b'{"event": "wa{"event": "warned", "text": "x"}\n' + GOOD,
    "a call without an outcome": GOOD
    + b'{"event":"call","node":"","occurrence":0,"role":"g","digest":"d","repeat":0,"first":0,"samples":[{}]}\n',
    "a call with a strange outcome": GOOD + CALL % b'{"text":"","outcome":"odd","usage":{}}',
    "a call with a strange usage": GOOD + CALL % b'{"text":"","outcome":"ok","usage":5}',
    "births that are null": GOOD + b'{"event": "expanded", "step": 1, "node": 0, "births": null}\n',
    "UTF-16": "Dear diary\n".encode("utf-16"),
    "JSON with a lone surrogate": GOOD + b'{"event": "warned", "text": "\\ud800"}\n',
}


@pytest.mark.parametrize("kind", list(FOREIGN))
async def test_a_file_that_is_no_trace_gives_a_trace_error_and_is_not_touched(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(FOREIGN[kind])
    with pytest.raises(TraceError, match="other"):
        await solve(toy(SEED), METHODS["beam"], FakeModel(silent), resume=path, seed=SEED)
    assert path.read_bytes() == FOREIGN[kind]


@pytest.mark.parametrize("kind", list(FOREIGN))
def test_a_file_that_is_no_trace_is_no_tape(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(FOREIGN[kind])
    with pytest.raises(TraceError):
        TapeModel.open(path)


async def test_a_trace_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    for bad in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(TraceError, match=str(bad)):
            await solve(toy(SEED), METHODS["beam"], FakeModel(silent), resume=bad, seed=SEED)
    with pytest.raises(TraceError, match="cannot write"):
        await solve(toy(SEED), METHODS["beam"], FakeModel(silent), trace=Path("/proc/none/t.jsonl"), seed=SEED)
    with pytest.raises(TraceError, match="directory"):
        await solve(toy(SEED), METHODS["beam"], FakeModel(silent), trace=tmp_path, seed=SEED)


async def test_a_trace_that_holds_only_a_cut_line_can_be_begun_anew(tmp_path: Path) -> None:
    trace = await finished(tmp_path)
    trace.write_bytes(trace.read_bytes()[:20])
    result = await solve(toy(SEED), METHODS["beam"], FakeModel(toy(SEED).reply), trace=trace, seed=SEED)
    assert snapshot(Tree.fold(read_trace(trace))) == snapshot(result.tree)


async def test_presets_survive_a_resume(tmp_path: Path) -> None:
    for name in ("io", "cot", "cot_sc", "refine", "tot_bfs", "tot_dfs"):
        trace = tmp_path / f"{name}.jsonl"
        first = await solve(toy(2), preset(name).make(), FakeModel(toy(2).reply), trace=trace, budget=Budget(calls=6))
        again = await solve(toy(2), preset(name).make(), FakeModel(toy(2).reply), resume=trace)
        whole = await solve(toy(2), preset(name).make(), FakeModel(toy(2).reply))
        assert snapshot(again.tree) == snapshot(whole.tree), name
        assert first.usage.calls <= 6
