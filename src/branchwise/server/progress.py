"""What a search does, told in short lines as it happens. Reads events; decides nothing."""

from __future__ import annotations

from branchwise.trace import Event, Expanded, Judged, Judgement, Marked, Steered, Stopped, Warned

__all__ = ["Narrator"]

_LONGEST = 200
"""Characters of a thought that are shown."""


class Narrator:
    """Tells the events of one search. Thoughts are cut to one short line each; they are counted along their path, so `Thought 2` is a second one."""

    def __init__(self) -> None:
        self._thoughts: dict[int, str] = {}
        self._depths: dict[int, int] = {}

    def tell(self, event: Event) -> str:
        """The lines for `event`, each with its end; empty where there is nothing to say."""
        if isinstance(event, Expanded):
            return self._expanded(event)
        if isinstance(event, Judged):
            return "".join(self._judged(judgement) for judgement in event.judgements)
        if isinstance(event, Marked):
            return "".join(f"  {mark.fate}: {self._of(mark.node)}{_because(mark.reason)}\n" for mark in event.marks)
        if isinstance(event, Warned):
            return f"Note: {_short(event.text)}\n"
        if isinstance(event, Steered):
            return f"A person: {event.act.replace('_', ' ')}{_because(event.text)}\n"
        return f"Stopped: {event.reason}\n" if isinstance(event, Stopped) else ""

    def _expanded(self, event: Expanded) -> str:
        origin = f" from: {self._of(event.node)}" if event.node else ""
        depth = self._depths.get(event.node, 0) + 1
        lines = [f"{'The answer' if event.role == 'answer' else f'Thought {depth}'}{origin}\n"]
        for birth in event.births:
            if birth.merged:
                lines.append(f"  merged: {_short(birth.thought)}\n")
                continue
            self._thoughts[birth.node], self._depths[birth.node] = _short(birth.thought), depth
            status = "" if birth.status == "open" else f"{birth.status}: "
            lines.append(f"  + {status}{_short(birth.thought)}{_because(birth.reason)}\n")
        if event.dropped:
            lines.append(f"  dropped: {len(event.dropped)}\n")
        if event.error:
            lines.append(f"  failed: {_short(event.error)}\n")
        return "".join([*lines, *(self._judged(judgement) for judgement in event.judgements)])

    def _judged(self, judgement: Judgement) -> str:
        value = "unknown" if judgement.value is None else f"{judgement.value:.3g}"
        return f"  value {value}: {self._of(judgement.node)}\n"

    def _of(self, node: int) -> str:
        return self._thoughts.get(node, "the problem")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _because(reason: str) -> str:
    return f" ({_short(reason)})" if reason else ""
