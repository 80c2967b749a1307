"""Telling reasoning from content in a reply text. Knows no provider; it never looks at what the content says."""

from __future__ import annotations

import re

__all__ = ["cut_at_stop", "split_reasoning"]

_TAG = re.compile(r"<(/?)(?:think|thinking)>", re.IGNORECASE)


def split_reasoning(text: str) -> tuple[str, str, bool]:
    """`text` as (reasoning, content, unclosed).

    Everything up to the last closing tag is reasoning, whether or not an opening tag came first (chat templates put it into the prompt).
    A tag that opens the text, or opens after the last closing one, and is never closed leaves no content behind it: `unclosed`.
    A text without tags is content; so is an opening tag that merely is mentioned in the middle of it.
    """
    tags = list(_TAG.finditer(text))
    last = next((t for t in reversed(tags) if t[1]), None)
    reasoning, rest = (_TAG.sub("", text[: last.start()]).strip(), text[last.end() :]) if last else ("", text)
    opening = _TAG.search(rest)
    if opening and (last is not None or not rest[: opening.start()].strip()):
        inner = _TAG.sub("", rest[opening.end() :]).strip()
        return "\n".join(filter(None, (reasoning, inner))), rest[: opening.start()].strip(), True
    return reasoning, rest.lstrip() if last else rest, False


def cut_at_stop(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """`text` before the first stop string, and whether there was one."""
    found = [at for stop in stops if stop and (at := text.find(stop)) >= 0]
    return (text[: min(found)], True) if found else (text, False)
