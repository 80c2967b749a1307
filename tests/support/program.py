"""The program `branchwise` for tests: as a process, with a scripted model as a file and as a slow server. Knows no test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from click.testing import Result

from branchwise.model.base import Message, Request
from branchwise.model.scripted import Scripted

DATA = Path(__file__).parents[1] / "cli" / "data"
HAND = "4 9 10 13"
SCRIPT = ("--task", "game24", "--model", f"script:{DATA / 'solves.jsonl'}", "--prompts", str(DATA / "prompts"))

Program = Callable[..., Result]


_children: list[subprocess.Popen[str]] = []


def end_children() -> None:
    """A test that fails half way leaves no process and no pipe."""
    while _children:
        child = _children.pop()
        child.kill()
        child.wait()
        for pipe in (child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()


def spawn(*arguments: object, **settings: Any) -> subprocess.Popen[str]:
    """The program as a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "branchwise.cli", *map(str, arguments)]
    environment = {key: value for key, value in os.environ.items() if key not in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    child = subprocess.Popen(command, **{**pipes, **settings})
    _children.append(child)
    return child


def execute(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The same, waited for."""
    child = spawn(*arguments)
    out, err = child.communicate(timeout=240)
    return subprocess.CompletedProcess(child.args, child.returncode, out, err)


def wait_for(condition: Callable[[], bool], seconds: float = 180.0) -> None:
    """Until `condition` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a JSON-lines file; none where there is no file."""
    data = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


@dataclass
class SlowServer:
    """A chat-completions server that answers from the script of `solves.jsonl`, after `delay` seconds. `served` counts replies."""

    model: Scripted = field(default_factory=lambda: Scripted.load(DATA / "solves.jsonl"))
    delay: float = 0.1
    served: int = 0
    url: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """Task, model and prompts."""
        return ("--task", "game24", "--model", f"{self.url}/v1#slow", "--prompts", str(DATA / "prompts"))

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """A completion with n choices."""
        prompt = body["messages"][-1]["content"]
        role = "generate" if prompt.startswith("Propose") else "evaluate" if prompt.startswith("Judge") else "answer"
        n = int(body.get("n") or 1)
        reply = self.model._answer
        request = Request((Message("user", prompt),), n, role)
        time.sleep(self.delay)
        self.served += n
        choices = [{"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": reply(request, i)}} for i in range(n)]
        usage = {"prompt_tokens": 10, "completion_tokens": 5 * n, "total_tokens": 10 + 5 * n}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "slow", "choices": choices, "usage": usage}
