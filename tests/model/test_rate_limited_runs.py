"""A whole run against a server that asks to wait: it waits where there is time, and else says why it ends (case 73)."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from branchwise import Beam, Budget, Method, Propose, Value, solve
from branchwise.cli.main import cli
from branchwise.errors import UsageError
from branchwise.model.layers.retrying import RetryPolicy
from branchwise.model.openai_http import OpenAIChat
from support.pace import slowness
from support.worlds import Toy

METHOD = Method(name="m", generate=Propose(k=2), evaluate=Value(samples=1), search=Beam(breadth=1, depth=1))


async def test_a_wait_that_outlasts_the_run_ends_it_with_the_reason(faults: Any, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    start = time.monotonic()
    async with OpenAIChat("m", faults.url("retry_after:120")) as chat:
        result = await solve(Toy(), METHOD, chat, budget=Budget(seconds=30), trace=trace)
        assert time.monotonic() - start < 10 * slowness()
        assert (result.stop_reason, result.unfinished) == ("budget:seconds", True)
        (warning,) = result.warnings
        assert "rate-limited by the server, which asked for 120 s" in warning
        assert "slow down (status 429)" in warning
        assert len(faults.seen["retry_after:120"]) == 1
        again = await solve(Toy(), METHOD, chat, budget=Budget(seconds=30), resume=trace)
    assert not [text for text in again.warnings if "rate-limited" in text]
    assert again.usage.calls > 1


async def test_a_wait_that_fits_is_waited_out(faults: Any) -> None:
    async with OpenAIChat("m", faults.url("low_tier:0.3")) as chat:
        result = await solve(Toy(), METHOD, chat, budget=Budget(seconds=60))
    assert not [text for text in result.warnings if "rate-limited" in text]
    assert (result.error, result.stop_reason.startswith("budget")) == ("", False)


async def test_the_deadline_of_a_call_can_be_set_on_the_command_line(faults: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[float] = []

    async def solved(*_: Any, retry: RetryPolicy, **__: Any) -> None:
        found.append(retry.deadline)
        raise KeyboardInterrupt

    async def program(*more: str) -> Result:
        words = ["solve", "4 9 10 13", "--task", "game24", "--model", f"{faults.url('retry_after:120')}#m", "--trace", "none", *more]
        return await asyncio.to_thread(CliRunner().invoke, cli, words)

    refused = await program("--retry-seconds", "60")
    assert refused.exit_code == 1
    assert "waiting 120 s more would pass the deadline of 60 s" in refused.output
    for wrong in ("0", "nan", "-1", "soon"):
        assert (await program("--retry-seconds", wrong)).exit_code == 2
    monkeypatch.setattr("branchwise.cli.running.solve", solved)
    for flags in ((), ("--retry-seconds", "7.5"), ("--retry-seconds", "none")):
        await program(*flags)
    assert found == [300, 7.5, float("inf")]


async def test_a_bench_tries_its_calls_no_longer_than_it_is_told(faults: Any, tmp_path: Path) -> None:
    words = ["bench", "run", "--tasks", "game24", "--methods", "io", "--items", "1:1", "--quiet", "--out", str(tmp_path / "out")]
    words += ["--models", f"{faults.url('retry_after:120')}#m", "--retry-seconds"]
    assert (await asyncio.to_thread(CliRunner().invoke, cli, [*words, "0"])).exit_code == 2
    done = await asyncio.to_thread(CliRunner().invoke, cli, [*words, "60"])
    assert done.exit_code == 1, done.output
    lines = (tmp_path / "out" / "rows.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 1
    assert "would pass the deadline of 60 s" in lines[0]


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_server_tries_its_calls_no_longer_than_it_is_told(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[float] = []

    def stopped(start: Any) -> Any:
        found.append(start.config.retry.deadline)
        raise UsageError("far enough")

    monkeypatch.setattr("branchwise.server.start.serve" if command == "serve" else "branchwise.server.start.running", stopped)
    script = str(Path(__file__).parents[2] / "examples" / "game24_script.jsonl")
    for flags in ((), ("--retry-seconds", "7.5"), ("--retry-seconds", "none")):
        done = CliRunner().invoke(cli, [command, "--model", f"script:{script}", *flags])
        assert "far enough" in done.output, done.output
    assert found == [300, 7.5, float("inf")]
