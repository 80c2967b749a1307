"""Telling reasoning from content in a reply text, for every reader of one. Knows no provider; it never looks at what the content says."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Split", "cut_at_stop", "split_reasoning"]

_OPENING = (
    r"<(?:think|thinking|thoughts?|reasoning|seed:think|longcat_think)(?:\s[^<>]{0,80})?>",
    r"◁think▷",
    r"(?-i:\[THINK\])",
    r"<\|(?:begin_of_thought|start_thinking)\|>",
    r"<\|channel\|>(?:analysis|commentary)[^<]{0,80}<\|message\|>",
)
_CLOSING = (
    r"</(?:think|thinking|thoughts?|reasoning|seed:think|longcat_think)\s?>",
    r"◁/think▷",
    r"(?-i:\[/THINK\])",
    r"<\|(?:end_of_thought|end_thinking)\|>",
    r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final[^<]{0,80}<\|message\|>",
)
"""How models mark their reasoning in the text: the one list, pair by pair. A closing mark of one kind may end an opening one of another."""

_MARK = re.compile(f"(?P<closing>{'|'.join(_CLOSING)})|{'|'.join(_OPENING)}", re.IGNORECASE)
_BEGINS = ("<", "◁", "[THINK]", "[/THINK]")
"""One of these is in each mark: a text without any is not searched for them."""
_QUOTES = "`'\"“”‘’「」"
_IN_SENTENCE = re.compile(r"[\w,][ \t]+\Z")


class Split(NamedTuple):
    """A reply taken apart. `truncated` says that it ended inside the reasoning, so that `content` holds no answer."""

    reasoning: str
    content: str
    truncated: bool


def split_reasoning(text: str) -> Split:
    """Reasoning and content. Everything up to the last closing mark is reasoning, whether or not an opening one came first: chat templates
    put that into the prompt.

    An opening mark that is never closed makes reasoning of what follows it. A text without marks is content. A mark in quotation marks is
    text, and so is an opening one that a sentence merely mentions where nothing closes any.
    """
    might = any(begin in text for begin in _BEGINS)
    marks = [mark for mark in _MARK.finditer(text) if not _is_quoted(text, mark)] if might else []
    if not marks:
        return Split("", text, False)
    last = next((i for i in reversed(range(len(marks))) if marks[i]["closing"]), -1)
    reasoning = _without(text, 0, marks[: last + 1], marks[last].start()) if last >= 0 else ""
    start = marks[last].end() if last >= 0 else 0
    rest = marks[last + 1 :] if last >= 0 else [mark for mark in marks if not _is_mention(text, mark)]
    if not rest:
        return Split(reasoning, text[start:].lstrip() if last >= 0 else text, False)
    inner = _without(text, rest[0].end(), rest[1:], len(text))
    return Split("\n".join(filter(None, (reasoning, inner))), text[start : rest[0].start()].strip(), True)


def _is_quoted(text: str, mark: re.Match[str]) -> bool:
    before, after = text[mark.start() - 1 : mark.start()], text[mark.end() : mark.end() + 1]
    return bool(before and after) and before in _QUOTES and after in _QUOTES


def _is_mention(text: str, mark: re.Match[str]) -> bool:
    """Whether an opening mark stands in the middle of a sentence, as in "write <think> to begin"."""
    after = text[mark.end() : mark.end() + 1]
    return after in (" ", ",", ".", ";", ":", ")") and _IN_SENTENCE.search(text, max(0, mark.start() - 8), mark.start()) is not None


def _without(text: str, start: int, marks: list[re.Match[str]], end: int) -> str:
    """`text` from `start` to `end` without the marks in it."""
    parts: list[str] = []
    for mark in marks:
        parts.append(text[start : mark.start()])
        start = mark.end()
    return "".join([*parts, text[start:end]] if start <= end else parts).strip()


def cut_at_stop(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """`text` before the first stop string, and whether there was one."""
    found = [at for stop in stops if stop and (at := text.find(stop)) >= 0]
    return (text[: min(found)], True) if found else (text, False)
