"""The table of what was spent."""

from __future__ import annotations

import io

import pytest

from branchwise.budget import Usage
from branchwise.cli.report import spending
from branchwise.cli.text import console


def told(usage: Usage) -> list[str]:
    out = io.StringIO()
    console(out).print(spending({"generate": usage}, usage))
    return [line.rstrip() for line in out.getvalue().rstrip("\n").split("\n")]


def test_what_was_estimated_has_a_mark_and_the_mark_is_explained() -> None:
    assert told(Usage(calls=25, requests=11, prompt_tokens=1630, completion_tokens=306, cost=12_300, estimated=True)) == [
        "role      calls  requests  prompt tokens  of them cached  reply tokens      cost",
        "generate     25        11         ~1,630               0          ~306  ~$0.0123",
        "total        25        11         ~1,630               0          ~306  ~$0.0123",
        "~ our own estimate: the server did not say for every reply",
    ]


@pytest.mark.parametrize("cost", [0, 12_300, 123_450_000, 1_234_560_000, None])
@pytest.mark.parametrize("estimated", [False, True])
@pytest.mark.parametrize("calls", [1, 99_999, 250_000])
def test_it_fits_80_columns(calls: int, estimated: bool, cost: int | None) -> None:
    lines = told(Usage(calls=calls, requests=calls, prompt_tokens=987_654_321, completion_tokens=1_234_567, cost=cost, estimated=estimated))
    assert max(map(len, lines)) <= 80
    assert len(lines) == 3 + estimated, "no cell is broken over two lines"


def test_an_unknown_cost_and_none_at_all_are_no_estimates() -> None:
    assert told(Usage(calls=1, cost=None, estimated=True))[-2].endswith("  unknown")
    assert told(Usage(calls=1, cost=0, estimated=True))[-2].endswith("  $0")
