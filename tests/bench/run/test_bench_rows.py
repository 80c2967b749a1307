"""Rows of a bench: whole or not at all, one a unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchwise.bench.rows import ROWS, Row, RowFile, read_manifest, read_rows
from branchwise.errors import UsageError


def row(unit: str, **values: object) -> Row:
    return Row(unit=unit, task="gsm8k", item="7", method="io", model="m", seed=0, **values)  # type: ignore[arg-type]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    usage = {"calls": 2, "prompt_tokens": 5}
    one = row("a", answer="18", verdict="correct", score=1.0, samples=[1.0, 0.0], votes=["18", None], usage=usage, trace=[])
    with RowFile(tmp_path) as rows:
        assert rows.append(one)
    assert read_rows(tmp_path) == [one]
    assert read_rows(tmp_path)[0].spent.tokens == 5


def test_the_first_row_of_a_unit_counts(tmp_path: Path) -> None:
    with RowFile(tmp_path) as rows:
        assert rows.append(row("a", answer="1"))
        assert not rows.append(row("a", answer="2"))
    path = tmp_path / ROWS
    path.write_bytes(path.read_bytes() + path.read_bytes().replace(b'"1"', b'"2"'))
    assert [one.answer for one in read_rows(tmp_path)] == ["1"]


@pytest.mark.parametrize("cut", [1, 2, 9, 60, -2, -1])
def test_a_cut_last_line_is_dropped_and_the_next_row_begins_on_a_line_of_its_own(tmp_path: Path, cut: int) -> None:
    with RowFile(tmp_path) as rows:
        rows.append(row("a"))
        rows.append(row("b"))
    path, notices = tmp_path / ROWS, list[str]()
    first, second, _ = path.read_bytes().split(b"\n")
    path.write_bytes(first + b"\n" + second[:cut])
    assert [one.unit for one in read_rows(tmp_path, notices.append)] == ["a"]
    assert "the last line is cut" in notices[0]
    with RowFile(tmp_path, notices.append) as rows:
        assert list(rows.done) == ["a"]
        rows.append(row("b"))
    assert [one.unit for one in read_rows(tmp_path)] == ["a", "b"]


def test_a_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ROWS).write_bytes(b'{"some": "thing"}\nelse')
    with pytest.raises(UsageError, match="not a row of a bench"), RowFile(tmp_path):
        pass
    assert (tmp_path / ROWS).read_bytes() == b'{"some": "thing"}\nelse'


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with RowFile(tmp_path), pytest.raises(UsageError, match="another process"), RowFile(tmp_path):
        pass


def test_text_that_is_no_text_is_kept_readable(tmp_path: Path) -> None:
    with RowFile(tmp_path) as rows:
        rows.append(row("a", answer="\ud800 x", votes=["\udfff", None]))
    assert read_rows(tmp_path)[0].answer == "? x"


def test_keys_of_later_versions_are_left_out(tmp_path: Path) -> None:
    with RowFile(tmp_path) as rows:
        rows.append(row("a"))
    path = tmp_path / ROWS
    path.write_bytes(path.read_bytes().replace(b'{"unit"', b'{"later":1,"unit"'))
    assert read_rows(tmp_path) == [row("a", samples=[], votes=[], trace=[])]


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is .* the folder of a bench run"):
        read_rows(tmp_path)
    (tmp_path / "bench.json").write_text('{"format": 2}')
    with pytest.raises(UsageError, match="format 1"):
        read_manifest(tmp_path)
