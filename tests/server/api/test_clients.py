"""Real clients: the official openai package, plain, streaming, asynchronous and fifty at once, and the llm program.

llm has an environment of its own (its ulid module is another than treequest's): `pip install -c .ci/peer-constraints.txt llm` into one, and
name the program: BRANCHWISE_LLM=/path/to/bin/llm, as .ci/run does. Without it that test is skipped, unless BRANCHWISE_REQUIRE_PEER is 1.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import openai
import pytest

from branchwise.server.keys import Account, Keys
from support.models import FakeModel
from support.program import wait_for
from support.serving import QUESTION, TOLD, Served, say, serving

LLM = os.environ.get("BRANCHWISE_LLM") or shutil.which("llm")
TOKEN = "token-0123456789-abcdef"


@pytest.fixture
def served(tmp_path: Path) -> Any:
    with serving(tmp_path / "runs", FakeModel(say, seconds=0.005), keys=Keys([(TOKEN, Account("ann"))]), searches=8) as found:
        yield found


def test_plain(served: Served) -> None:
    with served.openai(TOKEN) as client:
        done = client.chat.completions.create(model="best_first", messages=QUESTION, seed=3, extra_body={"branchwise": {"k": 2}})
        assert done.choices[0].message.content == TOLD
        assert done.choices[0].finish_reason == "stop"
        assert done.usage is not None
        assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens > 0
        assert done.model_extra is not None
        assert done.model_extra["branchwise"]["calls"] > 3
        names = [model.id for model in client.models.list()]
        assert "tot_bfs" in names
        assert client.models.retrieve("game24/tot_bfs").id == "game24/tot_bfs"


def test_streaming(served: Served) -> None:
    with served.openai(TOKEN) as client:
        stream = client.chat.completions.create(model="best_first", messages=QUESTION, stream=True, stream_options={"include_usage": True})
        chunks = list(stream)
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    told = "".join((choice.delta.model_extra or {}).get("reasoning_content", "") for chunk in chunks for choice in chunk.choices)
    assert text == TOLD
    assert "measure the hits of a cache" in told
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


def test_the_streaming_helper_of_the_client_puts_the_answer_together(served: Served) -> None:
    with served.openai(TOKEN) as client, client.chat.completions.stream(model="io", messages=QUESTION) as stream:
        done = stream.get_final_completion()
    assert done.choices[0].message.content == TOLD


@pytest.mark.parametrize("fed", ["object", "dumped", "whole", "streamed"])
def test_a_reply_is_taken_as_a_message_of_the_next_request(served: Served, fed: str) -> None:
    ask: dict[str, Any] = {"model": "io"}
    with served.openai(TOKEN) as client:
        messages: list[Any] = list(QUESTION)
        for turn in ("And the tokens?", "And the pages?"):
            if fed == "streamed":
                with client.chat.completions.stream(**ask, messages=messages) as stream:
                    said: Any = stream.get_final_completion().choices[0].message
            else:
                said = client.chat.completions.create(**ask, messages=messages).choices[0].message
            assert said.content == TOLD
            dumps = {"dumped": said.model_dump(), "whole": {**said.to_dict(), "name": None, "tool_calls": [], "function_call": None, "audio": None}}
            messages += [dumps.get(fed, said), {"role": "user", "content": turn}]
        assert client.chat.completions.create(**ask, messages=messages).choices[0].message.content == TOLD


async def test_fifty_at_once(served: Served) -> None:
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key=TOKEN, max_retries=0, timeout=240) as client:

        async def one(i: int) -> tuple[str | None, Any]:
            if i % 2:
                own = {"branchwise": {"k": 1 + i % 3}}
                done = await client.chat.completions.create(model="best_first", messages=QUESTION, seed=i, extra_body=own)
                return done.choices[0].message.content, (done.model_extra or {})["branchwise"]["searches"][0]["seed"] == i
            stream = await client.chat.completions.create(model="io", messages=QUESTION, stream=True)
            return "".join([choice.delta.content or "" async for chunk in stream for choice in chunk.choices]), True

        assert set(await asyncio.gather(*map(one, range(50)))) == {(TOLD, True)}
    assert served.call(lambda: served.service.gate.running) == 0


def test_errors_are_those_that_the_client_knows(served: Served) -> None:
    ask: dict[str, Any] = {"model": "io", "messages": QUESTION}
    with served.openai("wrong") as client, pytest.raises(openai.AuthenticationError):
        client.chat.completions.create(**ask)
    with served.openai(TOKEN) as client:
        with pytest.raises(openai.NotFoundError, match="did you mean"):
            client.chat.completions.create(**{**ask, "model": "tot_bsf"})
        with pytest.raises(openai.BadRequestError, match="top_p"):
            client.chat.completions.create(**ask, top_p=0.1)
        with pytest.raises(openai.BadRequestError, match=r"branchwise\.breadht"):
            client.chat.completions.create(**ask, extra_body={"branchwise": {"breadht": 3}})


def test_the_client_waits_as_it_is_told_and_tries_again(tmp_path: Path) -> None:
    with serving(tmp_path, FakeModel(say, seconds=0.6), searches=1, queue=0) as served, served.openai(max_retries=3) as client:
        first = threading.Thread(target=served.chat)
        first.start()
        wait_for(lambda: served.call(lambda: served.service.gate.running) == 1)
        assert client.chat.completions.create(model="io", messages=QUESTION).choices[0].message.content == TOLD
        first.join()
        with served.http() as http:
            assert 'branchwise_requests_total{status="429"}' in http.get("/metrics").text


@pytest.mark.parametrize("flags", [[], ["--no-stream"]], ids=["streaming", "plain"])
def test_the_llm_program(served: Served, tmp_path: Path, flags: list[str]) -> None:
    if LLM is None:
        if os.environ.get("BRANCHWISE_REQUIRE_PEER") == "1":
            pytest.fail("required, and lacking: llm; see the top of this file")
        pytest.skip("needs llm; see the top of this file")
    known = f"- model_id: deliberate\n  model_name: best_first\n  api_base: {served.url}/v1\n  api_key_name: bw\n"
    (tmp_path / "extra-openai-models.yaml").write_text(known)
    environment = {"PATH": os.environ["PATH"], "LLM_USER_PATH": str(tmp_path), "HOME": str(tmp_path)}
    command = [LLM, "-m", "deliberate", "--key", TOKEN, *flags, "--system", "Be brief.", QUESTION[0]["content"]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == TOLD
    if flags:
        return
    again = subprocess.run([LLM, "-c", "--key", TOKEN, *flags, "Are you sure?"], env=environment, capture_output=True, text=True, timeout=240)
    assert again.stdout.strip() == TOLD, again.stderr
