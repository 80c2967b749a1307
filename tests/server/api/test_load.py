"""Two hundred clients at once against a model of 50 ms, in a short form of benchmarks/server.py, which has the long one."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from support.pace import slowness

pytestmark = pytest.mark.alone
FOLDER = Path(__file__).parents[3] / "benchmarks"


def test_two_hundred_clients_at_once() -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        found = importlib.import_module("server").measure(clients=200, requests=700, long=0, searches=8, queue=20, keys=4)
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("server", None)
    many = found["many_clients"]
    assert set(many["statuses"]) == {200, 429}
    shares = many["share_of_keys"]
    assert shares["least"] > 0.8 * shares["most"]
    assert many["rss_mb"][-1] - many["rss_mb"][2] < 8
    slow = slowness()
    assert many["cpu_ms_per_request"] < 20 * slow
    assert found["one_client"]["own_ms"]["p50"] < 20 * slow
    noise = found["direct_ms"]["p95"] - 50
    if noise < 2 and slow < 1.5:  # where the clients want all of the machine, they wait for each other: a queue, not the server's work
        assert many["own_ms"]["p95"] < 40, "wanted: 20; measured 17.1, see docs/server.md"
