"""A hundred thousand rows are reported within seconds and a gigabyte. Measured in a process of its own, by the processor's time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from support.pace import slowness

FOLDER = Path(__file__).parents[3] / "benchmarks"


def test_a_hundred_thousand_rows_take_ten_seconds_and_a_gigabyte_at_the_most(tmp_path: Path) -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        import bench_report
    finally:
        sys.path.remove(str(FOLDER))
    measure: Any = bench_report
    found = measure.measured(measure.made(tmp_path, 100_000), "--html", str(tmp_path / "report.html"))
    assert found["processor"] <= 10 or found["processor"] / slowness() <= 10, found
    assert found["MB"] <= 1000, found
    assert "crosswords" in (tmp_path / "report.html").read_text("utf-8")
