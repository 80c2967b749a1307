"""The constraint of creative writing, by program: four paragraphs, each ending with its sentence. Knows no model and no taste."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from branchwise.errors import UsageError

__all__ = ["COUNT", "ends_with", "faults", "paragraphs", "sentences_of"]

COUNT = 4
"""Sentences in, and paragraphs out."""

_LONGEST = 400
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[.!?…][\"”’')])\s+")
_FRAGMENT = re.compile(r"(?<=[a-z]) (?=(?:You|He|She|It|They|We|Just|The|There|When|If|A|An|In|My) [a-z])")
_NUMBER = re.compile(r"[1-4]\s*[.)]\s+(?=\S)")
_EXAMPLE = """\
The bus never came.
She had always wanted to learn the tuba.
Nobody in the village owned a clock.
That was the end of the yellow umbrella."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def sentences_of(text: str) -> tuple[str, ...]:
    """The four sentences of an input: one a line, or all in one line. A piece without an end of its own, as the published list has them,
    is cut off before the capital that follows. Raises `UsageError` that shows an input."""
    lines = [
        _NUMBER.sub("", line.strip(), count=1) if _NUMBER.match(line.strip()) else line.strip()
        for line in text.splitlines()
        if line.strip()
    ]
    found = lines if len(lines) > 1 else [piece for line in lines for piece in _END.split(line) if piece]
    if len(found) == COUNT - 1 and len(lines) == 1:
        found = _cut(found)
    if len(found) != COUNT or max(map(len, found), default=0) > _LONGEST:
        why = f"{len(found)} sentences, not {COUNT}" if len(found) != COUNT else f"a sentence is longer than {_LONGEST} characters"
        raise UsageError(f"not an input for writing: {why}; give four sentences, one a line, for example:\n{_EXAMPLE}")
    return tuple(found)


def _cut(pieces: list[str]) -> list[str]:
    parts = [_FRAGMENT.split(piece, maxsplit=1) for piece in pieces]
    return [part for pair in parts for part in pair]


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a passage: parted by blank lines or, where there are none, by line breaks; a heading of one short line is none."""
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", text.strip()) if block.strip()]
    if len(blocks) < COUNT:
        lines = [" ".join(line.split()) for line in text.strip().splitlines() if line.strip()]
        blocks = lines if len(lines) >= COUNT else blocks
    if len(blocks) == COUNT + 1 and re.fullmatch(r"[#*_\s]*[^.!?]{1,80}[*_\s]*", blocks[0]):
        blocks = blocks[1:]
    return blocks


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).replace("’", "'").casefold())


def ends_with(paragraph: str, sentence: str) -> bool:
    """Whether a paragraph ends with the words of a sentence. Case and punctuation do not matter; every word does."""
    end = _words(sentence)
    return bool(end) and _words(paragraph)[-len(end) :] == end


def faults(sentences: Sequence[str], passage: str) -> list[str]:
    """What a passage does not keep; empty where it has four paragraphs and each ends with its sentence."""
    found = paragraphs(passage)
    if len(found) != len(sentences):
        return [f"{len(found)} paragraph{'' if len(found) == 1 else 's'}, not {len(sentences)}"]
    pairs = enumerate(zip(found, sentences, strict=True), 1)
    return [f"paragraph {number} does not end with its sentence" for number, (paragraph, end) in pairs if not ends_with(paragraph, end)]
