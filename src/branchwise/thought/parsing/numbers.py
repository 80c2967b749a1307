"""Numbers on a declared scale. Labelled scores first; out of scale is no value, never clamped. Knows no prompt."""

from __future__ import annotations

import math
import re
from collections import deque
from dataclasses import dataclass

from branchwise.errors import UsageError
from branchwise.thought.parsing.text import fold

__all__ = ["Scale", "score"]


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale that a prompt asks for and a parser reads: one object for both. Written "1 to 10" in prompts."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise UsageError(f"a scale needs a low end below its high end, got {self.low:g} and {self.high:g}")

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def unit(self, value: float) -> float:
        """`value` of this scale as a share in [0, 1]."""
        return (value - self.low) / (self.high - self.low)


_OF = r"(?:\s*/\s*|\s+out\s+of\s+|\s+of\s+)"
_AMOUNT = (
    rf"(?P<a>-?\d{{1,9}}(?:[.,]\d{{1,12}})?(?:e[+-]?\d{{1,2}}(?!\w))?)(?:{_OF}(?P<b>\d{{1,9}})(?!\d)|\s?(?P<percent>%))?"
    r"(?![\d%])(?![.,]\d)(?!e[+-]?\d)(?!\s?(?:-|to\b|or\b)\s?\d)"
)
_FILL = r"(?:[\s:=\"'(\[|]|\b(?:is|of|a|an|this|that|it|as|at|would|be|with|state|answer|here|about|around|just)\b|->|→)"
_THING = r"(?:candidate|state|option|step|choice|thought|answer|node|plan|proposal|passage|number|no\.)"
_OF_WHICH = rf"(?:(?:\s+(?:for|of)\s+|\s*\(\s*)(?:the\s+|this\s+)?{_THING}\s*\#?\d{{1,4}}\b\)?)?+"
_TO = rf"{_OF_WHICH}{_FILL}{{1,12}}?(?:\+(?=\d))?{_AMOUNT}"
_BRACKETED = re.compile(
    rf"(?:[\[<{{【]|(?P<round>\())\s{{0,2}}((?:[a-z]{{3,7}}\s)?(?:score|rating|grade|reward|evaluation|점수|评分|分数|得分){_OF_WHICH})\s{{0,2}}"
    r"(?(round)\)(?=\s?[:=])|[\]>}】])"
)
"""A label in brackets of its own: "[Score] 85", "<score>85</score>"; round ones need a colon after them, as prose has them too."""
_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?:\{([^{}]{0,40})\}|(?=\d))")
_STRONG = re.compile(
    rf"(?<![a-z])(?:(?P<other>max(?:imum)?|min(?:imum)?|highest|lowest|best|perfect|full|possible|passing)\s+)?"
    rf"(?:score|rating|grade|(?<!\w\s)overall|점수|评分|分数|得分)(?:는|은|是|为)?{_TO}"
)
_WEAK = re.compile(rf"\b(?:rated?|scored?|graded?|give|gave|assign(?:ed)?|deserves|value|evaluation|mark|reward){_TO}")
_SHARE = re.compile(rf"(?<![\d./*+=-])(?<![/*+=-]\s){_AMOUNT}")
_WHOLE = re.compile(rf"[\s\"'(\[]*(?:\+(?=\d))?{_AMOUNT}[\s\"')\].!]*(?:points?)?[\s.!]*")


def _ranges(scale: Scale) -> re.Pattern[str]:
    """The scale itself, as a reply repeats it: "(scale 1-10)", "from 1 to 10"."""
    low, high = (re.escape(f"{end:g}") for end in (scale.low, scale.high))
    named = r"(?:\b(?:on\s+)?(?:a\s+|the\s+)?(?:scale|range)\s*(?:of|from|is|:)?\s*|\bfrom\s+|\bbetween\s+)?"
    return re.compile(rf"[(\[]?{named}(?<![\d.]){low}\s?(?:-|to|~|\.\.+|and)\s?\+?{high}(?!\d|\.\d)[)\]]?")


def _value(match: re.Match[str], scale: Scale, whole: bool = False) -> float | None:
    """The number of a match on `scale`: `a`, `a/b` where b is the top, or `a/b` turned to the scale that b states."""
    a = float(match["a"].replace(",", "."))
    top = 100.0 if match["percent"] else float(match["b"]) if match["b"] else scale.high
    if top != scale.high:
        if top <= 0 or not 0 <= a <= top or not whole:
            return None
        a = a * scale.high / top
    return a if a in scale else None


def _boxed(content: str) -> re.Match[str] | None:
    """The amount in the box that a reply ends with."""
    last = deque(_BOX.finditer(content), maxlen=1)
    return _WHOLE.fullmatch(_BOX.sub(r"\1", content[last[0].start() :]).rstrip(" $.\\)]")) if last else None


def score(text: str, scale: Scale) -> float | None:
    """The score that a reply states, on `scale`; `None` where it states none, several, or one out of scale.

    In this order: the last labelled score ("Score: 7", "[Score] 7", "Score for candidate 2: 7", "I rate this 9"), a reply that is only a
    number, `a/b` or `a out of b` with b the top of the scale, a box at the end. Where b is another top it states the scale of its own, and
    a/b is turned to ours. A lone number in prose is not a score.
    """
    content = fold(text).casefold()
    folded = _BRACKETED.sub(r" \2: ", _ranges(scale).sub(" ", _BOX.sub(r" \1", content)))
    for pattern in (_STRONG, _WEAK):
        labelled = [match for match in pattern.finditer(folded) if not match.groupdict().get("other")]
        if labelled:
            return _value(labelled[-1], scale, whole=True)
        if pattern is _STRONG:
            folded = _STRONG.sub(" ", folded)
    if only := _WHOLE.fullmatch(folded.strip()):
        return _value(only, scale, whole=True)
    shares = [match for match in _SHARE.finditer(folded) if match["b"] and float(match["b"]) == scale.high]
    values = {_value(match, scale) for match in shares}
    if not values and (boxed := _boxed(content)) is not None:
        return _value(boxed, scale, whole=True)
    return values.pop() if len(values) == 1 else None
