"""Numbers as people write them: money, thousands, units, words, fractions, percent, full-width digits. Exact; knows no task."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from itertools import pairwise

from branchwise.thought.parsing.answers import answer_in, before_new_example, before_run_on
from branchwise.thought.parsing.text import strip_reasoning

__all__ = ["MAX_DIGITS", "final_number", "plain_number", "quantity", "show_number"]

MAX_DIGITS = 400
"""A longer run of digits is not read: no answer needs it, and arithmetic on it costs."""
_LONGEST = 2_000
"""A longer answer text is not searched for a number."""

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
).split()
_SCALES = {"hundred": 100, "thousand": 1000, "k": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_MONEY = r"(?:(?:US|CA|AU|HK)?\$|[€£¥₹₩]|(?:USD|EUR|GBP|Rs\.?)\s)"
_DIGITS = r"(?:\d{1,3}(?:(?:,\d{3})+|(?:[ ]\d{3})+|(?:'\d{3})+|(?:_\d{3})+)(?!\d)|\d+)"
"""With one separator of thousands: a comma, a blank (of any width), an apostrophe or a low line."""
_NUMBER = re.compile(
    rf"""(?<![\w.-])(?<!\d[,:'])(?<!\^)(?<!\^[{{(\s])(?P<sign>-\s?|\+|(?:minus|negative)\s)?(?:{_MONEY}\s?(?P<late>-)?)?
    (?: (?P<whole>{_DIGITS})\s(?P<mixed>\d{{1,6}})/(?P<under>\d{{1,6}})
      | (?P<above>{_DIGITS})\s?/\s?(?P<below>{_DIGITS})(?!\s?/)
      | (?P<plain>{_DIGITS}(?:\.\d+)?|\.\d+)(?!\d|[.,:]\d|\s?\^)(?:e(?P<power>[+-]?\d{{1,3}})(?!\w))?
      | (?P<word>{"|".join(_WORDS)})(?![\w-])
    )(?P<scale>\s?(?:hundred|thousand|million|billion|trillion)s?(?!\w)|k(?!\w))?
    (?P<percent>\s?(?:%|percent(?!\w)))?""",
    re.VERBOSE | re.IGNORECASE,
)
_CLOCK = re.compile(r"\d\s?:\s?\d")
_SUM = re.compile(r"\d\s*(?:[-+*/×^]|\\times|\\cdot)\s*[\d$(]")
_FORMULA = re.compile(r"\\(?:sqrt|[dtc]?frac|pi|log|ln|sin|cos|tan|binom)(?![a-z])")
_UNIT = re.compile(r"[ \t]*(?:-?[A-Za-z°²³][A-Za-z°²³./'^ -]*(?:(?<=[A-Za-z^])\d)?)?[ \t]*[.,;:!?)]*", re.ASCII)
_MORE = re.compile(rf"\b(?:and|or)\s+(?:(?:an?\s+)?(?:half|third|quarter)|{'|'.join(_WORDS)})(?!\w)", re.IGNORECASE)
"""Words behind a number that add to it, or offer another: it is not the number alone."""
_WRITTEN = re.compile(rf"\s+(?:and\s+)?(?:{'|'.join(_WORDS)}|\d+)(?![\w-])", re.IGNORECASE)
_HEAD = re.compile(r"\W*(?:(?:either|both|between|from)\s+)?(?:[A-Za-z]\w{0,20}\s*=\s*)?", re.IGNORECASE)
_NAME = r"(?:[A-Za-z]\w{0,20}\s*=\s*)?"
_OF_IT = r"(?!(?:and|or|to|of|are|is|was|were|which|that|so|since|as|because|for)\b)[A-Za-z°][\w°.'/^-]*+"
_THING = rf"(?:\s*{_OF_IT}(?:\s+{_OF_IT})?)?"
_JOINT = re.compile(rf"\s+|\s*\$?\s*(?:[,;]\s*(?:and\s|or\s|&)?|{_THING}\s*,?\s*(?:\b(?:and|or|to)\s|&|/))\s*{_NAME}\s*\$?\s*", re.IGNORECASE)
_OR = re.compile(rf"\s*\$?{_THING}\s*[,(]?\s*\bor\s+{_NAME}\s*", re.IGNORECASE)
_TAIL = re.compile(rf"{_THING}[\s$.,;:!?)*]*(?:respectively[\s.!]*)?", re.IGNORECASE)
_MARKUP = re.compile(
    r"\\(?:text|mathrm|mbox|textbf|mathbf)\s*\{([^{}]*)\}|\\(?=[$%])"
    r"|\\!\s*|\\[,;: ]|\\(?:left|right|quad)(?![a-z])|\{,\}|~|\\\(|\\\)|\\\[|\\\]|\*\*|`"
)
_STARS = re.compile(r"(?<=\d)\*\*(?=[\d(])")
"""A power as programs write it, no emphasis."""
_REST = re.compile(r"(?<![A-Za-z_\d.^{])\d")
"""A digit that is in no word, no unit (m^2) and no index."""
_FRACTION = re.compile(r"(?:(?<=\d)\s?)?\\[dtc]?frac\s*(?:\{(\d{1,40})\}|(\d))\s*(?:\{(\d{1,40})\}|(\d))")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{([^{}]*)\}")


def _plain(text: str) -> str:
    """Full-width forms, LaTeX dress and thin spaces gone; one kind of minus."""
    text = unicodedata.normalize("NFKC", text).replace("−", "-").replace("–", "-").replace("\u2044", "/")
    text = _BOX.sub(r"\1", text)
    text = _STARS.sub("^", text)
    text = _MARKUP.sub(lambda match: f" {match[1]}" if match[1] is not None else "," if match[0] == "{,}" else "", text)
    text = re.sub(r"(?<=\d),[ ](?=\d{3}(?!\d))", ",", text) if "\\" in text else text
    return _FRACTION.sub(lambda match: f" {match[1] or match[2]}/{match[3] or match[4]}", text).strip()


def _value(match: re.Match[str]) -> Fraction | None:
    """The exact number that `match` stands for; `None` for one too long, or over zero."""
    if len(match[0]) > MAX_DIGITS:
        return None

    def whole(group: str) -> Fraction:
        return Fraction(re.sub("[, '_]", "", match[group]))

    if match["word"]:
        value = Fraction(_WORDS.index(match["word"].lower()))
    elif match["whole"]:
        if int(match["under"]) == 0:
            return None
        value = whole("whole") + Fraction(int(match["mixed"]), int(match["under"]))
    elif match["above"]:
        if whole("below") == 0:
            return None
        value = whole("above") / whole("below")
    else:
        value = whole("plain") * Fraction(10) ** int(match["power"] or 0)
    if match["scale"]:
        value *= _SCALES[match["scale"].strip().lower().removesuffix("s")]
    negative = (match["sign"] or "").strip().lower() in ("-", "minus", "negative") or match["late"]
    return -value if negative else value


def plain_number(text: str) -> Fraction | None:
    """The number that `text` is, dressed as it may be: `$29.00`, `1,000 dollars`, `twelve`, `3 1/2`, `25 %` (25); `None` for anything else."""
    if len(text) > _LONGEST:
        return None
    text = _plain(text).strip(" \t\n$*\"'").rstrip(".,;:!? ") if "$" not in text else _plain(text).strip(" \t\n*\"'").rstrip(".,;:!? $")
    match = _NUMBER.match(text)
    if match is None or _UNIT.fullmatch(text, match.end()) is None or _goes_on(text, match):
        return None
    return _value(match)


def _goes_on(text: str, match: re.Match[str]) -> bool:
    """Whether words behind a number make it another: "5 and a half", "two thousand five hundred"."""
    written = bool(match["word"] or match["scale"])
    return _MORE.search(text, match.end()) is not None or (written and _WRITTEN.match(text, match.end()) is not None)


def _several(text: str, ending: bool = False) -> bool:
    """Whether plain `text` lists different numbers ("19, 46 and 82", "5 or 7 apples", "x = 5 or x = 7") and so states no single one; with
    `ending`, whether it ends so."""
    if len(text) > _LONGEST:
        return False
    found = list(_NUMBER.finditer(text))[-2:] if ending else list(_NUMBER.finditer(text))
    if len({_value(match) for match in found}) < 2:
        return False
    if not ending and _HEAD.fullmatch(text, 0, found[0].start()) is None:
        return False
    pairs = list(pairwise(found))
    offered = _OR.fullmatch(text, pairs[0][0].end(), pairs[0][1].start()) is not None
    joined = all(_JOINT.fullmatch(text, one.end(), other.start()) for one, other in pairs)
    return offered or (joined and _TAIL.fullmatch(text, found[-1].end()) is not None)


def quantity(text: str) -> Fraction | None:
    """The number that an answer text states: the text itself, what stands behind its last `=`, the one number in it, else the one it begins
    with, else its last. `None` without a number, and for what is no single one: several numbers in a row ("5 or 7"), sums that are not worked
    out, times of day. No part of those is the answer."""
    if len(text) > _LONGEST:
        return None
    if (value := plain_number(text)) is not None:
        return value
    text = _plain(text)
    if _several(text):
        return None
    text = text.rsplit("=", 1)[-1].strip() if "=" in text else text
    if (value := plain_number(text)) is not None:
        return value
    if _CLOCK.search(text) or _SUM.search(text) or _FORMULA.search(text) or _several(text):
        return None
    found = list(_NUMBER.finditer(text))
    digits = [match for match in found if not match["word"]] or found
    if not digits:
        return None
    chosen = digits[0] if len(digits) == 1 or digits[0].start() == 0 else digits[-1]
    return None if _goes_on(text, chosen) else _value(chosen)


def final_number(text: str) -> Fraction | None:
    """The number that a reply gives as its answer: in the last answer marker; without a marker the last number before the reply runs on.

    A marker with a calculation below it ("Answer:" and lines of steps) is followed to its end.
    """
    content = before_run_on(strip_reasoning(text))
    marked = answer_in(content)
    if marked is None:
        return None if "\\boxed" in content else _last(content)
    if (value := plain_number(marked)) is not None:
        return value
    if _several(_plain(marked)):
        return None
    tail = content[content.rfind(marked) + len(marked) :] if marked in content else ""
    if re.search(r"\n\s*\S", tail) and (value := _last(tail)) is not None:
        return value
    return quantity(marked)


def _last(text: str) -> Fraction | None:
    """The last number in the last line that has one."""
    for line in reversed(before_new_example(text)[-20_000:].splitlines()):
        if len(line) <= _LONGEST and re.search(r"\d", line):
            plain = _plain(line)
            found = [match for match in _NUMBER.finditer(plain) if not match["word"]]
            whole = found and not _REST.search(plain, found[-1].end())  # else the last one is something else, of which no part is taken
            return _value(found[-1]) if whole and not _CLOCK.search(plain) and not _several(plain, ending=True) else None
    return None


def show_number(value: Fraction) -> str:
    """One way of writing each number: `70000`, `-3`, `0.5`; a fraction `1/3` where no short decimal is exact."""
    if value.denominator == 1:
        return str(value.numerator)
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 20:
        return str(value)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
