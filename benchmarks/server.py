"""What the server costs by itself: time of a request beyond that of its model calls and its place in the queue, and memory over many requests.

    python benchmarks/server.py [--json] [--clients 200] [--requests 2000] [--long 10000] [--searches 8] [--queue 64] [--keys 4]

The server is a process of its own; its model answers in 50 ms and lies in that process. Three parts: one client, direct and over the server;
`--clients` at once, which are told to wait (429) and do; and `--long` requests, with the server's resident memory on the way. Wanted: no error
but 429, p95 of our own time at most 20 ms, each key its share, memory flat. The first request of each client is told apart (`first_ms`): so many
connections at once are set up and read one after the other while the first of them are searched for already.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LATENCY = 0.05
BODY = {"model": "io", "messages": [{"role": "user", "content": "Should we cache the sessions?"}]}


class Late:
    """Answers after LATENCY seconds, and keeps nothing."""

    name = identity = "late"

    async def sample(self, request: Any) -> Any:
        from branchwise.budget import Usage
        from branchwise.model.base import Reply, Sample

        await asyncio.sleep(LATENCY)
        return Reply(tuple(Sample("Answer: Yes.", finish="stop", usage=Usage(1, 1, 0, 50, 0, 3)) for _ in range(request.n)), model="late")


def tokens(keys: int) -> list[str]:
    """A token for each key."""
    return [f"key-{i}-0123456789abcdef" for i in range(keys)]


def serve(port: Any, folder: str, searches: int, queue: int, keys: int) -> None:
    """The server, until it is ended."""
    import uvicorn

    from branchwise.server.app import build
    from branchwise.server.config import Config
    from branchwise.server.keys import Account, Keys
    from branchwise.server.runs import Runs
    from branchwise.server.search import Service, Upstream
    from branchwise.server.start import bound

    accounts = Keys([(token, Account(f"key {i}")) for i, token in enumerate(tokens(keys))])
    service = Service(Config(searches=searches, queue=queue), {"late": Upstream("script:late", Late())}, Runs(Path(folder)), accounts)
    server = uvicorn.Server(uvicorn.Config(build(service), log_config=None, access_log=False, lifespan="off"))
    with bound("127.0.0.1", 0) as plug:
        port.value = plug.getsockname()[1]
        asyncio.run(server.serve(sockets=[plug]))


class Client:
    """One connection that is kept; as little client as possible, so that its time is not the server's."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        data = json.dumps(BODY).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self._request = head.encode() + f"Content-Length: {len(data)}\r\n\r\n".encode() + data
        self._plug: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self) -> tuple[int, float, bytes, float]:
        """Status, `Retry-After`, body and seconds of one request."""
        if self._plug is None:
            self._plug = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._plug
        begun = time.perf_counter()
        writer.write(self._request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(fields["content-length"]))
        return int(head.split(" ", 2)[1]), float(fields.get("retry-after", 0)), body, time.perf_counter() - begun

    def close(self) -> None:
        """Hang up."""
        if self._plug is not None:
            self._plug[1].close()
            self._plug = None


@dataclass
class Seen:
    """What a load has shown."""

    statuses: Counter[int] = field(default_factory=Counter)
    own: list[float] = field(default_factory=list)
    """Seconds of each answered request beyond its queue and its model calls, but for the first of each client."""
    first: list[float] = field(default_factory=list)
    by_key: Counter[int] = field(default_factory=Counter)
    rss: list[int] = field(default_factory=list)
    cpu: float = 0.0
    """Seconds of processor time that the server took."""
    seconds: float = 0.0

    def report(self) -> dict[str, Any]:
        """Milliseconds and counts."""
        shares = list(self.by_key.values())
        answers = len(self.own) + len(self.first)
        return {
            "statuses": dict(self.statuses), "seconds": round(self.seconds, 2), "answers_per_second": round(answers / self.seconds, 1),
            "own_ms": quantiles(self.own), "first_ms": quantiles(self.first),
            "share_of_keys": {"least": min(shares), "most": max(shares)} if shares else {},
            "cpu_ms_per_request": round(1000 * self.cpu / max(1, self.statuses.total()), 2), "rss_mb": [round(size / 2**20, 1) for size in self.rss],
        }  # fmt: skip


def quantiles(seconds: list[float]) -> dict[str, float]:
    """Milliseconds."""
    found = sorted(seconds)
    return {f"p{q}": round(1000 * found[min(len(found) - 1, len(found) * q // 100)], 2) for q in (50, 95, 99)} if found else {}


async def load(port: int, pid: int, clients: int, requests: int, keys: int) -> Seen:
    """`clients` at once until `requests` are answered; each waits as it is told to when it is refused."""
    seen, left = Seen(), requests
    begun, cpu = time.perf_counter(), processor(pid)
    every = max(1, requests // 10)

    async def work(i: int) -> None:
        nonlocal left
        key, known = i % keys, False
        client = Client(port, tokens(keys)[key])
        try:
            while left > 0:
                status, wait, body, seconds = await client.ask()
                seen.statuses[status] += 1
                if status != 200:
                    client.close()  # the server keeps no connection for as long as it may ask to wait
                    await asyncio.sleep(wait or 1.0)
                    continue
                left -= 1
                (search,) = json.loads(body)["branchwise"]["searches"]
                (seen.own if known else seen.first).append(seconds - search["seconds"]["queued"] - LATENCY * search["usage"]["calls"])
                known = True
                seen.by_key[key] += 1
                if seen.by_key.total() % every == 0:
                    seen.rss.append(resident(pid))
        finally:
            client.close()

    await asyncio.gather(*(work(i) for i in range(clients)))
    seen.seconds, seen.cpu = time.perf_counter() - begun, processor(pid) - cpu
    return seen


def processor(pid: int) -> float:
    """Seconds of processor time that the process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Bytes of memory that the process holds."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


async def direct(calls: int) -> list[float]:
    """Seconds of one model call by itself."""
    from branchwise.model.base import Message, Request

    found = []
    for _ in range(calls):
        begun = time.perf_counter()
        await Late().sample(Request((Message("user", "Should we cache the sessions?"),)))
        found.append(time.perf_counter() - begun)
    return found


def measure(clients: int, requests: int, long: int, searches: int, queue: int, keys: int) -> dict[str, Any]:
    """All three parts."""
    context = multiprocessing.get_context("spawn")
    port = context.Value("i", 0)
    with tempfile.TemporaryDirectory() as folder:
        process = context.Process(target=serve, args=(port, folder, searches, queue, keys), daemon=True)
        process.start()
        end = time.monotonic() + 60
        while not port.value and time.monotonic() < end:
            time.sleep(0.05)
        try:
            pid = process.pid or 0
            asyncio.run(load(port.value, pid, 4, 40, keys))
            alone = asyncio.run(load(port.value, pid, 1, 100, 1))
            bare = asyncio.run(direct(100))
            found: dict[str, Any] = {
                "direct_ms": quantiles(bare),
                "one_client": alone.report(),
                "many_clients": {"clients": clients} | asyncio.run(load(port.value, pid, clients, requests, keys)).report(),
            }
            if long:
                found["long"] = asyncio.run(load(port.value, pid, 2 * searches, long, keys)).report()
            return found
        finally:
            process.terminate()
            process.join(10)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true")
    for name, default in (("clients", 200), ("requests", 2000), ("long", 10_000), ("searches", 8), ("queue", 64), ("keys", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = vars(parser.parse_args())
    as_json = given.pop("json")
    found = measure(**given)
    if as_json:
        print(json.dumps(found))
        return
    print(f"one model call by itself: {found['direct_ms']} ms (what is above {1000 * LATENCY:.0f} is the machine's own noise)")
    for name in ("one_client", "many_clients", "long"):
        if name in found:
            print(f"{name}:")
            for key, value in found[name].items():
                print(f"  {key}: {value}")


if __name__ == "__main__":
    main()
