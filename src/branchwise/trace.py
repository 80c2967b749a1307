"""Events, and the JSON-lines file that holds them: log, checkpoint and tape in one. Knows no tree, no model and no search.

A line is written and flushed before the tree changes, so a killed process leaves a readable file: at worst its last line is cut, and
is dropped with a notice when the file is read. Resuming appends: a second `started` line resets the fold.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import orjson

from branchwise.appending import AppendFile, Busy
from branchwise.errors import TraceError

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

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Started:
    """A run begins, or goes on. `run` must not change on resume (problem, method, model, seed, window); `about` may (budget, versions ...)."""

    run: dict[str, Any]
    about: dict[str, Any]
    format: int = FORMAT
    event: str = "started"


@dataclass(frozen=True, slots=True)
class TapedSample:
    """One sample of a call, as it is needed to give it again. `usage` has the keys of `Usage.to_json`."""

    text: str
    outcome: str
    usage: dict[str, Any]
    reasoning: str = ""
    finish: str = ""
    error: str = ""
    logprobs: Sequence[dict[str, float]] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A reply of the model. Samples `first`, `first`+1 ... of the request that node, occurrence, role, digest and repeat name.

    A call that failed for good, retries included, has no samples but a `fault` (the kind of error) and its `error`: an offline replay fails
    alike, a resumed run asks again.
    """

    node: str
    occurrence: int
    role: str
    digest: str
    repeat: int
    first: int
    samples: Sequence[TapedSample]
    model: str = ""
    system_fingerprint: str = ""
    messages: Sequence[dict[str, str]] = ()
    seconds: float = 0.0
    fault: str = ""
    error: str = ""
    limit: int = 0
    """The most tokens of one reply that were asked for; 0 where that was not recorded."""
    event: str = "call"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The value in [0, 1] (or null: unknown) of a node, with its samples and the evaluator's reason."""

    node: int
    value: float | None
    samples: Sequence[float | None] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Birth:
    """A proposal that was read. `node` is its number in the tree, or that of the equal state which it was merged into."""

    node: int
    index: int
    thought: str
    status: str = "open"
    reason: str = ""
    confidence: float | None = None
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Expanded:
    """A node was expanded. `partial` names the limit that cut the step short; `error` says why nothing came."""

    step: int
    node: int
    births: Sequence[Birth] = ()
    dropped: Sequence[tuple[str, str]] = ()
    judgements: Sequence[Judgement] = ()
    role: str = "generate"
    final: bool = False
    wasted: int = 0
    partial: str = ""
    error: str = ""
    event: str = "expanded"


@dataclass(frozen=True, slots=True)
class Judged:
    """Nodes were judged; a joint evaluator judges them together."""

    step: int
    judgements: Sequence[Judgement] = ()
    partial: str = ""
    error: str = ""
    event: str = "judged"


@dataclass(frozen=True, slots=True)
class Mark:
    """What the search decided about a node: kept or pruned, and why."""

    node: int
    fate: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Marked:
    """Decisions of the search, after a commit."""

    marks: Sequence[Mark]
    event: str = "marked"


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that the user should know."""

    text: str
    event: str = "warned"


@dataclass(frozen=True, slots=True)
class Steered:
    """A person's act: pause, go_on, prune, favour, add, approve or budget. It took effect after the commit of step `after` (0: before any),
    and after all steps had been issued that could be.

    A run that is resumed or replayed does it again in the same place. `dropped` are the numbers of the steps in flight that it ended: what
    they had asked for is charged, nothing of them enters the tree. A trace without acts is what it was before there were any; versions that
    know none refuse one with acts, whose tree they could not make.
    """

    act: str
    after: int
    node: int | None = None
    label: str = ""
    text: str = ""
    """The thought that was added; else the beginning of the node's own."""
    budget: dict[str, Any] = field(default_factory=dict)
    """The new limits, by name."""
    dropped: Sequence[int] = ()
    by: str = ""
    """Who, where that is known."""
    event: str = "steered"


@dataclass(frozen=True, slots=True)
class Stopped:
    """The end of a run (until it is resumed). `node` is the one that the answer was picked from."""

    reason: str
    node: int | None = None
    answer: str | None = None
    solved: bool | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    event: str = "stopped"


Event = Started | Call | Expanded | Judged | Marked | Warned | Steered | Stopped


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
                raise TraceError(f"another run is writing to the trace {path}; wait for it, or name another file with --trace") from None
            except OSError as error:
                self.close()
                raise TraceError(f"cannot write the trace {path}: {error.strerror}; name another with --trace") from error

    def write(self, event: Event) -> None:
        """Record one event; it is with the operating system when this returns."""
        if self._file is not None:
            try:
                self._file.write(_encode(event))
            except OSError as error:
                raise TraceError(f"cannot write the trace {self.path}: {error.strerror}; free some space, then --resume it") from error
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
    if kind in ("expanded", "judged"):
        data["judgements"] = [Judgement(**judgement) for judgement in data["judgements"]]
    return _KINDS[kind](**data)


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
