"""What the gateway costs by itself: milliseconds a call beyond the bare HTTP client, 32 calls at once, against a server on loopback.

    python benchmarks/gateway.py [--json] [--calls 2000]

`bare` is the HTTP library alone, `client` adds the official client, `gateway` adds OpenAIChat, Metered, Limited, Retrying. Wanted: at most
1 ms a call on top of the official client.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import openai

from branchwise.budget import Budget
from branchwise.ledger import Ledger
from branchwise.model.base import Message, Request
from branchwise.model.layers.limited import Limited
from branchwise.model.layers.metered import Metered
from branchwise.model.layers.retrying import Retrying
from branchwise.model.openai_http import OpenAIChat

PARALLEL = 32
PROMPT = "Evaluate whether these numbers can reach 24. " * 20


def serve(port: Any) -> None:
    """A server in a process of its own, so that its time is not counted."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    server_class = importlib.import_module("fault_server").FaultServer

    async def forever() -> None:
        async with server_class() as server:
            port.value = server.port
            await asyncio.Event().wait()

    asyncio.run(forever())


async def timed(call: Callable[[int], Awaitable[object]], calls: int) -> float:
    """Milliseconds of this process's own CPU time a call."""
    for i in range(PARALLEL):
        await call(i)
    pending = iter(range(calls))

    async def worker() -> None:
        for i in pending:
            await call(i)

    start = time.process_time()
    await asyncio.gather(*(worker() for _ in range(PARALLEL)))
    return (time.process_time() - start) * 1000 / calls


async def measure(url: str, calls: int, rounds: int) -> dict[str, float]:
    """The median over rounds for each layer; the rounds alternate, so that a busy machine does not favour one."""
    library = importlib.import_module("httpx2" if "httpx2" in sys.modules else "httpx")
    http = library.AsyncClient(trust_env=False)
    client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)
    chat = OpenAIChat("m", url)
    gateway = Retrying(Limited(Metered(chat, Ledger(Budget(), None)), PARALLEL))
    messages = [{"role": "user", "content": PROMPT}]

    async def bare(i: int) -> None:
        (await http.post(f"{url}/chat/completions", json={"model": "m", "messages": messages, "seed": i})).json()

    async def official(i: int) -> None:
        await client.chat.completions.create(model="m", messages=messages, seed=i)  # type: ignore[arg-type]

    async def ours(i: int) -> None:
        await gateway.sample(Request((Message("user", PROMPT),), seeds=(i,)))

    kinds = {"bare": bare, "client": official, "gateway": ours}
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, call in kinds.items():
            times[name].append(await timed(call, calls))
    await http.aclose()
    await client.close()
    await chat.aclose()
    found = {name: round(statistics.median(values), 3) for name, values in times.items()}
    return {**found, "over_client": round(found["gateway"] - found["client"], 3), "over_bare": round(found["gateway"] - found["bare"], 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    port = context.Value("i", 0)
    server = context.Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.05)
    result = asyncio.run(measure(f"http://127.0.0.1:{port.value}/good/v1", options.calls, options.rounds))
    server.terminate()
    if options.json:
        print(json.dumps({"parallel": PARALLEL, "ms_per_call": result}))
    else:
        print(f"milliseconds of CPU a call, {PARALLEL} at once: " + ", ".join(f"{k} {v}" for k, v in result.items()))


if __name__ == "__main__":
    main()
