"""The real engine with small real weights: what is true of every backend must be true of this one.

BRANCHWISE_LOCAL_MODEL names other weights, such as qwen2.5-coder-1.5b.
"""

import asyncio
import os
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from branchwise.errors import ContextOverflow, ModelError, UsageError, WeightsError
from branchwise.model import local
from branchwise.model.base import Outcome, Request
from branchwise.model.local import Local, LocalSettings
from branchwise.model.weights import WEIGHTS, find, pull

Ask = Callable[..., Request]
NAME = os.environ.get("BRANCHWISE_LOCAL_MODEL", "smollm2-135m")


@pytest.fixture(scope="module")
def weights() -> Iterator[Path]:
    """The small weights; without them the tests are skipped, unless BRANCHWISE_REQUIRE_WEIGHTS is set."""
    required = os.environ.get("BRANCHWISE_REQUIRE_WEIGHTS") == "1"
    path = find(NAME)
    if path is None and required:
        path = pull(NAME)
    if path is None:
        pytest.skip(f"no weights here; run: branchwise models pull {NAME}")
    return path


@pytest.fixture
async def model(weights: Path) -> AsyncIterator[Local]:
    pytest.importorskip("xllamacpp")
    settings = LocalSettings(slots=4, context=512, threads=1)
    async with Local(weights, name=f"local:{NAME}", digest=WEIGHTS[NAME].sha256, settings=settings) as running:
        yield running


def counters(model: Local) -> dict[str, float]:
    """The server's own counts."""
    assert model._chat is not None
    request = urllib.request.Request(f"{model.address}/metrics", headers={"Authorization": f"Bearer {model._chat._secrets[0]}"})
    with urllib.request.urlopen(request) as response:
        lines = response.read().decode().splitlines()
    return {name.removeprefix("llamacpp:"): float(value) for name, value in (x.split() for x in lines if not x.startswith("#"))}


async def test_usage_equals_the_counts_of_the_server(model: Local, ask: Ask) -> None:
    stops = (" the", "."), ()
    requests = [ask(f"Name {i} animals.", n=i, max_tokens=8, seeds=tuple(range(i)), stop=stops[i % 2]) for i in (1, 2, 6)]
    replies = await asyncio.gather(*map(model.sample, requests))
    usages = [s.usage for r in replies for s in r.samples]
    counted = counters(model)
    assert sum(u.completion_tokens for u in usages) == counted["tokens_predicted_total"]
    assert sum(u.prompt_tokens for u in usages) == counted["prompt_tokens_total"] + counted["prompt_tokens_cached_total"]
    assert sum(u.cached_prompt_tokens for u in usages) == counted["prompt_tokens_cached_total"]
    assert not any(u.estimated for u in usages)
    assert [len(r.samples) for r in replies] == [1, 2, 6]


async def test_samples_differ_and_come_again_under_their_seeds(model: Local, ask: Ask) -> None:
    many = await model.sample(ask("Invent a name for a boat.", n=4, max_tokens=10, temperature=0.7, seeds=(11, 12, 13, 14)))
    assert len(set(many.texts)) >= 3, "drawn side by side, each with its own seed"
    alone = [(await model.sample(ask("Invent a name for a boat.", max_tokens=10, temperature=0.7, seeds=(91,)))).texts for _ in range(3)]
    assert alone[1] == alone[2], "drawn alone from the same cached prompt; side by side a batch can round otherwise"


async def test_a_shared_beginning_is_computed_once(model: Local, ask: Ask) -> None:
    shared = "Some numbers to begin with: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15. " * 4
    await model.sample(ask(shared + "A", max_tokens=2))
    (sample,) = (await model.sample(ask(shared + "B", max_tokens=2))).samples
    assert sample.usage.cached_prompt_tokens > 0.8 * sample.usage.prompt_tokens


async def test_log_probabilities(model: Local, ask: Ask) -> None:
    (sample,) = (await model.sample(ask("Say yes.", max_tokens=3, logprobs=5))).samples
    assert sample.logprobs is not None
    assert len(sample.logprobs) == sample.usage.completion_tokens
    assert all(4 <= len(token) <= 6 and max(token.values()) <= 0 for token in sample.logprobs)


async def test_a_schema_is_kept_to(model: Local, ask: Ask) -> None:
    import json

    schema = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
    (sample,) = (await model.sample(ask("Rate this from 1 to 10.", max_tokens=40, schema=schema))).samples
    assert isinstance(json.loads(sample.text)["score"], int)


async def test_a_cut_off_reply_and_a_stop_are_told_apart(model: Local, ask: Ask) -> None:
    (cut,) = (await model.sample(ask("Count from 1 to 100.", max_tokens=8, temperature=0.0))).samples
    stop = cut.text[3:5]
    (stopped,) = (await model.sample(ask("Count from 1 to 100.", max_tokens=8, temperature=0.0, stop=(stop,)))).samples
    assert (cut.outcome, stopped.outcome) == (Outcome.LENGTH, Outcome.OK)
    assert stopped.text == cut.text.split(stop)[0]


async def test_too_long_a_prompt_names_both_numbers(model: Local, ask: Ask) -> None:
    with pytest.raises(ContextOverflow, match=r"2048 tokens is divided by its 4 parallel slots, 512 for one"):
        await model.sample(ask("word " * 600))


async def test_other_processes_need_the_key(model: Local) -> None:
    request = urllib.request.Request(f"{model.address}/v1/chat/completions", data=b"{}", headers={"Content-Type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)  # noqa: ASYNC210
    error.value.close()
    assert error.value.code == 401


async def test_it_stops_with_calls_in_flight(weights: Path, ask: Ask) -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(RuntimeError, match="on purpose"):  # noqa: PT012
        async with Local(weights, settings=LocalSettings(slots=2, context=1024, threads=1)) as running:
            task = asyncio.create_task(running.sample(ask("Tell a long story.", max_tokens=900)))
            await asyncio.sleep(0.3)
            raise RuntimeError("on purpose")
    with pytest.raises(ModelError):
        await asyncio.wait_for(task, 5)
    with pytest.raises(ModelError, match="async with"):
        await running.sample(ask())


SCRIPT = """
import asyncio, sys
from pathlib import Path
from branchwise.model.base import Message, Request
from branchwise.model.local import Local, LocalSettings

async def main():
    model = await Local(Path(sys.argv[1]), settings=LocalSettings(slots=2, context=1024, threads=1)).__aenter__()
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
def test_a_process_ends_at_once_and_quietly(weights: Path, how: str, printed: str) -> None:
    pytest.importorskip("xllamacpp")
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(weights), how], capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed + "\n", "")


def test_a_missing_engine_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UsageError, match=r"pip install 'branchwise\[local\]'"):
        local._engine()


async def test_a_file_the_engine_cannot_load_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelError, match="cannot load"):
        async with Local(path):
            pass
    path.write_bytes(b"ELF")
    with pytest.raises(WeightsError, match="no GGUF"):
        async with Local(path):
            pass


@pytest.mark.parametrize("bad", [{"slots": 0}, {"slots": 1000}, {"context": 10}])
def test_settings_are_checked(bad: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        LocalSettings(**bad)


def test_the_identity_is_that_of_the_content(tmp_path: Path) -> None:
    for name, data in (("a.gguf", b"GGUF1"), ("b.gguf", b"GGUF1"), ("c.gguf", b"GGUF2")):
        (tmp_path / name).write_bytes(data)
    a, b, c = (Local(tmp_path / n).identity for n in ("a.gguf", "b.gguf", "c.gguf"))
    assert a == b != c
