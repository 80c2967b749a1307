"""More small inputs that break programs of this kind, grouped by the number of their case: siblings that no other test holds."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from branchwise import Scripted
from branchwise.bench.desk import Desk
from branchwise.bench.rows import ROWS
from branchwise.bench.runner import Events, run_here
from branchwise.errors import BranchwiseError
from branchwise.model.base import Request
from branchwise.model.layers.limited import Limited
from branchwise.solve import Stop
from support.bench_grid import FREE, ONCE, grid, run
from support.serving import serving

# Case 84: rows of a bench, cut anywhere


def test_rows_of_a_bench_can_be_cut_anywhere(tmp_path: Path) -> None:
    model = Scripted([{"replies": ["The answer is 1."]}])
    rows = run(grid(), tmp_path, model)
    path = tmp_path / ROWS
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in (1, first // 2, first - 1, first, first + 1, len(whole) - 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        said: list[str] = []
        assert run(grid(), tmp_path, model, said=said) == rows
        assert any("cut" in text for text in said) == (cut != first)
        assert path.read_bytes() == whole


# Case 95: a real abort


async def test_units_in_work_are_cancelled_and_awaited_before_the_error_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the loop: one that ends anyway would end them too, and prove nothing."""
    running: set[str] = set()

    async def latency(request: Request) -> None:
        me = str(len(running)) + str(id(request))
        running.add(me)
        try:
            await asyncio.sleep(30 if len(running) > 1 else 0.05)
        finally:
            running.discard(me)

    def full(self: Any, row: Any) -> bool:
        assert running, "others are in work when the row fails"
        raise BranchwiseError("no space left")

    monkeypatch.setattr(Desk, "append", full)
    paid = Limited(Scripted([{"replies": ["The answer is 1."]}], latency=latency), 8)
    with Desk(grid(tasks=[{"task": "gsm8k", "items": "1:8"}]), tmp_path) as desk:
        with pytest.raises(BranchwiseError, match="no space left"):
            await run_here(
                desk, lambda route: nullcontext(paid), lambda route: FREE, jobs=4, stop=Stop(), retry=ONCE, clock=lambda: 0.0,
                events=Events(say=lambda text: None),
            )  # fmt: skip
        assert not running, "nothing goes on spending"


# Case 100: addresses in other dresses


def test_no_request_names_an_address_in_other_dresses(tmp_path: Path) -> None:
    model = Scripted([{"replies": ["Answer: yes"]}])
    with serving(tmp_path, model) as served:
        for name in ("BASE_URL", "baseUrl", "api-key", "extra_body", "organization", "proxies", "host", "server"):
            assert served.chat(**{name: "http://169.254.169.254/"}).status_code == 400, name
            assert served.chat(branchwise={name: "http://attacker.example/v1"}).status_code == 400, name
        assert served.chat(messages=[{"role": "user", "content": "x", "base_url": "http://attacker.example/v1"}]).status_code == 400
        for name in ("io@http://attacker.example/v1#m", "http://attacker.example/v1#m", "io@openai:gpt-4o", "open/io@local"):
            assert served.chat(model=name).status_code == 404, name
    assert model.calls == 0
