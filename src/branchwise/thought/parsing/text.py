"""What every reader of model text starts from: reasoning cut away, markup removed, sentences. Knows no label, number or task."""

from __future__ import annotations

import re
import unicodedata

from branchwise.model.reasoning import Split, split_reasoning

__all__ = ["Split", "fold", "inline", "sentences", "split_reasoning", "strip_reasoning"]

_BOLD = re.compile(r"(?<![\w*])\*\*(?=[^\s*])([^*\n]+(?:\*[^*\n]+)*)\*\*(?![\w*])")
_UNDER = re.compile(r"(?<!\S)__(?=[^\s_])([^_\n]+(?:_[^_\n]+)*)__(?=[\s.,;:!?)]|$)")
_WRAPS = (("`", "`"), ('"', '"'), ("“", "”"), ("「", "」"))
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_LONGEST = 100_000
"""A verdict stands at the end of a reply; no more than this many characters before the end are read for it."""
_BLANKS = re.compile(r"\s{2,}|[^\S\n ]")
_FOLDED = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-", "—": " - ", "*": None, "`": None, "\r": "\n"})


def strip_reasoning(text: str) -> str:
    """The content of a reply, without reasoning; empty where the reply was cut off inside it."""
    return split_reasoning(text).content.strip()


def fold(text: str) -> str:
    """Content in one plain form for reading verdicts: full-width and compatibility forms, quotes and dashes unified, emphasis gone, each run
    of blanks one blank or one line break.

    Of a reply longer than 100,000 characters it is the end, behind an ellipsis; where compatibility forms, written out, are longer than
    that (one Arabic ligature is 18 letters), the end of that.
    """
    content = strip_reasoning(text)
    if len(content) > _LONGEST:
        content = f"… {content[-_LONGEST:].split(None, 1)[-1]}"
    plain = unicodedata.normalize("NFKC", content)[-_LONGEST - 9 :].translate(_FOLDED)
    return _BLANKS.sub(lambda blanks: "\n" if "\n" in blanks[0] else " ", plain)


def sentences(text: str) -> list[str]:
    """The sentences and lines of `text` that are not blank, in order. A dot inside a number ends nothing."""
    return [part for part in (piece.strip() for piece in _SENTENCE.split(text)) if part]


def inline(text: str) -> str:
    """One line without bold, wrapping code marks or quotation marks. A lone `*` is an operator and stays."""
    text = _UNDER.sub(r"\1", _BOLD.sub(r"\1", text)).strip()
    for mark in ("**", "__"):
        if text.count(mark) == 1:
            text = text.removeprefix(mark).removesuffix(mark).strip()
    for left, right in _WRAPS:
        inner = text[1:-1]
        if len(text) > 2 and text[0] == left and text[-1] == right and left not in inner and right not in inner:
            return inner.strip()
    if len(text) > 2 and text[0] == text[-1] == "*" and not text[1].isspace() and not text[-2].isspace():
        return text[1:-1].strip()
    return text
