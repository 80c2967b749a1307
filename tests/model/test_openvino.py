"""The second engine with real weights: what is true of llama.cpp must be true of it. Skipped only where the extra is not installed.

The small weights are used where the engine reads them; the 1.5 B ones only when BRANCHWISE_REQUIRE_OPENVINO is 1.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from branchwise.errors import ContextOverflow, ModelError, UsageError, WeightsError
from branchwise.model import openvino
from branchwise.model.base import Outcome, Request
from branchwise.model.local import LocalSettings
from branchwise.model.openvino import OpenVINO
from branchwise.model.weights import WEIGHTS, find
from support.pace import slowness

Ask = Callable[..., Request]
PATIENCE = 240 if os.environ.get("BRANCHWISE_REQUIRE_OPENVINO") != "1" else 400
"""Seconds for a process that loads the weights: those of 1.1 GB have been seen to take 100."""
NAME = "qwen2.5-coder-1.5b" if os.environ.get("BRANCHWISE_REQUIRE_OPENVINO") == "1" else "smollm2-135m"
SETTINGS = LocalSettings(slots=8, context=512, threads=1)


def weights() -> Path:
    if not openvino.installed():
        pytest.skip("pip install 'branchwise[openvino]'")
    path = find(NAME)
    if path is None:
        pytest.skip(f"no weights here; run: branchwise models pull {NAME}")
    return path


@pytest.fixture
async def model() -> AsyncIterator[OpenVINO]:
    async with OpenVINO(weights(), name=f"local:{NAME}", digest=WEIGHTS[NAME].sha256, settings=SETTINGS, reasons=False) as running:
        yield running


async def test_it_answers_as_every_backend_does(model: OpenVINO, ask: Ask) -> None:
    """In one test, because loading is the slow part: samples, seeds, usage, ends, structure, log-probabilities, context, cancelling."""
    request = ask("Invent a name for a boat.", n=4, max_tokens=10, temperature=0.9, seeds=(11, 12, 13, 14))
    first, again = await model.sample(request), await model.sample(request)
    assert len(set(first.texts)) == 4
    assert first.texts == again.texts
    assert (await model.sample(ask("Invent a name for a boat.", max_tokens=10, temperature=0.9, seeds=(12,)))).texts == [first.texts[1]]
    usages = [s.usage for s in first.samples]
    assert [(u.calls, u.requests) for u in usages] == [(1, 1)] * 4
    assert all(10 <= u.prompt_tokens <= 60 and 0 < u.completion_tokens <= 10 and not u.estimated for u in usages)

    (cut,) = (await model.sample(ask("Count from 1 to 100.", max_tokens=8, temperature=0.0))).samples
    stop = cut.text[3:5]
    (stopped,) = (await model.sample(ask("Count from 1 to 100.", max_tokens=8, temperature=0.0, stop=(stop,)))).samples
    assert (cut.outcome, cut.finish, cut.usage.completion_tokens) == (Outcome.LENGTH, "length", 8)
    assert (stopped.outcome, stopped.text) == (Outcome.OK, cut.text.split(stop)[0])
    assert stopped.usage.completion_tokens < 8

    schema = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
    (sample,) = (await model.sample(ask("Rate this from 1 to 10.", max_tokens=40, schema=schema))).samples
    assert isinstance(json.loads(sample.text)["score"], int)
    (sample,) = (await model.sample(ask("Is 7 a prime?", max_tokens=10, choices=("yes", "no", "maybe")))).samples
    assert sample.text in ("yes", "no", "maybe")
    assert model.abilities.notices == []

    (sample,) = (await model.sample(ask("Say yes.", max_tokens=3, temperature=0.0, logprobs=1))).samples
    assert sample.logprobs is not None
    assert len(sample.logprobs) == sample.usage.completion_tokens
    assert all(max(token.values()) <= 0 for token in sample.logprobs)
    with pytest.raises(ModelError, match="engine=llama"):
        await model.sample(ask("Say yes.", logprobs=5))
    with pytest.raises(ContextOverflow, match=r"512 tokens .*context=1024"):
        await model.sample(ask("word " * 600))

    task = asyncio.create_task(model.sample(ask("Tell a long story.", max_tokens=400)))
    await asyncio.sleep(0.3)
    task.cancel()
    start = time.monotonic()
    after = (await model.sample(ask("Say yes.", max_tokens=8, temperature=0))).samples[0]
    assert (after.outcome in (Outcome.OK, Outcome.LENGTH), after.usable) == (True, True)
    assert model._stepper is not None
    while model._stepper._active:  # told of its reply, the caller may be quicker than the engine's own thread
        assert time.monotonic() - start < 10 * slowness()
        await asyncio.sleep(0.01)


async def test_many_at_once_are_all_answered_and_alike(model: OpenVINO, ask: Ask) -> None:
    shared = "Some numbers to begin with: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15. " * 7
    requests = [ask(f"{shared} Say {i}.", max_tokens=6, temperature=0.0) for i in range(20)]
    replies = await asyncio.gather(*map(model.sample, requests))
    assert all(r.samples[0].usage.completion_tokens for r in replies)
    assert len({r.samples[0].usage.prompt_tokens for r in replies}) <= 3


async def test_it_stops_with_calls_in_flight(ask: Ask) -> None:
    path = weights()
    with pytest.raises(RuntimeError, match="on purpose"):  # noqa: PT012
        async with OpenVINO(path, settings=SETTINGS) as running:
            task = asyncio.create_task(running.sample(ask("Tell a long story.", max_tokens=400)))
            await asyncio.sleep(0.3)
            raise RuntimeError("on purpose")
    with pytest.raises(ModelError, match="stopped"):
        await asyncio.wait_for(task, 5)
    with pytest.raises(ModelError, match="async with"):
        await running.sample(ask())


SCRIPT = """
import asyncio, sys
from pathlib import Path
from branchwise.model.base import Message, Request
from branchwise.model.local import LocalSettings
from branchwise.model.openvino import OpenVINO

async def main():
    model = await OpenVINO(Path(sys.argv[1]), settings=LocalSettings(slots=2, context=1024, threads=1)).__aenter__()
    task = asyncio.create_task(model.sample(Request((Message("user", "Tell a story."),), max_tokens=900)))
    await asyncio.sleep(0.3)
    if sys.argv[2] == "interrupt":
        import os, signal
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)
    print("result")

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(("how", "printed"), [("leave", "result"), ("interrupt", "interrupted")])
def test_a_process_ends_at_once_and_quietly(how: str, printed: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(weights()), how], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed + "\n", "")


async def test_a_file_it_cannot_load_is_an_error(tmp_path: Path) -> None:
    if not openvino.installed():
        pytest.skip("pip install 'branchwise[openvino]'")
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match="cannot load"):
        async with OpenVINO(path):
            pass
    path.write_bytes(b"ELF")
    with pytest.raises(WeightsError, match="no GGUF"):
        async with OpenVINO(path):
            pass


def test_a_missing_engine_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino_genai", None)
    with pytest.raises(UsageError, match=r"pip install 'branchwise\[openvino\]'"):
        openvino._engine()


def test_the_engines_have_identities_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF1")
    assert OpenVINO(tmp_path / "a.gguf").identity.startswith("openvino:")
