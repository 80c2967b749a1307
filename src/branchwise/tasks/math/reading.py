r"""The answer in a mathematical reply: the last box or answer marker, several boxes joined where they belong together. Evaluates nothing."""

from __future__ import annotations

import re

from branchwise.tasks.math.latex import LONGEST, clean
from branchwise.tasks.math.structure import read, show
from branchwise.thought.parsing import before_run_on, box_spans, final_answer, strip_reasoning

__all__ = ["final_formula", "is_prose", "normal"]

_APART = 60
"""Boxes further apart than this, in characters, are not parts of one answer."""
_BETWEEN = re.compile(r"\b(?:and|or)\b|[,;]")
_AFRESH = re.compile(r"\b(?:wait|so|thus|hence|therefore|no|actually|instead|but|correct)\b|[.!?]\s", re.IGNORECASE)
_RESTATED = re.compile(
    r"^[ \t*_#]*(?:the |final )*answer[ \t*_]*:|\b(?:the|final|correct)[ \t]+answer[ \t]+is\b", re.IGNORECASE | re.MULTILINE
)
"""What can stand behind a box and count in its place; "we check our answer: ..." cannot."""
_NONE = re.compile(
    r"(?:(?:i|we) )?(?:do not|don't|cannot|can't) (?:know|say|tell|determine)|unknown|not known|unclear|unsure|i am not sure|n/a|\?+",
    re.IGNORECASE,
)
_SEGMENT = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$((?:\\\$|[^$])+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_ONLY_JOINTS = re.compile(r"(?:[\s.,;:!]|\b(?:and|or|is|are|the)\b)*\Z")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_FUNCTIONS = frozenset(
    "sin cos tan cot sec csc log ln exp sqrt max min gcd lcm mod and or pi pmatrix bmatrix matrix frac text infty cup".split()
)


def final_formula(text: str) -> str | None:
    """The answer of a reply as it is written; `None` where there is none: no box and no marker, a box cut off, or words like "unknown".

    A reply of one short line without any prose is an answer as it stands.
    """
    content = before_run_on(strip_reasoning(text))
    spans = box_spans(content)
    after = content[spans[-1][1] :] if spans else ""
    if spans and (final_answer(after) is None or not _RESTATED.search(after)):
        found = _boxed(content, spans)
    elif (marked := final_answer(text)) is not None:
        found = _segment(_continued(content, marked))
    else:
        found = content if "\n" not in content and len(content) <= 100 and not is_prose(clean(content)) else None
    if found is None or not found.strip(" .$") or _NONE.fullmatch(found.strip(" .$*")):
        return None
    return found.strip()


def _boxed(content: str, spans: list[tuple[int, int, str | None]]) -> str | None:
    """The last box, with those before it that are close, differ, and are joined to it by a comma, "and" or "or"."""
    last = spans[-1][2]
    if last is None:
        return None
    parts = [_labelled(content, spans[-1])]
    for one, other in zip(reversed(spans[:-1]), reversed(spans), strict=False):
        between = content[one[1] : other[0]]
        if one[2] is None or len(between) > _APART or _AFRESH.search(between) or not _BETWEEN.search(between):
            break
        parts.append(_labelled(content, one))
    whole = list(dict.fromkeys(reversed(parts)))
    return last if len(whole) == 1 else ", ".join(whole)


def _labelled(content: str, span: tuple[int, int, str | None]) -> str:
    return span[2] or ""


def _continued(content: str, marked: str) -> str:
    r"""A marker's text; where it only opens display mathematics, what stands in it."""
    if marked.strip() not in ("\\[", "$$", "\\(", "$", "\\begin{align*}"):
        return marked
    start = content.rfind(marked.strip())
    opened = content[: start + len(marked.strip())]
    place = opened.rfind(marked.strip())
    body = content[place + len(marked.strip()) :][: LONGEST + 1]
    return re.split(r"\\\]|\$\$|\\\)|\$", body, maxsplit=1)[0]


def _segment(marked: str) -> str:
    """The mathematics in a marker's sentence: its segments, where words stand around them; else the sentence as it is."""
    segments = [next(part for part in match.groups() if part) for match in _SEGMENT.finditer(marked[:LONGEST])]
    if not segments:
        return marked
    around = _SEGMENT.sub(" ", marked)
    if _ONLY_JOINTS.match(around) and len(segments) > 1:
        return ", ".join(segments)
    if len(segments) == 1 and _SEGMENT.match(marked.strip()) and not re.search(r"\d", around):
        return segments[0]
    return segments[0] if len(segments) == 1 and not re.search(r"\d", around) else marked


def is_prose(text: str) -> bool:
    """Whether cleaned `text` is a sentence and no formula: two or more words, and no sign of mathematics."""
    words = [word for word in _WORD.findall(text) if word.lower() not in _FUNCTIONS]
    return len(words) >= 2 and not re.search(r"[\d=<>^]|\\(?!text)[a-z]", text)


def normal(text: str) -> str:
    """An answer in the form in which answers are counted."""
    return show(read(text))
