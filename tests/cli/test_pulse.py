"""A plain line now and then where there is no terminal: on time, not oftener, and never instead of the result."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from branchwise.budget import Usage
from branchwise.cli import bench_live, live, many, pulse
from branchwise.cli.pulse import Pulse, Tally, beating, so_far
from branchwise.cli.text import seconds
from support.program import HAND, SCRIPT, Program


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, duration: float) -> None:
        self.now += duration
        await asyncio.sleep(0)


async def pass_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_line_is_said_at_most_once_in_so_many_seconds() -> None:
    clock, said = Clock(), list[str]()
    beat = Pulse(said.append, lambda: f"at {clock.now:g}", every=60, clock=clock)
    for second in (1000, 1059.9, 1060, 1061, 1119.9, 1120, 1500, 1501):
        clock.now = second
        beat.beat()
    assert said == ["at 1060", "at 1120", "at 1500"]


async def test_it_beats_while_the_body_runs_and_not_after() -> None:
    clock, said = Clock(), list[str]()
    async with beating(Pulse(said.append, lambda: f"at {clock.now:g}", every=60, clock=clock), clock.sleep):
        await pass_turns(140)
    assert said == ["at 1060", "at 1120"]
    clock.now = 2000.0
    await pass_turns(5)
    assert said == ["at 1060", "at 1120"]


async def test_without_a_pulse_nothing_is_awaited() -> None:
    async with beating(None):
        assert len(asyncio.all_tasks()) == 1


async def test_a_log_that_cannot_be_written_does_not_end_the_body() -> None:
    clock = Clock()

    def broken(text: str) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    async with beating(Pulse(broken, lambda: "x", every=1, clock=clock), clock.sleep):
        await pass_turns(5)


async def test_an_error_of_the_body_is_its_own() -> None:
    clock = Clock()
    with pytest.raises(KeyError):
        async with beating(Pulse(lambda text: None, lambda: "x", clock=clock), clock.sleep):
            raise KeyError("x")


def test_the_line_says_thoughts_calls_tokens_cost_and_time() -> None:
    assert so_far(1, Usage(), 0.5) == "1 thought, 0 calls, 0 tokens, 0.50 s"
    spent = Usage.from_json({"calls": 30, "requests": 30, "prompt_tokens": 7000, "completion_tokens": 1000, "cost_usd": 0.0123})
    assert so_far(12, spent, 185) == "12 thoughts, 30 calls, 8,000 tokens, $0.0123, 3 min 5 s"


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock finds it time, and looks follow each other at once."""
    monkeypatch.setattr(pulse, "_LOOK", 0.0)
    for module in (live, many, bench_live):

        def made(say: object, line: object, **_: object) -> Pulse:
            return Pulse(say, line, every=0.0)  # type: ignore[arg-type]

        monkeypatch.setattr(module, "Pulse", made)


@pytest.mark.usefixtures("always")
def test_solve_off_a_terminal_says_that_it_runs(program: Program) -> None:
    result = program("solve", HAND, *SCRIPT)
    lines = [line for line in result.stderr.splitlines() if line.startswith("still running: ")]
    assert lines
    assert lines[0].startswith("still running: 0 thoughts, ")
    assert "still running" not in result.stdout


@pytest.mark.usefixtures("always")
def test_quiet_says_nothing_and_json_keeps_standard_output_to_the_document(program: Program) -> None:
    result = program("solve", HAND, *SCRIPT, "--quiet", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["solved"] is True
    result = program("solve", HAND, *SCRIPT, "--json")
    assert "still running: " in result.stderr
    assert json.loads(result.stdout)["solved"] is True


@pytest.mark.usefixtures("always")
def test_many_problems_say_how_many_are_done(program: Program, tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"id": "a", "prompt": HAND}) + "\n")
    given = ("solve", "--input", own, *SCRIPT, "--out")
    lines = [line for line in program(*given, tmp_path / "a.jsonl").stderr.splitlines() if line.startswith("still running: ")]
    assert lines
    assert lines[0].startswith("still running: 0/1 problems, 0 thoughts, ")
    assert program(*given, tmp_path / "b.jsonl", "--quiet").stderr == ""


@pytest.mark.usefixtures("always")
def test_a_bench_tells_its_rate_before_the_first_unit_has_ended(program: Program, tmp_path: Path) -> None:
    model = SCRIPT[SCRIPT.index("--model") + 1]
    given = ("bench", "run", "--tasks", "game24", "--methods", "tot_bfs", "--models", model, "--items", "900", "--out")
    result = program(*given, tmp_path / "a")
    first = next(line for line in result.stderr.splitlines() if "units" in line or line.startswith("["))
    assert first.startswith("  0/1 units, ")
    assert "calls/s" in first
    assert program(*given, tmp_path / "b", "--quiet").stderr == ""


def test_a_tally_counts_new_thoughts_and_replies_of_all_runs(program: Program, tmp_path: Path) -> None:
    from branchwise.trace import read_trace

    trace = tmp_path / "run.jsonl"
    assert program("solve", HAND, *SCRIPT, "--trace", trace).exit_code == 0
    clock = Clock()
    tally = Tally(clock)
    for _ in range(2):
        for event in read_trace(trace):
            tally.on_event(event)
    clock.now += 61
    calls, tokens = tally.usage.calls, tally.usage.tokens
    assert (tally.thoughts, calls) == (2 * 9, 2 * 25)
    assert tally.line() == so_far(18, tally.usage, 61)
    assert tokens > 0


def test_a_duration_is_told_in_the_units_that_it_takes() -> None:
    told = {0.42: "0.42 s", 12.34: "12.3 s", 185: "3 min 5 s", 7199: "119 min 59 s", 7200: "2 h 0 min", 225_330: "62 h 35 min"}
    assert {duration: seconds(duration) for duration in told} == told
