"""What a folder was charged: nothing is forgotten, nothing counts twice, and what nobody saw the end of counts at its worst."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from branchwise.bench.book import SPENT, Book, Sum, booked, earlier
from branchwise.bench.rows import ROWS, TRACES, Row
from branchwise.errors import UsageError
from branchwise.trace import Call, Recorder, Started, TapedSample


def test_what_was_paid_adds_up_over_sessions(tmp_path: Path) -> None:
    assert booked(tmp_path) is None
    for before, spent in ((Sum(), Sum(1, 30, 5)), (Sum(1, 30, 5), Sum(2, 50, 0))):
        book = Book(tmp_path)
        assert book.before == before
        book.hold("/1", Sum(9, 900, 90))
        book.paid("/1", spent)
        book.close()
    assert booked(tmp_path) == Sum(3, 80, 5)


def test_a_request_without_an_end_counts_at_its_worst_and_a_later_one_of_that_name_is_another(tmp_path: Path) -> None:
    """A session holds 100 tokens and is killed; the next pays 7 under the same name: 107."""
    book = Book(tmp_path)
    book.hold("/1", Sum(1, 100, 3))
    assert booked(tmp_path) == Sum(1, 100, 3)
    book.close()
    book = Book(tmp_path)
    assert book.before == Sum(1, 100, 3)
    book.hold("/1", Sum(1, 50, 2))
    book.paid("/1", Sum(1, 7, 1))
    book.close()
    assert booked(tmp_path) == Sum(2, 107, 4)


def test_what_was_not_held_counts_all_the_same(tmp_path: Path) -> None:
    """As a cluster without limits tells it."""
    book = Book(tmp_path)
    book.paid("w/1", Sum(3, 20, 1))
    book.close()
    assert booked(tmp_path) == Sum(3, 20, 1)


@pytest.mark.parametrize(("cut", "left"), [(0, Sum(2, 20)), (1, Sum(2, 110)), (12, Sum(2, 110))])
def test_a_cut_last_line_leaves_its_request_at_its_worst(tmp_path: Path, cut: int, left: Sum) -> None:
    book = Book(tmp_path)
    book.paid("/1", Sum(1, 10))
    book.hold("/2", Sum(1, 100))
    book.paid("/2", Sum(1, 10))
    book.close()
    path = tmp_path / SPENT
    path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
    assert booked(tmp_path) == left
    book = Book(tmp_path)
    assert book.before == left
    book.paid("/3", Sum(1, 1))
    book.close()
    assert booked(tmp_path) == left + Sum(1, 1)


def test_a_killed_process_leaves_what_it_held(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys; from branchwise.bench.book import Book, Sum\n"
        "book = Book(pathlib.Path(sys.argv[1])); book.hold('/1', Sum(1, 70, 2)); book.hold('/2', Sum(2, 40)); book.paid('/2', Sum(2, 30))\n"
        "os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    assert booked(tmp_path) == Sum(3, 100, 2)


def test_a_book_has_one_writer(tmp_path: Path) -> None:
    book = Book(tmp_path)
    with pytest.raises(UsageError, match="another process is still spending"):
        Book(tmp_path, patience=0.1)
    book.close()
    Book(tmp_path, patience=0.1).close()


@pytest.mark.parametrize("line", [b"{}\n", b"nothing\n", b'["paid","/1","many"]\n', b'["paid"]\n'])
def test_a_foreign_file_is_refused_and_stays_as_it_is(tmp_path: Path, line: bytes) -> None:
    (tmp_path / SPENT).write_bytes(line)
    with pytest.raises(UsageError, match="line 1"):
        booked(tmp_path)
    with pytest.raises(UsageError, match="line 1"):
        Book(tmp_path)
    assert (tmp_path / SPENT).read_bytes() == line


def row(unit: str, calls: int, tokens: int, cost: float | None = 0.0) -> Row:
    paid = {"calls": calls, "prompt_tokens": tokens, "cost_usd": cost}
    return Row(unit=unit, task="t", item="1", method="io", model="m", seed=0, paid=paid, usage={"calls": 1})


def trace(path: Path, tokens: int) -> None:
    """A trace with one call."""
    usage: dict[str, Any] = {"calls": 1, "completion_tokens": tokens}
    recorder = Recorder(path)
    recorder.write(Started({}, {}))
    recorder.write(Call("", 0, "generate", "digest", 0, 0, [TapedSample("text", "complete", usage)]))
    recorder.close()


def test_a_folder_of_an_earlier_version_counts_what_its_rows_and_traces_tell_once(tmp_path: Path) -> None:
    """Row a: 2 calls, its trace is in it; trace b without a row: 1; a's first row that was set aside: 3, with its trace; b's old trace: 1; c's trace
    that was set aside without a row: 1. Row d stands in both files and counts once, with 5: 13 calls in all."""
    traces = tmp_path / TRACES
    traces.mkdir()
    kept = row("d", 5, 50, None)
    (tmp_path / f"{ROWS}.1.old").write_bytes(b"\n".join(orjson.dumps(one.to_json()) for one in (row("a", 3, 300, 0.5), kept)) + b"\n")
    for name, tokens in (("a.jsonl", 20), ("a.1.old", 30), ("b.0.jsonl", 7), ("b.0.old", 8), ("c.0.1.old", 9), ("d.jsonl", 50)):
        trace(traces / name, tokens)
    done = {"a": row("a", 2, 20, 0.25), "d": kept}
    assert earlier(tmp_path, done) == Sum(2 + 1 + 3 + 1 + 1 + 5, 20 + 7 + 300 + 8 + 9 + 50, 750_000)
