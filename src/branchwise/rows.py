"""The results of many problems: a JSON-lines file with a header and a row an item. Knows no problem and no model.

A row is appended whole and synced once its item is done, so a killed run loses nothing: a cut last line is dropped with a notice, and its
item is run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from branchwise.appending import AppendFile, Busy
from branchwise.errors import BranchwiseError, UsageError

__all__ = ["Rows", "short"]

FORMAT = 1


class Rows:
    """The results file. `settings` must not differ from those in the file; `done` maps the id of each finished item to its row.

    Use it as `with Rows(path, settings) as rows:`. Raises `UsageError` for a file of other settings, a foreign file, one that another
    process is writing, or a disk that refuses.
    """

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Any],
        about: Mapping[str, Any] | None = None,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.path, self._settings, self._about, self._notice = path, dict(settings), dict(about or {}), notice
        self.done: dict[str, dict[str, Any]] = {}
        self._file: AppendFile | None = None

    def __enter__(self) -> Rows:
        try:
            self._file = AppendFile(self.path)
            data = self._file.read()
        except Busy:
            raise UsageError(f"another process is writing to {self.path}; wait for it, or name another file with --out") from None
        except OSError as error:
            self.__exit__()
            raise UsageError(f"cannot write the results {self.path}: {error.strerror}; name another file with --out") from error
        try:
            self._read(data)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a finished item; it is on the disk when this returns. A later row of the same id counts."""
        self._write(row)
        self.done[str(row["id"])] = dict(row)

    def _write(self, line: Mapping[str, Any]) -> None:
        assert self._file is not None
        try:
            self._file.write(_encode(line), sync=True)
        except OSError as error:
            raise BranchwiseError(
                f"cannot write the results {self.path}: {error.strerror}; free some space, then run the same command again"
            ) from error

    def _read(self, data: bytes) -> None:
        lines = data.split(b"\n")
        cut = lines.pop()
        header = False
        for number, line in enumerate(lines, 1):
            row = self._parsed(line, number)
            if number == 1 and "branchwise" in row:
                header = True
                self._agree(row.get("settings", {}), self._settings, row.get("format"))
            elif "id" in row and "stop_reason" in row:
                self.done[str(row["id"])] = row
            else:
                raise UsageError(f"{self.path}, line {number}: not a row of results; name another file with --out")
        if cut:  # only now, when the other lines are known to be ours
            self._ours(cut)
            assert self._file is not None
            self._file.mend()
            self._notice(f"{self.path}: the last line is cut (the run was killed while it wrote); it is dropped and its item run again")
        if not header and self.done:
            self._notice(f"{self.path} has no header; its rows are compared instead")
            names = ("method", "model", "seed")
            for row in self.done.values():
                self._agree({name: row.get(name) for name in names}, {name: self._settings.get(name) for name in names}, FORMAT)
        elif not header:
            self._write({"branchwise": "results", "format": FORMAT, "settings": self._settings, "about": self._about})

    def _ours(self, cut: bytes) -> None:
        """Refuse a file whose last line, without its end, is no beginning of a row: it may be anything, and would be lost."""
        begun = cut.startswith(b'{"') or b'{"'.startswith(cut)
        with suppress(orjson.JSONDecodeError):
            row = orjson.loads(cut)
            begun = isinstance(row, dict) and ("branchwise" in row or ("id" in row and "stop_reason" in row))
        if not begun:
            raise UsageError(f"{self.path}: its last line is not a row of results; name another file with --out")

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        with suppress(orjson.JSONDecodeError):
            row = orjson.loads(line)
            if isinstance(row, dict):
                return row
        raise UsageError(f"{self.path}, line {number}: not a row of results; mend or remove that line, or name another file with --out")

    def _agree(self, old: Mapping[str, Any], new: Mapping[str, Any], version: object) -> None:
        if version != FORMAT:
            raise UsageError(f"{self.path} has results format {version}; this version reads {FORMAT}")
        new = orjson.loads(_encode(new))
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                raise UsageError(
                    f"{self.path} was made with another {key} ({short(old.get(key))}, now {short(new.get(key))}); "
                    "go on with the same settings, or name another file with --out"
                )


def short(value: Any) -> str:
    """A value in an error message."""
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _encode(line: Mapping[str, Any]) -> bytes:
    """One JSON line; halves of characters, which are no text in any encoding, are replaced."""
    try:
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        import json

        return json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
