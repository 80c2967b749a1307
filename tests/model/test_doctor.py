"""What the doctor finds, and what it says to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchwise.errors import PermanentError
from branchwise.model import doctor
from branchwise.model.base import LanguageModel, Outcome, Sample
from branchwise.model.doctor import Finding, examine
from branchwise.model.layers.retrying import Retrying, RetryPolicy
from branchwise.model.openai_http import OpenAIChat
from branchwise.model.scripted import Scripted


async def findings(model: LanguageModel, tmp_path: Path) -> dict[str, Finding]:
    return {f.check: f async for f in examine(model, cache=tmp_path / "none.sqlite", folder=tmp_path / "a" / "b")}


async def test_a_healthy_server(faults: Any, tmp_path: Path) -> None:
    async with OpenAIChat("m", faults.url("good")) as chat:
        found = await findings(Retrying(chat), tmp_path)
    assert list(found) == ["model", "n", "logprobs", "schema", "speed", "prefix", "cache", "disk"]
    assert found["model"].ok
    assert found["n"].ok
    assert found["logprobs"].ok is None
    assert found["schema"].ok is False
    assert "tokens/s" in found["speed"].text
    assert found["cache"].ok


@pytest.mark.parametrize("way", ["response_format", "guided", "grammar", "prompt"])
async def test_structure_is_well_in_whichever_way_it_is_had(faults: Any, tmp_path: Path, way: str) -> None:
    async with OpenAIChat("m", faults.url(f"schema:{way}")) as chat:
        assert (await findings(chat, tmp_path))["schema"].ok


async def test_what_is_bad_says_what_to_do(faults: Any, tmp_path: Path) -> None:
    async with OpenAIChat("m", faults.url("schema:never")) as chat:
        found = await findings(chat, tmp_path)
    assert found["schema"].ok is False
    assert "judge with value or vote" in found["schema"].text


async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    async with OpenAIChat("m", "http://127.0.0.1:9/v1") as chat:
        found = await findings(Retrying(chat, RetryPolicy(attempts=1)), tmp_path)
    assert list(found) == ["model", "cache", "disk"]
    assert found["model"].ok is False
    assert "is the server running" in found["model"].text


@pytest.mark.parametrize(
    ("answer", "check", "text"),
    [
        (lambda r, i: Sample("", Outcome.TRUNCATED_IN_REASONING), "model", "larger --max-tokens"),
        (lambda r, i: "same", "n", "all the same"),
    ],
)
async def test_what_is_wrong_says_what_to_do(tmp_path: Path, answer: Callable[..., Any], check: str, text: str) -> None:
    found = await findings(Scripted(answer), tmp_path)
    assert found[check].ok is False
    assert text in found[check].text


async def test_a_bad_key_and_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> str:
        raise PermanentError("check the key")

    monkeypatch.setattr(doctor, "LOW_DISK", 1e18)
    (tmp_path / "none.sqlite").write_text("no cache " * 100)
    found = await findings(Scripted(refuse), tmp_path)
    assert [f.ok for f in found.values()] == [False, False, False]
    assert "make room" in found["disk"].text
