"""A bench killed at ten random moments and gone on with: the same rows and the same report, byte for byte, and hardly anything paid twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from branchwise.bench.rows import ROWS, TRACES, read_rows
from branchwise.cli.main import cli

KILLS = 10
TESTS = Path(__file__).parents[2]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ten_kills_change_nothing(tmp_path: Path, seed: int) -> None:
    driver = TESTS / "support" / "bench_killed.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(driver), str(tmp_path), str(KILLS), str(seed)],
        env={**os.environ, "PYTHONPATH": str(TESTS)}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert lines(whole) == lines(killed)
    assert len(lines(whole)) == len(set(units(killed))) == len(units(killed)) == 32
    assert (killed / ROWS).read_bytes().count(b"\n") == 32, "no unit has two rows"
    assert report(whole) == report(killed)
    once, again = (Counter((tmp_path / f"{name}.paid").read_text().splitlines()) for name in ("whole", "killed"))
    assert once.total() == sum(row.paid["calls"] for row in read_rows(whole))
    assert not once - again, "every reply was had"
    assert (again - once).total() <= KILLS * 4 * 5, "a kill loses no more than what was in flight: one request of each of four units"


def lines(folder: Path) -> list[bytes]:
    """Rows in order of unit."""
    return sorted((folder / ROWS).read_bytes().splitlines(), key=lambda line: orjson.loads(line)["unit"])


def units(folder: Path) -> list[str]:
    return [row.unit for row in read_rows(folder)]


def report(folder: Path) -> str:
    """The report without the clock; it does not name the folder."""
    said = CliRunner().invoke(cli, ["bench", "report", str(folder), "--json", "--no-clock"])
    assert said.exit_code in (0, 1), said.output
    assert (folder / TRACES).is_dir()
    return said.stdout.replace(str(folder), "DIR")
