"""The JSON-lines file that holds the events of a run (events.py): log, checkpoint and tape in one. Knows no tree, no model and no search.

A line is written and flushed before the tree changes, so a killed process leaves a readable file: at worst its last line is cut, and
is dropped with a notice when the file is read. Resuming appends: a second `started` line resets the fold.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import orjson

from branchwise.appending import AppendFile, Busy
from branchwise.errors import TraceError
from branchwise.events import (
    FORMAT,
    Birth,
    Call,
    Event,
    Expanded,
    Judged,
    Judgement,
    Mark,
    Marked,
    Started,
    Steered,
    Stopped,
    TapedSample,
    Warned,
)  # fmt: skip

__all__ = [
    "FORMAT",
    "Birth",
    "Call",
    "Event",
    "Expanded",
    "Judged",
    "Judgement",
    "Mark",
    "Marked",
    "Recorder",
    "Started",
    "Steered",
    "Stopped",
    "TapedSample",
    "Warned",
    "decode",
    "is_fresh",
    "read_trace",
]


class Recorder:
    """Writes events to a file (if there is one) and hands them to listeners, in that order. Raises `TraceError` when the disk refuses.

    After that it writes nothing more: a line may be cut, and only a last line may be.
    """

    newline: ClassVar[int] = orjson.OPT_APPEND_NEWLINE

    def __init__(self, path: Path | None = None, listeners: Sequence[Callable[[Event], None]] = ()) -> None:
        self.path, self._listeners = path, tuple(listeners)
        self._file: AppendFile | None = None
        if path is not None:
            try:
                self._file = AppendFile(path)
                self._file.mend()
            except Busy:
                raise TraceError(
                    f"another run is writing to the trace {path}; wait for it, or name another file (--trace, in Python "
                    "trace=...)"
                ) from None
            except OSError as error:
                self.close()
                raise TraceError(f"cannot write the trace {path}: {error.strerror}; name another (--trace, in Python trace=...)") from error

    def write(self, event: Event) -> None:
        """Record one event; it is with the operating system when this returns."""
        if self._file is not None:
            try:
                self._file.write(_encode(event))
            except OSError as error:
                raise TraceError(
                    f"cannot write the trace {self.path}: {error.strerror}; free some space, then go on with the run "
                    "(--resume, in Python resume=...)"
                ) from error
        for listener in self._listeners:
            listener(event)

    def close(self) -> None:
        """Close the file. Writing afterwards is an error."""
        if self._file is not None:
            self._file.close()


def _encode(event: Event) -> bytes:
    """One JSON line. Lone surrogates, which a broken model can produce, are replaced: they are not text in any encoding."""
    try:
        return orjson.dumps(event, option=Recorder.newline)
    except TypeError:
        import json
        from dataclasses import asdict

        text = json.dumps(asdict(event), ensure_ascii=False, default=str)
        return text.encode("utf-8", "replace") + b"\n"


def is_fresh(path: Path) -> bool:
    """Whether a new run can be written to `path`: nothing is there, or a first line that a kill left unfinished."""
    if not path.is_file():
        return True
    begin = b'{"run":'
    with open(path, "rb") as file:
        line = file.readline()
    return line[: len(begin)] == begin[: len(line)] and not line.endswith(b"\n")


_KINDS: dict[str, Callable[..., Event]] = {
    "started": Started, "call": Call, "expanded": Expanded, "judged": Judged, "marked": Marked, "warned": Warned, "steered": Steered,
    "stopped": Stopped,
}  # fmt: skip


def _decode(data: dict[str, Any]) -> Event:
    kind = data.get("event", "")
    if kind == "started" and not isinstance(data["run"], dict):
        raise TypeError("a run is an object")
    if kind == "call":
        data["samples"] = [TapedSample(**sample) for sample in data["samples"]]
    elif kind == "expanded":
        data["births"] = [Birth(**birth) for birth in data["births"]]
        data["dropped"] = [(text, reason) for text, reason in data["dropped"]]
    elif kind == "marked":
        data["marks"] = [Mark(**mark) for mark in data["marks"]]
    elif kind == "steered":
        _check_act(data)
    if kind in ("expanded", "judged"):
        data["judgements"] = [Judgement(**judgement) for judgement in data["judgements"]]
    return _KINDS[kind](**data)


def _check_act(data: dict[str, Any]) -> None:
    """An act is done again when the trace is replayed, so that its fields must be what they say. Raises `TypeError`."""
    numbers = (data["after"], *(() if data.get("node") is None else (data["node"],)), *data.get("dropped", ()))
    texts = (data["act"], data.get("label", ""), data.get("text", ""), data.get("by", ""))
    limits = data.get("budget", {})
    if not all(type(number) is int for number in numbers) or not all(type(text) is str for text in texts):
        raise TypeError("an act has numbers and texts")
    if not isinstance(limits, dict) or not all(type(limit) in (int, float) for limit in limits.values()):
        raise TypeError("an act raises limits, which are numbers")


def decode(line: bytes) -> Event:
    """The event that one line of a trace holds. Raises `TraceError`."""
    try:
        return _decode(orjson.loads(line))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TraceError("not a line of a Branchwise trace") from error


def read_trace(path: Path, notice: Callable[[str], None] = lambda text: None) -> Iterator[Event]:
    """The events of a trace, one after the other. A cut last line is left out with a notice. Raises `TraceError` for any other file."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise TraceError(f"cannot read the trace {path}: {error.strerror}") from error
    with file:
        seen = 0
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                notice(f"{path}: the last line is cut (the run was killed while it wrote); it is left out")
                break
            try:
                event = _decode(orjson.loads(line if number > 1 else line.removeprefix(BOM_UTF8)))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise TraceError(f"{path}, line {number}: not a line of a Branchwise trace") from error
            if not seen and not isinstance(event, Started):
                raise TraceError(f"{path} does not begin with the start of a run: it is not a Branchwise trace")
            if isinstance(event, Started) and event.format != FORMAT:
                raise TraceError(f"{path} has trace format {event.format}; this version reads {FORMAT}")
            seen += 1
            yield event
        if not seen:
            raise TraceError(f"{path} is empty: there is no run in it")
