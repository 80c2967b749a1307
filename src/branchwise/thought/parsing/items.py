"""The proposals in a reply: numbered, bulleted, fenced or one a line, without the chatter around them. Knows no task."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from branchwise.thought.parsing.text import inline, strip_reasoning

__all__ = ["list_items", "unmarked"]

_WORDS = "step|option|thought|idea|choice|proposal|direction|plan|approach|candidate|suggestion|alternative|possibility"
_NUMBER = re.compile(
    rf"""(?: [(\[（【]\s?(?P<a>\d{{1,3}})\s?[)\]）】](?!\s*(?:[+/×÷=]|\*[^*]|-\s))    # (1) [1] （１）, but not the start of (8) * 3
        | (?P<b>\d{{1,3}})(?: \\?[.．](?=[^\d]) | \\?[)）、] | [:：](?=\s) )      # 1. 1) 1、 1: 1\. but not 1.5 or 10:30
        | (?P<c>[①-⑳❶-❿➀-➓])
        | [一二三四五六七八九十]{{1,3}}、
        | [가나다라마바사아자차카타파하][.)]\s
        | [a-hA-H]\)(?=\s) | (?-i:a)\.(?=\s)
        | (?:next\s)?(?:{_WORDS})\s?\#?(?:\d{{1,3}}|[A-H])\s?[:：.)–—-](?!\d)
        )\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_BULLET = re.compile(r"(?:(?:[-*+–—→](?=\s)|[•●○▪▫■□◦‣⁃·・➢➤►▶✓✔※])\s*(?:\[[ xX✓]?\]\s+)?|\[[ xX✓]\]\s+)")
_LEAD = re.compile(r"(?:>\s?){0,3}(#{1,6}\s)?\s*")
_TIGHT = re.compile(r"^[ \t]*(\d{1,2})([.．])(?=\d)", re.MULTILINE)
_LETTERED = re.compile(r"^([ \t]*(?:\*\*)?)([a-hA-H])\.(?=(?:\*\*)?[ \t])", re.MULTILINE)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_OPENING = re.compile(
    r"(?:sure|certainly|of course|okay|ok|great|absolutely|alright)\b\s*[!,.:]"
    r"|here (?:are|is)\b|here's\b|below (?:are|is)\b|the following\b|possible next steps?\b"
    r"|好的|当然|以下|下面|물론|다음은|네[,!.]",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"let me know\b|i hope\b|hope th(?:is|at|ese)\b|feel free\b|would you like\b|do you want\b|is there anything\b"
    r"|if you (?:need|want|have|would)\b|good luck\b|happy to (?:help|explain|elaborate|go|expand)\b|please (?:choose|pick|select|let me)\b"
    r"|which (?:one |of (?:these|them) )?(?:do|would|should) (?:you|we|i)\b|any of these\b"
    r"|these (?:(?:\w+ )?(?:are|were|should|will|can|keep)|steps|options|proposals|ideas|directions|approaches|moves)\b"
    r"|(?:please )?note(?: that|:)|希望|如果您|以上|도움이",
    re.IGNORECASE,
)

_CHATTER = re.compile(
    r"(?:i )?hope (?:this|that|these|it) help|let me know(?: (?:if|which|what|how|when)\b|[!.]*$)"
    r"|feel free to (?:ask|reach|let|choose)|good luck[!.]*$",
    re.IGNORECASE,
)
"""Closing words that are no proposal even behind a marker."""

_MOST = 20_000
"""A reply of more lines, or a list of more entries, is not read further: nobody asked for as many, and each costs some 20 µs."""


@dataclass(slots=True)
class _Line:
    text: str
    indent: int
    kind: str
    """number, bullet, or empty for a line without a marker."""
    index: int
    fence: int
    """Which fenced block it stands in, counted from 1; 0 outside."""
    after_blank: bool
    heading: bool


@dataclass(slots=True)
class _Item:
    parts: list[str]
    indent: int
    fence: int
    paragraphs: int = 0
    tail: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "".join(self.parts).strip()


def _marker(text: str) -> tuple[str, int, str]:
    """Kind and index of the marker that `text` starts with, and the rest. Emphasis around the marker goes with it."""
    bare = text.lstrip("*_") if text.startswith(("**", "__")) else text
    opened = text[: len(text) - len(bare)]
    if bullet := _BULLET.match(bare if opened else text):
        rest = bare[bullet.end() :]
        kind, index, inner = _marker(rest) if _NUMBER.match(rest.lstrip("*_")) else ("bullet", 0, rest)
        return (kind, index, inner) if rest else ("", 0, text)
    if number := _NUMBER.match(bare):
        rest = bare[number.end() :]
        if opened:
            rest = rest[len(opened) :].lstrip() if rest.startswith(opened) else opened + rest
        digits = number["a"] or number["b"]
        return "number", int(digits) if digits else 0, rest
    return "", 0, text


def unmarked(line: str) -> str:
    """One line without its list marker and emphasis: `2. **3 * 8 = 24**` gives `3 * 8 = 24`."""
    body = line.strip()
    lead = _LEAD.match(body)
    return inline(_marker(body[lead.end() :] if lead else body)[2])


def _spaced(text: str) -> str:
    """`text` with a space after tight markers (`1.4 + 8`), where the lines count 1, 2, 3 so that they are no decimals; `a. b. c.` as `a) b) c)`
    where they count."""
    tight = list(_TIGHT.finditer(text))
    letters = [match[2].lower() for match in _LETTERED.finditer(text)]
    if len(letters) > 1 and letters == list("abcdefgh"[: len(letters)]):
        text = _LETTERED.sub(r"\1\2)", text)
    counting = [int(match[1]) for match in tight] == list(range(1, len(tight) + 1))
    enough = len(tight) >= 3 or (len(tight) == 2 and all(match[2] == "．" for match in tight))
    return _TIGHT.sub(r"\g<0> ", text) if counting and enough else text


def _beginning(text: str) -> str:
    lines = text.splitlines()
    return text if len(lines) <= _MOST else "\n".join(lines[:_MOST])


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    fences, inside, blank = 0, False, False
    for raw in _spaced(_beginning(text)).splitlines():
        if _FENCE.match(raw):
            inside = not inside
            fences += inside
            blank = blank or not inside
            continue
        body = raw.strip()
        if not body:
            blank = True
            continue
        indent = len(wide := raw.expandtabs(4)) - len(wide.lstrip())
        lead = _LEAD.match(body)
        heading = bool(lead and lead[1])
        kind, index, rest = _marker(body[lead.end() :] if lead else body)
        if rest.strip(" *_-=#|"):
            lines.append(_Line(rest.strip(), indent, kind, index, fences if inside else 0, blank, heading))
        blank = not rest.strip(" *_-=#|")
    return lines


def _is_preamble(line: _Line) -> bool:
    text = inline(line.text)
    return line.heading or text.endswith((":", "：")) or bool(_OPENING.match(text) or _CLOSING.match(text))


def _ends_list(line: _Line) -> bool:
    return line.heading or line.text.endswith((":", "：")) or _CLOSING.match(line.text) is not None


def _json_list(text: str) -> list[str] | None:
    """The strings of a reply that is one JSON array of strings."""
    body = "\n".join(line for line in text.splitlines() if not _FENCE.match(line)).strip()
    if not body.startswith("[") or not body.endswith("]"):
        return None
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return [str(entry) for entry in data] if data and all(isinstance(entry, str) for entry in data) else None


def _flat_bullets(lines: list[_Line]) -> bool:
    """Whether bullets at the level of the numbers are proposals themselves, and not details between two numbers."""
    kinds = [line.kind for line in lines if line.kind]
    if kinds[0] == "bullet" or "number" not in kinds:
        return True
    last_number = len(kinds) - 1 - kinds[::-1].index("number")
    return "bullet" not in kinds[:last_number]


def _grouped(lines: list[_Line]) -> list[_Item]:
    """Items of a reply that has list markers; lines without a marker belong to the item before them."""
    first = next(i for i, line in enumerate(lines) if line.kind)
    flat = _flat_bullets(lines)
    fenced_lists = {line.fence for line in lines if line.kind}
    items: list[_Item] = []
    if first and lines[first].index == 2 and not _is_preamble(lines[first - 1]):
        items.append(_Item([lines[first - 1].text], lines[first].indent, lines[first - 1].fence))
    open_item = bool(items)
    end = max(i for i, line in enumerate(lines) if line.kind or line.fence)
    for place, line in enumerate(lines[first:], first):
        item = items[-1] if items else None
        nested = item is not None and open_item and line.indent > item.indent + 1 and line.fence == item.fence
        detail = item is not None and line.kind == "bullet" and not flat and items
        if line.kind and not nested and not detail:
            items.append(_Item([line.text], line.indent, line.fence))
            open_item = True
        elif line.fence and line.fence not in fenced_lists:
            items.append(_Item([line.text], line.indent, line.fence))
            open_item = False
        elif item is None or not open_item:
            continue
        elif line.kind:
            item.parts.append(f"\n- {inline(line.text)}")
        elif not nested and ((place > end and _CLOSING.match(line.text)) or (line.after_blank and _ends_list(line))):
            open_item = False
        elif line.after_blank and not nested:
            item.tail.append(line.text)
            item.paragraphs += 1
        elif item.tail:
            item.tail[-1] += f" {line.text}"
        else:
            item.parts.append(f" {inline(line.text)}")
    return items


def _texts(items: list[_Item]) -> list[str]:
    """Item texts. Paragraphs after the last item are kept only as far as earlier items have paragraphs too: the rest is chatter."""
    usual = max((item.paragraphs for item in items[:-1]), default=0)
    out = []
    for number, item in enumerate(items):
        kept = item.tail if number < len(items) - 1 else item.tail[:usual]
        out.append("\n".join([item.text(), *map(inline, kept)]))
    return out


def _plain_lines(lines: list[_Line]) -> list[str]:
    """The lines of a reply without markers; behind a fenced block no sentences."""
    end = max((i for i, line in enumerate(lines) if line.fence), default=len(lines))
    return [line.text for i, line in enumerate(lines) if not _is_preamble(line) and (i <= end or not line.text.endswith((".", "!", "?")))]


def list_items(text: str) -> list[str]:
    """The proposals in a reply, in order, cleaned of markers, emphasis, fences, preamble and closing words; repeats are kept.

    Numbers (`1.` `1)` `(1)` `1、` `①` `Step 1:`), bullets and fences make items; without any, every line is one. Lines that continue an
    item are joined to it, details below it by line breaks. No more than the first 20,000 lines are read.
    """
    content = strip_reasoning(text)
    if (strings := _json_list(content)) is not None:
        return [entry.strip() for entry in strings[:_MOST] if entry.strip()]
    lines = _lines(content)
    marked = any(line.kind for line in lines)
    found = _texts(_grouped(lines)) if marked else _plain_lines(lines)
    cleaned = ("\n".join([inline(first), *rest]) for first, *rest in (entry.split("\n") for entry in found))
    entries = [entry for entry in cleaned if entry.strip()]
    while len(entries) > 1 and _CHATTER.match(entries[-1]):
        entries.pop()
    return entries
