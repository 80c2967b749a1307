"""The final answer of a reply, boxes, and JSON objects. Knows no task and compares nothing."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from branchwise.thought.parsing.text import inline, strip_reasoning

__all__ = ["answer_in", "before_new_example", "before_run_on", "box_spans", "boxes", "final_answer", "json_object"]

_GROUP = r"\{(?:[^{}\n]|\{[^{}\n]{0,100}\}){0,300}\}"
_BARE = (
    r"[ \t]*(?P<bare>[-+−]?[ \t]*(?:\\?[$€£][ \t]*)?(?:\d+(?:(?:[.,]|\{,\})\d+)*(?:/\d+)?(?:[ \t]*\\?%)?"
    rf"|\\[dtc]?frac[ \t]*(?:{_GROUP}|\w)[ \t]*(?:{_GROUP}|\w)|\\(?:sqrt|text|mathrm|mathbf|textbf)[ \t]*(?:{_GROUP}|\w)"
    r"|\\(?:pi|infty)|[A-Za-z])|\([^()\n]{1,100}\))"
    r"(?=[ \t]*(?:$|[$.,;:!?)\]}|]|\*\*|\\[)\]\\,]|\\(?:text|mathrm|quad))|[ \t]+[A-Za-z]{2})"
)
"""What stands in a box without braces: a number, fraction, root, word in LaTeX, letter or pair of parentheses; no beginning of a formula."""
_BOX = re.compile(rf"\\(?:boxed|fbox)(?![a-zA-Z])(?:[ \t]*(?P<box>\{{)|{_BARE})", re.MULTILINE)
_MARKER = re.compile(
    r"(?P<hashes>(?<!\#)\#{4}(?!\#)[ \t]*(?=[-−+$£€¥]?[\d.]|(?:yes|no|true|false)\b))"
    r"|^[ \t]*(?:\#{1,6}[ \t]*|[*_]{2})(?:[*_]{2})?(?:final[ \t]+)?answer[*_]{0,2}[ \t]*$"
    r"|(?:\b(?:final[ \t]+|correct[ \t]+)?answer[ \t]*(?:[*_]{2}[ \t]*)?(?:[:：]|\bis\b[ \t]*[:：]?)"
    r"|(?:最终)?答案(?:是|为)?[ \t]*[:：]?|(?:정답|답)(?:은|:|：))[ \t]*(?:[*_]{2})?[ \t]*"
    rf"|{_BOX.pattern}",
    re.IGNORECASE | re.MULTILINE,
)
_IN_MARKERS = ("answer", "####", "答案", "답", "\\boxed", "\\fbox")
_TASK = r"(?:question|problem|example|exercise|task|puzzle|instruction|q)"
_DRESS = r"^[ \t]*(?:\#{1,6}[ \t]*)?(?:[*_]{1,3})?"
_NEW_EXAMPLE = re.compile(
    rf"{_DRESS}(?:(?:{_TASK}s?|input|prompt|user|human)[ \t]*(?:\#?\d{{1,4}}[ \t]*)?(?:[*_]{{2}})?[:：]|问题[:：]|질문[:：])"
    rf"|{_DRESS}{_TASK}[ \t]*\#?\d{{1,4}}[ \t]*(?:[*_]{{2}}|[.)](?=\s))?[ \t]*(?:$|(?<=[.)][ \t]))"
    rf"|^[ \t]*\#{{1,6}}[ \t]*(?:[*_]{{2}})?{_TASK}(?:[ \t]+\d{{1,4}})?[ \t]*(?:[*_]{{2}}[ \t]*)?$"
    rf"|^[ \t]*(?:-{{3,}}|\*{{3,}}|_{{3,}}|={{3,}})[ \t]*\n\s*(?:\#{{1,6}}[ \t]*)?[*_]{{0,3}}{_TASK}\b"
    rf"|{_DRESS}(?:(?:now|ok|okay|and)[ ,]+)?(?:(?:here(?:['’]s|[ ]is|[ ]are)|let(?:['’]s|[ ]us)[ ](?:\w+[ ]){{1,3}}?|(?:try|solve|do|consider)[ ]))?"
    rf"[ ]?(?:the[ ]|a[ ]|some[ ])?(?:another|next|new|one[ ]more|more)[ ](?:\w+[ ])?(?:{_TASK}s?|one)"
    rf"(?:[ ]\#?\d{{1,4}})?[*_]{{0,3}}[ \t]*(?:[:：.!?]|$)"
    rf"|{_DRESS}(?:now|next)[ ,]+(?:you[ ]|try[ ]to[ ]|let['’]s[ ])?(?:try|solve|answer|do|consider)[ ]"
    rf"(?:this|these|the[ ]following)(?:[ ](?:one|{_TASK}s?))?[*_]{{0,3}}[ \t]*(?:[:：.!]|$)"
    rf"|^[ \t]*\[(?:{_TASK}|user|human)[ \t]*\d{{0,4}}\]"
    r"|(?<=[.!?])[ \t]+(?:next[ ]|new[ ])?(?:question|problem|q)[ \t]*\d{0,4}:"
    r"|<\|(?:im_end|im_start|endoftext|eot_id|start_header_id|user|end)\|>|</s>|<(?:start|end)_of_turn>|\[/?INST\]",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s+[A-Z\"(])|[。！？]")
_CONFIRMS = re.compile(
    r"(?:indeed |also |therefore |thus |probably |likely )?(?:in)?(?:correct|right|wrong|verified|valid|reasonable|"
    r"consistent|confirmed|plausible)\b[^\d\\$]{0,60}",
    re.IGNORECASE,
)
_LAST = 8
_CANDIDATES = 100


def _closing(text: str, start: int) -> int | None:
    """Where the brace closes that was opened before `start`; `None` where the text is cut off."""
    depth = 1
    for brace in re.compile(r"\\[{}\\]|[{}]").finditer(text, start):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.start()
    return None


def _box(text: str, mark: re.Match[str]) -> str | None:
    """The content of the box that begins with `mark`, braces balanced; `None` where it is cut off."""
    if mark["box"] is None:
        return mark["bare"]
    end = _closing(text, mark.end())
    return None if end is None else text[mark.end() : end].strip()


def box_spans(text: str) -> list[tuple[int, int, str | None]]:
    r"""Start, end and content of each `\boxed{…}` or `\boxed 5`, in order; the content is `None` where it is cut off."""
    found: list[tuple[int, int, str | None]] = []
    end = 0
    for mark in _BOX.finditer(text):
        if mark.start() >= end and mark["box"] is None:
            end = mark.end()
            found.append((mark.start(), end, mark["bare"]))
        elif mark.start() >= end:
            close = _closing(text, mark.end())
            end = len(text) if close is None else close + 1
            found.append((mark.start(), end, None if close is None else text[mark.end() : close].strip()))
    return found


def boxes(text: str) -> list[str | None]:
    r"""The contents of all `\boxed{…}`, in order; `None` for one that is cut off."""
    return [content for _, _, content in box_spans(text)]


def _after(text: str, start: int) -> str:
    """What follows a marker: the rest of its line or, where that is empty, the next line with something in it; one sentence at most."""
    rest = text[start:].lstrip(" \t*_:：")
    body = rest.lstrip()
    if body != rest and "\n\n\n" in rest[: len(rest) - len(body)]:
        return ""
    line = body.split("\n", 1)[0]
    if end := _SENTENCE_END.search(line):
        line = line[: end.start()]
    line = inline(line.strip())
    return line.rstrip(" \t.。!,;*_").strip("`").strip()


def _might_answer(text: str) -> bool:
    """Whether anything that is in every marker is in `text`: one without is not searched for them."""
    folded = text.casefold()
    return any(word in folded for word in _IN_MARKERS)


def before_run_on(text: str) -> str:
    """`text` up to where the reply invents its next example: the first such line after an answer, or the end of the `####` line.

    Reasoning is not stripped here.
    """
    marks = _MARKER.finditer(text)
    if not _might_answer(text) or (first := next(marks, None)) is None:
        return text
    hashes = first if first["hashes"] is not None else next((mark for mark in marks if mark["hashes"] is not None), None)
    ends = [len(text)]
    if hashes is not None and (line_end := text.find("\n", hashes.end())) >= 0:
        ends.append(line_end)
    if cut := _NEW_EXAMPLE.search(text, first.end()):
        ends.append(cut.start())
    return text[: min(ends)]


def before_new_example(text: str) -> str:
    """`text`, in which no answer is marked, up to where the reply invents its next example: a line that begins one, unless it is the first."""
    begun = len(text) - len(text.lstrip())
    cut = next((mark.start() for mark in _NEW_EXAMPLE.finditer(text) if text[begun : mark.start()].strip()), len(text))
    return text[:cut]


def final_answer(text: str) -> str | None:
    r"""What the last answer marker says: `Answer:`, "the answer is", `####` or `\boxed{}`; `None` without a marker or behind a box cut off.

    Reasoning is stripped first, and a reply that runs on into a new example is cut there. The answer is the rest of the marker's line (or
    the line below it), one sentence at most. A marker that only confirms ("so our answer is correct") is passed over.
    """
    return answer_in(before_run_on(strip_reasoning(text)))


def answer_in(content: str) -> str | None:
    """The same for a reply that is stripped of its reasoning and cut where it runs on."""
    if not _might_answer(content):
        return None
    for mark in reversed(deque(_MARKER.finditer(content), maxlen=_LAST)):
        boxed = mark["box"] is not None or mark["bare"] is not None
        said = _box(content, mark) if boxed else _after(content, mark.end())
        if boxed or not _CONFIRMS.fullmatch(said or ""):
            return said or None
    return None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    at, tries = 0, 0
    for brace in re.finditer(r"\{(?=\s{0,100}[\"}])", text):
        if brace.start() < at:
            continue
        if (tries := tries + 1) > _CANDIDATES:
            return
        try:
            value, at = decoder.raw_decode(text, brace.start())
        except (ValueError, RecursionError):
            continue
        yield value


def json_object(text: str) -> dict[str, Any] | None:
    """The first well-formed JSON object that is not empty, whatever prose or fences stand around it. Looks at 100 candidates at most."""
    return next((value for value in _objects(strip_reasoning(text)) if value), None)
