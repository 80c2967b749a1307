"""What is seen while a bench runs: rate, spending, time left."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from branchwise.bench.desk import Desk
from branchwise.bench.purse import Sum
from branchwise.bench.rows import Row
from branchwise.cli import bench_live
from branchwise.cli.bench_live import Live
from support.bench_grid import grid


def row(unit: str, number: int) -> Row:
    return Row(
        unit=unit, task="gsm8k", item=f"own-{number}", method="io", model="m", seed=0, verdict="wrong", answer="\x1b[31m7",
        usage={"calls": 2, "prompt_tokens": 30, "completion_tokens": 10, "cost_usd": 0.01}, seconds=1.5,
    )  # fmt: skip


def test_rate_spending_and_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, said, spent = 100.0, list[str](), Sum(5, 100, 50_000)
    monkeypatch.setattr(bench_live.time, "monotonic", lambda: now)
    with Desk(grid(tasks=[{"task": "gsm8k", "items": "1:4"}]), tmp_path) as desk:
        units = [unit.id for unit in desk.grid.units]
        desk.append(row(units[0], 1))
        live = Live(desk, said.append, lambda: spent, quiet=False)
        assert said == ["1 unit of 4 has a row already"]
        now, spent = 110.0, Sum(25, 500, 250_000)
        live.row(row(units[1], 2))
        assert said[-1] == "[2/4] gsm8k own-2 io: wrong, \\x1b[31m7 (2 calls, 40 tokens, 1.5 s)"
        assert live.rate() == "2.0 calls/s, 40 tokens/s, 20.0 s left, 500 tokens spent, $0.2500"
        now = 145.0
        live.row(row(units[2], 3))
        assert "left" in said[-1], "every half minute where there is no terminal"
        live.row(row(units[3], 4))
        assert "left" not in live.rate()
        live.close()
        assert said[-1].startswith("3 units in 45.0 s: ")


def test_time_left_at_equal_budgets_is_told_by_what_is_to_be_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 units of 1,000 tokens: 500 in 10 s leave 3,500, which is 70 s; no unit has ended. One that ended with 1,200 leaves 3,000 of the others."""
    now, spent, before = 100.0, Sum(), Sum(7, 9999, 0)
    monkeypatch.setattr(bench_live.time, "monotonic", lambda: now)
    with Desk(grid(tasks=[{"task": "gsm8k", "items": "1:4"}], equal={"by": "tokens", "amount": 1000}), tmp_path) as desk:
        units = [unit.id for unit in desk.grid.units]
        live = Live(desk, lambda text: None, lambda: before + spent, quiet=True)
        assert "left" not in live.rate()
        now, spent = 110.0, Sum(9, 500, 0)
        assert live.rate() == "0.9 calls/s, 50 tokens/s, 1 min 10 s left, 10,499 tokens spent"
        now, spent = 124.0, Sum(20, 1200, 0)
        live.row(dataclasses.replace(row(units[0], 1), paid={"calls": 20, "prompt_tokens": 1000, "completion_tokens": 200}))
        assert "1 min 0 s left" in live.rate()
        now, spent = 200.0, Sum(90, 4500, 0)
        assert "left" not in live.rate(), "the open units have spent more than is theirs: the last steps"


def test_time_left_at_equal_costs_is_told_by_dollars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2 units of half a dollar: 0.25 in 10 s leave 30 s."""
    now, spent = 0.0, Sum()
    monkeypatch.setattr(bench_live.time, "monotonic", lambda: now)
    with Desk(grid(equal={"by": "cost", "amount": 0.5}), tmp_path) as desk:
        live = Live(desk, lambda text: None, lambda: spent, quiet=True)
        now, spent = 10.0, Sum(9, 500, 250_000)
        assert live.rate() == "0.9 calls/s, 50 tokens/s, 30.0 s left, 500 tokens spent, $0.2500"


def test_a_row_without_an_answer_says_why_in_words(tmp_path: Path) -> None:
    said = list[str]()
    with Desk(grid(tasks=[{"task": "gsm8k", "items": "1:4"}]), tmp_path) as desk:
        live = Live(desk, said.append, Sum, quiet=False)
        empty = dataclasses.replace(row(desk.grid.units[0].id, 1), method="cot", verdict="no_answer", answer=None, stop_reason="max_depth")
        live.row(empty)
        live.row(dataclasses.replace(empty, method="cot_sc?k=3"))
        live.row(dataclasses.replace(empty, method="tot_bfs", stop_reason="budget:calls"))
    assert said == [
        "[1/4] gsm8k own-1 cot: no answer, its one reply held no answer (2 calls, 40 tokens, 1.5 s)",
        "[2/4] gsm8k own-1 cot_sc?k=3: no answer, none of its replies held an answer (2 calls, 40 tokens, 1.5 s)",
        "[3/4] gsm8k own-1 tot_bfs: no answer, the limit on calls was reached (2 calls, 40 tokens, 1.5 s)",
    ]


def test_on_a_terminal_the_counts_are_whole_and_the_rate_moves_between_rows(tmp_path: Path) -> None:
    with Desk(grid(tasks=[{"task": "gsm8k", "items": "1:4"}]), tmp_path) as desk:
        calls = 0

        def spent() -> Sum:
            return Sum(calls)

        live = Live(desk, lambda text: None, spent, quiet=False)
        screen = io.StringIO()
        live.bar.live.console = Console(file=screen, force_terminal=True, width=80)
        with live.bar:
            live.row(row(desk.grid.units[0].id, 1))
            calls = 123
            live.bar.refresh()
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
        assert "1/4 units" in shown
        assert len(set(re.findall(r"([\d.,]+) calls/s", shown))) > 1
