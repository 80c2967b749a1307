"""From messages to a problem, by a stated rule. Knows no model and no HTTP.

- The problem is the text of the last message, which must be the user's.
- Whatever stands before it (instructions, earlier turns) becomes material of the problem, where the task takes material: `open` and tasks
  described in a file do. Each line of it is set in, so that no message can pass itself off as another; so is a line of the last message
  that reads like a heading of the material, where there is some.
- A task that takes none (game24: four numbers) gets a conversation of one user message and nothing else.
- What cannot be turned into a problem by this rule is refused with 400.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from branchwise.server.chat import Message
from branchwise.server.faults import Refusal
from branchwise.tasks import Task

__all__ = ["problem_text", "set_in"]

_NAMES = {"user": "User", "assistant": "Assistant"}
_INSTRUCTIONS, _TURNS = "Instructions for the answer:", "The conversation before the question:"
_HEADINGS = re.compile(
    r"\s*+(material|instructions for the answer|the conversation before the question|(user|assistant)\s*+(\([^()]*+\))?+)\s*+:", re.IGNORECASE
)


def problem_text(messages: Sequence[Message], task: Task) -> str:
    """The problem that the conversation states for `task`. Raises `Refusal`."""
    last = messages[-1]
    if last.role != "user":
        raise _refused(f"the last message is the problem, so it must be the user's, not of role {last.role!r}", len(messages) - 1)
    if not last.text.strip():
        raise _refused("the last message is empty; it must state the problem", len(messages) - 1)
    before = [(place, message) for place, message in enumerate(messages[:-1]) if message.text.strip()]
    if not before:
        return last.text.strip()
    if task.material is None:
        place, first = before[0]
        raise _refused(
            f"task {task.name} takes one message that states the problem in full; it has no use for an earlier message of role {first.role!r}",
            place,
        )
    return task.material(_own(last.text), _material([message for _, message in before]))


def _material(messages: Sequence[Message]) -> str:
    instructions = [message for message in messages if message.role in ("system", "developer")]
    turns = [message for message in messages if message.role in _NAMES]
    parts = []
    if instructions:
        parts.append("\n".join([_INSTRUCTIONS, *(set_in(message.text) for message in instructions)]))
    if turns:
        told = [f"{_NAMES[message.role]}{f' ({message.name})' if message.name else ''}:\n{set_in(message.text)}" for message in turns]
        parts.append("\n".join([_TURNS, *told]))
    return "\n\n".join(parts)


def set_in(text: str) -> str:
    """The same with each line set in, whatever ends a line."""
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


def _own(text: str) -> str:
    """The question, in which no line reads like a heading of the material."""
    lines = text.strip().splitlines()
    return "\n".join(f"  {line}" if _HEADINGS.match(line) else line for line in lines) if any(map(_HEADINGS.match, lines)) else text


def _refused(text: str, place: int) -> Refusal:
    return Refusal(400, text, param=f"messages[{place}]", code="no_problem")
