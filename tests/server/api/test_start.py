"""`branchwise serve` as a process: how it starts, what it refuses, and that nothing is lost when it ends, however it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from branchwise import read_trace
from branchwise.cli.main import cli
from branchwise.server.start import bound, ending
from branchwise.trace import Call, Stopped
from support.program import execute, spawn, wait_for
from support.serving import QUESTION, TOLD, Backend, slow_backend

SCRIPT = '{"role": "evaluate", "replies": ["{\\"score\\": 0.6}"]}\n{"contains": ["Name at most"], "replies": ["1. look\\n2. measure"]}\n' \
         '{"replies": ["Answer: Yes, for ten minutes."]}\n'  # fmt: skip


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.jsonl"
    path.write_text(SCRIPT)
    return f"script:{path}"


def started(*flags: object) -> tuple[subprocess.Popen[str], str]:
    """The process, and its address as it says it."""
    process = spawn("serve", "--port", 0, *flags)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"serving on (http://\S+) ", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, found[1]
    raise AssertionError("it did not start")


def ask(url: str, **body: Any) -> httpx2.Response:
    return httpx2.post(f"{url}/v1/chat/completions", json={"model": "best_first", "messages": QUESTION, **body}, timeout=240)


@pytest.fixture
def backend() -> Iterator[Backend]:
    with slow_backend() as found:
        yield found


# Case 91
def test_a_free_port_is_taken_and_a_second_server_has_its_own(script: str, home: Path) -> None:
    first, url = started("--model", script)
    second, other = started("--model", script)
    assert url != other
    for address in (url, other):
        assert ask(address).json()["choices"][0]["message"]["content"] == TOLD
    assert len(list((home / "runs").glob("*.jsonl"))) == 2
    for process in (first, second):
        process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""


def test_a_port_in_use_is_named_with_what_to_do(script: str) -> None:
    with bound("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(cli, ["serve", "--model", script, "--port", str(port)])
    assert done.exit_code == 2
    assert f"port {port} on 127.0.0.1 is in use; choose another with --port" in done.stderr


# Case 101
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_another_host_needs_a_token(script: str, host: str) -> None:
    done = CliRunner().invoke(cli, ["serve", "--model", script, "--port", "0", "--host", host])
    assert done.exit_code == 2
    assert "needs --token-file" in done.stderr


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--model", "tape:x.jsonl"], "cannot serve"), (["--model", "a=local", "--model", "a=local"], "two models"),
        (["--model", "http://x.example/v1#m", "--max-cost", "1"], "price of http://x.example/v1#m is unknown"),
        (["--model", "http://x.example/v1#m", "--key-max-cost", "1"], "price of"), (["--max-calls", "0"], "allows nothing"),
        (["--task", "gam24"], "did you mean"), (["--evaluator-model", "reward:http://x.example/v1"], "cannot serve"),
        (["--searches", "0"], "0 is not in the range"), (["--host", "no host"], "needs --token-file"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_before_it_starts(script: str, flags: list[str], says: str) -> None:
    model = [] if "--model" in flags else ["--model", script]
    done = CliRunner().invoke(cli, ["serve", "--port", "0", *model, *flags])
    assert done.exit_code == 2
    assert says in done.stderr


def test_without_the_extra_it_says_what_to_install(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def lacking(name: str, *rest: Any) -> Any:
        if name.startswith("branchwise.server"):
            raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lacking)
    done = CliRunner().invoke(cli, ["serve", "--model", script])
    assert done.exit_code == 2
    assert "uvicorn is missing" in done.stderr
    assert "pip install 'branchwise[server]'" in done.stderr


def test_a_task_of_a_file_that_was_named_can_be_asked_for(script: str, tmp_path: Path, home: Path) -> None:
    example = Path(__file__).parents[3] / "examples" / "postmortem.yaml"
    _, url = started("--model", script, "--task", example, "--task", "game24")
    names = [model["id"] for model in httpx2.get(f"{url}/v1/models").json()["data"]]
    assert names[0] in ("best_first", "tot_bfs")
    assert "game24/tot_bfs" in names
    assert not any(name.startswith("open/") for name in names)
    reply = ask(url, model=names[0])
    assert reply.status_code in (200, 422)
    assert reply.json()["branchwise"]["task"] == "postmortem"
    metrics = httpx2.get(f"{url}/metrics").text
    assert 'task="postmortem"' in metrics
    assert "postmortem.yaml" not in reply.text + metrics, "where the file lies is the server's own business"


def test_the_first_signal_saves_what_runs_and_ends_in_time(backend: Backend, home: Path) -> None:
    process, url = started("--model", backend.model)
    replies: list[httpx2.Response] = []
    thread = threading.Thread(target=lambda: replies.append(ask(url, model="tot_bfs", branchwise={"depth": 9})))
    thread.start()
    wait_for(lambda: backend.served >= 3)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0
    thread.join()
    assert replies[0].status_code == 503
    assert replies[0].json()["error"]["code"] == "stopping"
    (trace,) = (home / "runs").glob("*.jsonl")
    *_, end = read_trace(trace)
    assert isinstance(end, Stopped)
    assert end.reason == "cancelled"


def test_a_signal_while_nothing_runs_says_so(backend: Backend, home: Path) -> None:
    process = spawn("serve", "--port", 0, "--model", backend.model)
    assert process.stderr is not None
    assert any("serving on" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "interrupted: stopping; no search runs\n" in said
    assert "saving" not in said


def test_what_is_said_of_a_signal_counts_the_searches() -> None:
    assert [ending(count) for count in (0, 1, 2)] == ["stopping; no search runs", "saving 1 search", "saving 2 searches"]


def test_kill_9_leaves_every_trace_readable_and_every_run_can_be_gone_on_with(backend: Backend, home: Path) -> None:
    process, url = started("--model", backend.model, "--searches", 4)

    def left(**body: Any) -> None:
        with pytest.raises(httpx2.TransportError):
            ask(url, **body)

    methods = ("tot_bfs", "best_first", "mctsr_8", "tot_dfs")
    threads = [threading.Thread(target=left, kwargs={"model": method, "seed": seed}) for seed, method in enumerate(methods)]
    for thread in threads:
        thread.start()
    wait_for(lambda: backend.served >= 20)
    process.kill()
    process.wait()
    for thread in threads:
        thread.join()
    traces = sorted((home / "runs").glob("*.jsonl"))
    assert len(traces) == 4
    paid = 0
    for trace in traces:
        events = list(read_trace(trace))
        assert not isinstance(events[-1], Stopped)
        paid += sum(len(event.samples) for event in events if isinstance(event, Call))
    assert paid >= 20 - 8, "no more is lost than what was in flight"
    for trace in traces:
        before = backend.served
        done = execute("solve", "--resume", trace, "--json", "--max-calls", 40)
        assert done.returncode in (0, 3), done.stderr
        result = json.loads(done.stdout)
        replayed = sum(len(event.samples) for event in read_trace(trace) if isinstance(event, Call))
        assert result["usage"]["calls"] <= 40
        assert backend.served - before <= result["usage"]["calls"]
        assert replayed == result["usage"]["calls"]
    _, again = started("--model", backend.model)
    assert len(httpx2.get(f"{again}/runs").json()["runs"]) == 4
