"""The benchmarks run, in a small form, and what they measure holds loosely; exact numbers are for a quiet machine."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def benchmark(name: str) -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


async def test_the_places_are_kept_busy_while_a_search_waits() -> None:
    waiting = benchmark("waiting")
    for name, method in waiting.cases(150).items():
        assert await waiting.occupancy(method, 150, 0.1) > 0.5, name


async def test_every_search_is_measured() -> None:
    engine = benchmark("engine")
    for name, method in engine.methods(60).items():
        row = await engine.own_time(method, 60)
        assert row["nodes"] >= 40, name
        assert row["us_per_call"] > 0
        assert await engine.memory(engine.methods(300)[name], 300) < 4000


def test_peers_are_compared_on_the_same_scores() -> None:
    pytest.importorskip("treequest")
    report = benchmark("peers").compare([30], 20.0)
    assert set(report) == {"ours_us", "treequest_us", "ratios", "cut", "limit_s", "compared"}
    assert set(report["ratios"]) == {"mcts_30", "adaptive_30"}
    assert report["cut"] == []
