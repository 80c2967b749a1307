"""One more real server: lm-proxy, an OpenAI-compatible proxy from the package index, in front of our own llama.cpp server.

It drops usage and seed, which is what makes it worth testing with. `pip install -c .ci/peer-constraints.txt lm-proxy` into an environment of
its own (it brings many packages), and name it: BRANCHWISE_LM_PROXY=/path/to/bin/lm-proxy, as .ci/run does. Without it these tests are
skipped, unless BRANCHWISE_REQUIRE_PEER is 1.
"""

import asyncio
import importlib.util
import json
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

from branchwise.errors import ModelError, PermanentError, Unsupported
from branchwise.model.base import Outcome, Request
from branchwise.model.layers.retrying import Retrying, RetryPolicy
from branchwise.model.local import Local, LocalSettings
from branchwise.model.openai_http import OpenAIChat
from branchwise.model.secrets import Secret
from branchwise.model.weights import find

Ask = Callable[..., Request]
PROGRAM = os.environ.get("BRANCHWISE_LM_PROXY") or shutil.which("lm-proxy")
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
CONFIG = """
host = "127.0.0.1"
port = {port}
[connections.up]
api_type = "openai"
api_base = "{address}"
api_key = "{key}"
[routing]
"*" = "up.*"
[groups.default]
api_keys = ["one-key"]
"""


def lacking(what: str) -> NoReturn:
    """Skips the test, or fails it where it is required."""
    if os.environ.get("BRANCHWISE_REQUIRE_PEER") == "1":
        pytest.fail(f"required, and lacking: {what}; see the top of this file")
    pytest.skip(f"needs {what}; see the top of this file")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def answers(port: int) -> None:
    for _ in range(600):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        writer.close()
        return
    raise TimeoutError("lm-proxy did not start within a minute")


@asynccontextmanager
async def proxy(folder: Path, address: str, key: str = "x") -> AsyncIterator[str]:
    """lm-proxy in front of the server at `address`; its own address."""
    if PROGRAM is None:
        lacking("lm-proxy")
    port = free_port()
    (folder / "config.toml").write_text(CONFIG.format(port=port, address=address, key=key))
    quiet = asyncio.subprocess.DEVNULL
    command = (PROGRAM, "--config", str(folder / "config.toml"))
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=quiet, stderr=quiet)
    try:
        await answers(port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """The proxy's address, with the small model behind it."""
    path = find("smollm2-135m")
    if PROGRAM is None:
        lacking("lm-proxy")
    if path is None:
        lacking("the weights of smollm2-135m")
    if importlib.util.find_spec("xllamacpp") is None:
        lacking("llama.cpp (pip install xllamacpp)")
    async with Local(path, name="m", settings=LocalSettings(slots=4, context=1024, threads=1), reasons=False) as upstream:
        assert upstream._chat is not None
        async with proxy(tmp_path, f"{upstream.address}/v1", upstream._chat._secrets[0]) as address:
            yield address


@pytest.mark.parametrize("quirk", ["good", "schema:response_format"])
async def test_what_a_proxy_leaves_out_is_found_out(tmp_path: Path, faults: Any, ask: Ask, quirk: str) -> None:
    async with proxy(tmp_path, faults.url(quirk)) as address, OpenAIChat("m", address, key=Secret("one-key")) as chat:
        model = Retrying(chat, RetryPolicy(attempts=3, base=0.01, deadline=60))
        reply = await model.sample(ask(n=3, seeds=(1, 2, 3)))
        assert len(reply.samples) == 3
        assert all(s.usage.estimated and s.usage.completion_tokens for s in reply.samples)
        with pytest.raises(Unsupported, match="no log-probabilities"):
            await model.sample(ask(logprobs=5))
        (sample,) = (await model.sample(ask(schema=SCHEMA))).samples
        assert (sample.text, sample.outcome) == ('{"score":7}', Outcome.OK) if quirk != "good" else sample.outcome is Outcome.INVALID


@pytest.mark.parametrize("quirk", ["quota", "context_400", "short_body"])
async def test_whatever_goes_wrong_behind_a_proxy_is_an_error_of_ours(tmp_path: Path, faults: Any, ask: Ask, quirk: str) -> None:
    async with proxy(tmp_path, faults.url(quirk)) as address, OpenAIChat("m", address, key=Secret("one-key")) as chat:
        with pytest.raises(ModelError, match=r"502.*tried 2 times"):
            await Retrying(chat, RetryPolicy(attempts=2, base=0.01)).sample(ask())


async def test_what_holds_of_every_backend_holds_behind_a_proxy(url: str, ask: Ask) -> None:
    """In one test, because starting is the slow part."""
    async with OpenAIChat("m", url, key=Secret("one-key")) as chat:
        model = Retrying(chat, RetryPolicy(attempts=3, base=0.01, deadline=60))
        reply = await model.sample(ask("Invent a name for a boat.", n=3, temperature=1.0, max_tokens=12, seeds=(1, 2, 3)))
        assert len(reply.samples) == 3
        assert len(set(reply.texts)) == 3
        assert all(s.usage.estimated and s.usage.completion_tokens for s in reply.samples)
        assert sum(s.usage.calls for s in reply.samples) == 3

        (cut,) = (await model.sample(ask("Count from 1 to 100.", max_tokens=8, temperature=0.0))).samples
        (stopped,) = (await model.sample(ask("Count from 1 to 100.", max_tokens=8, temperature=0.0, stop=(cut.text[3:5],)))).samples
        assert cut.outcome is Outcome.LENGTH
        assert stopped.text == cut.text.split(cut.text[3:5])[0]

        (sample,) = (await model.sample(ask("Say yes.", max_tokens=3, logprobs=5))).samples
        assert sample.logprobs is not None
        assert all(len(token) >= 4 for token in sample.logprobs)

        (sample,) = (await model.sample(ask("Rate this from 1 to 10.", max_tokens=40, schema=SCHEMA))).samples
        assert isinstance(json.loads(sample.text)["score"], int)

        with pytest.raises(ModelError):
            await model.sample(ask("word " * 2000))
    async with OpenAIChat("m", url, key=Secret("another-key")) as stranger:
        with pytest.raises(PermanentError):
            await stranger.sample(ask())
