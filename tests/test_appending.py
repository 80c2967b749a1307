"""A file that grows by whole lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from branchwise.appending import AppendFile, Busy


def test_lines_come_back_and_a_cut_one_is_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "f.jsonl"
    file = AppendFile(path)
    file.write(b"one\n")
    file.write(b"two\n", sync=True)
    file.close()
    for rest in (b"t", b"x" * 200_000):
        with open(path, "ab") as raw:
            raw.write(rest)
        file = AppendFile(path)
        assert (file.cut, file.mend(), file.cut) == (len(rest), len(rest), 0)
        file.write(b"more\n")
        assert file.read().startswith(b"one\ntwo\nmore\n")
        file.close()
    assert path.read_bytes() == b"one\ntwo\nmore\nmore\n"


def test_a_file_without_any_whole_line_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"y" * 70_000)
    file = AppendFile(path)
    assert file.mend() == 70_000
    assert file.read() == b""
    file.close()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    first = AppendFile(tmp_path / "f")
    with pytest.raises(Busy, match="another process"):
        AppendFile(tmp_path / "f")
    first.close()
    AppendFile(tmp_path / "f").close()


@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero", "/dev/null"])
def test_a_device_is_never_read_to_its_end(device: str) -> None:
    file = AppendFile(Path(device))
    with pytest.raises(OSError, match="not a regular file"):
        file.read()
    assert file.mend() == 0
    file.close()


def test_what_could_not_be_written_whole_is_taken_back_and_nothing_follows(tmp_path: Path) -> None:
    path = tmp_path / "f"
    file = AppendFile(path)
    file.write(b"one\n")

    class Full:
        def __init__(self, inner: object) -> None:
            self.inner = inner

        def write(self, data: bytes) -> int:
            if len(data) < 6:
                raise OSError(28, os.strerror(28))
            return self.inner.write(data[:3])  # type: ignore[attr-defined,no-any-return]

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    plain, file._file = file._file, Full(file._file)  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space"):
        file.write(b"second\n")
    file._file = plain
    with pytest.raises(OSError, match="No space"):
        file.write(b"third\n")
    file.close()
    assert path.read_bytes() == b"one\n"
