"""The tools with the official MCP client over stdio: answers, progress, budgets, errors, and the client's own model in both protocols."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.context import ClientRequestContext

from branchwise import UsageError, read_trace
from branchwise.cli.main import cli
from branchwise.server.compare import comparison
from branchwise.trace import Stopped
from support.serving import ANSWER, PROPOSED, TOLD, slow_backend

QUESTION = "Should we cache the sessions?"
SCRIPT = '{"role": "evaluate", "contains": ["thought:\\nin redis"], "replies": ["{\\"reason\\": \\"quick\\", \\"score\\": 0.9}"]}\n' \
         '{"role": "evaluate", "replies": ["{\\"reason\\": \\"plain\\", \\"score\\": 0.4}"]}\n' \
         '{"contains": ["Name at most"], "replies": ["1. look\\n2. measure"]}\n{"replies": ["Answer: Yes, for ten minutes."]}\n'  # fmt: skip


@asynccontextmanager
async def connected(folder: Path, *flags: object, mode: Any = "auto", **settings: Any) -> AsyncIterator[Client]:
    """The program started by the client, as clients do."""
    keep = {key: value for key, value in os.environ.items() if key not in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")}
    command = ["-W", "error", "-m", "branchwise.cli", "mcp", "--runs", str(folder / "runs"), *map(str, flags)]
    server = StdioServerParameters(command=sys.executable, args=command, env=keep)
    async with Client(server, mode=mode, read_timeout_seconds=60, **settings) as client:
        yield client


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "script.jsonl").write_text(SCRIPT)
    return f"script:{tmp_path / 'script.jsonl'}"


def content(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    found: dict[str, Any] = result.structured_content
    return found.get("result", found)


def text(result: Any) -> str:
    return "".join(part.text for part in result.content)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_deliberate_answers_with_progress_and_a_trace(tmp_path: Path, model: str, mode: str) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with connected(tmp_path, "--model", model, mode=mode) as client:
        names = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(names) == {"deliberate", "compare_options"}
        assert "game24" in (names["deliberate"].description or "")
        result = await client.call_tool("deliberate", {"problem": QUESTION, "k": 2, "max_calls": 30, "seed": 3}, progress_callback=progress)
    found = content(result)
    assert found["answer"] == TOLD
    assert found["calls"] > 3
    assert found["cost_usd"] == 0
    assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
    assert told
    assert told[-1][1] == 30
    *_, end = read_trace(tmp_path / "runs" / f"{found['run']}.jsonl")
    assert isinstance(end, Stopped)
    assert end.usage["calls"] == found["calls"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_is_cancelled_ends_its_search(tmp_path: Path, mode: str) -> None:
    with slow_backend() as backend:
        async with connected(tmp_path, "--model", backend.model, mode=mode) as client:
            with anyio.move_on_after(20) as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.call_tool, "deliberate", {"problem": QUESTION, "method": "tot_bfs", "depth": 9})
                    while backend.served < 3:  # noqa: ASYNC110
                        await anyio.sleep(0.02)
                    tasks.cancel_scope.cancel()
            assert not scope.cancelled_caught
            await anyio.sleep(0.5)
            served = backend.served
            await anyio.sleep(0.5)
            assert backend.served == served
            (trace,) = (tmp_path / "runs").glob("*.jsonl")
            *_, end = read_trace(trace)
            assert isinstance(end, Stopped)
            assert end.reason == "cancelled"
            refused = await client.call_tool("deliberate", {"problem": " "})
            assert refused.is_error


async def test_a_budget_is_held_and_a_larger_one_than_the_servers_is_refused(tmp_path: Path, model: str) -> None:
    async with connected(tmp_path, "--model", model, "--max-calls", 20) as client:
        found = content(await client.call_tool("deliberate", {"problem": QUESTION, "max_calls": 3}))
        assert found["calls"] <= 3
        assert found["stop_reason"] == "budget:calls"
        refused = await client.call_tool("deliberate", {"problem": QUESTION, "max_calls": 21})
        assert refused.is_error
        assert "above this server's limit of 20" in text(refused)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"problem": QUESTION, "method": "tot_bsf"}, "did you mean 'tot_bfs'"), ({"problem": QUESTION, "task": "gam24"}, "did you mean 'game24'"),
    ({"problem": QUESTION, "method": "io", "breadth": 3}, "has no setting 'breadth'"), ({"problem": "  "}, "must state the problem"),
    ({"problem": "no hand", "task": "game24"}, "four"), ({"problem": QUESTION, "task": "/etc/passwd.yaml"}, "unknown task"),
    ({"problem": QUESTION, "context": "material", "task": "game24"}, "no use for an earlier message"), ({}, "problem"),
    ({"problem": QUESTION, "k": 0}, "greater than or equal to 1"), ({"problem": QUESTION, "depth": 10**9}, "above this server's limit"),
]  # fmt: skip


async def test_what_cannot_be_done_is_an_error_that_says_why(tmp_path: Path, model: str) -> None:
    async with connected(tmp_path, "--model", model) as client:
        for arguments, says in REFUSED:
            result = await client.call_tool("deliberate", arguments)
            assert result.is_error
            assert says in text(result)


async def test_an_argument_that_a_tool_does_not_have_is_refused_by_name(tmp_path: Path, model: str) -> None:
    compared = {"question": QUESTION, "options": ["yes", "no"]}
    async with connected(tmp_path, "--model", model) as client:
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False
            assert "max_calls" in tool.input_schema["properties"]
        for name, arguments in (("deliberate", {"problem": QUESTION}), ("compare_options", compared)):
            for wrong, meant in (("max_call", "max_calls"), ("sample", "samples")):
                result = await client.call_tool(name, {**arguments, wrong: 2})
                assert result.is_error
                assert f"{name} has no argument {wrong!r}; did you mean {meant!r}" in text(result)
        assert not (tmp_path / "runs").exists(), "nothing was searched for"


async def test_options_are_judged_ranked_and_the_best_is_written_up(tmp_path: Path, model: str) -> None:
    async with connected(tmp_path, "--model", model) as client:
        given = {"question": "Where to keep sessions?", "options": ["in files", "in redis", "in cookies"], "criteria": ["speed"], "samples": 2}
        found = content(await client.call_tool("compare_options", given))
        again = await client.call_tool("compare_options", {"question": "Where?", "options": ["a", "A "]})
    assert [option["option"] for option in found["options"]] == ["in redis", "in files", "in cookies"]
    assert [option["value"] for option in found["options"]] == [0.9, 0.4, 0.4]
    assert found["options"][0]["samples"] == [0.9, 0.9]
    assert found["options"][0]["reason"]
    assert found["answer"] == TOLD
    assert found["path"][0] == "in redis"
    assert found["calls"] == 3 * 2 + 1
    assert again.is_error
    assert "two options are the same" in text(again)


def sampler(asked: list[types.CreateMessageRequestParams]) -> Callable[..., Any]:
    async def sample(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        asked.append(params)
        prompt = params.messages[-1].content
        assert isinstance(prompt, types.TextContent)
        reply = PROPOSED if "Name at most" in prompt.text else '{"score": 0.6}' if prompt.text.startswith("Judge") else ANSWER
        return types.CreateMessageResult(role="assistant", content=types.TextContent(type="text", text=reply), model="theirs", stop_reason="endTurn")

    return sample


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_clients_own_model_can_think(tmp_path: Path, mode: str) -> None:
    asked: list[types.CreateMessageRequestParams] = []
    async with connected(tmp_path, "--model", "client", mode=mode, sampling_callback=sampler(asked)) as client:
        modern = client.protocol_version >= "2026-07-28"
        found = content(await client.call_tool("deliberate", {"problem": QUESTION, "method": "tot_bfs", "k": 3, "breadth": 2, "depth": 2}))
        compared = content(await client.call_tool("compare_options", {"question": QUESTION, "options": ["yes", "no"]}))
    assert modern == (mode == "auto")
    assert found["answer"] == compared["answer"] == TOLD
    assert found["cost_usd"] is None
    assert found["calls"] + compared["calls"] == len(asked)
    assert Counter(params.max_tokens > 0 and params.temperature is not None for params in asked) == {True: len(asked)}


async def test_a_client_that_does_not_sample_is_told_what_to_do(tmp_path: Path) -> None:
    async with connected(tmp_path, "--model", "client") as client:
        result = await client.call_tool("deliberate", {"problem": QUESTION})
    assert result.is_error
    assert "--model SPEC" in text(result)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_refuses_to_sample_ends_the_search(tmp_path: Path, mode: str) -> None:
    async def refuse(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> types.ErrorData:
        return types.ErrorData(code=-1, message="the user said no")

    async with connected(tmp_path, "--model", "client", mode=mode, sampling_callback=refuse) as client:
        if mode == "legacy":
            result = await client.call_tool("deliberate", {"problem": QUESTION})
            assert result.is_error
            assert "the user said no" in text(result)
        else:
            with pytest.raises(Exception, match="the user said no"):
                await client.call_tool("deliberate", {"problem": QUESTION})
    ends = [list(read_trace(path))[-1] for path in (tmp_path / "runs").glob("*.jsonl")]
    assert all(isinstance(end, Stopped) and end.reason in ("failed", "cancelled") for end in ends)


async def test_a_search_of_too_many_rounds_says_so(tmp_path: Path) -> None:
    asked: list[types.CreateMessageRequestParams] = []
    async with connected(tmp_path, "--model", "client", "--rounds", 2, sampling_callback=sampler(asked)) as client:
        result = await client.call_tool("deliberate", {"problem": QUESTION, "method": "tot_bfs", "depth": 3})
    assert result.is_error
    assert "2 rounds" in text(result)


def test_a_client_that_closes_its_side_leaves_no_process_and_nothing_on_standard_output(tmp_path: Path, model: str) -> None:
    command = [sys.executable, "-W", "error", "-m", "branchwise.cli", "mcp", "--model", model, "--runs", str(tmp_path / "runs")]
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr


def test_a_price_that_is_unknown_cannot_be_limited() -> None:
    done = CliRunner().invoke(cli, ["mcp", "--model", "client", "--max-cost", "1"])
    assert done.exit_code == 2
    assert "price of the client's model is unknown" in done.stderr


def test_the_clients_model_is_no_model_of_solve(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["solve", QUESTION, "--model", "client:sampling", "--trace", "none"])
    assert done.exit_code in (1, 2)
    assert "only `branchwise mcp`" in done.stderr


@pytest.mark.parametrize("options", [["a"], ["a", ""], ["a", "a"], ["a", "x" * 5000], [str(i) for i in range(21)]])
def test_options_that_cannot_be_compared_are_refused(options: list[str]) -> None:
    with pytest.raises(UsageError):
        comparison("which?", options, [], "", 1)
