r"""Units behind a number: `5.4 \text{ cents}`, `15 cm^2`, `4ft`, `90 degrees`, `5 Robins`, `8 \%`. Knows words; computes nothing."""

from __future__ import annotations

import re

__all__ = ["same_unit", "unit_of"]

_NAMES = {
    "mm": "millimeter|millimetre",
    "cm": "centimeter|centimetre",
    "m": "meter|metre",
    "km": "kilometer|kilometre",
    "in": "inch|inche",
    "ft": "foot|feet",
    "yd": "yard",
    "mi": "mile",
    "s": "second|sec",
    "min": "minute",
    "h": "hour|hr",
    "day": "day",
    "week": "week",
    "year": "year|yr",
    "g": "gram",
    "kg": "kilogram",
    "lb": "pound",
    "dollar": "dollar",
    "cent": "cent",
    "degree": "degree|deg",
    "l": "liter|litre",
    "ml": "milliliter|millilitre",
}
_KNOWN = {word: short for short, words in _NAMES.items() for word in (short, *words.split("|"))}
_UNIT = re.compile(
    r"(?P<body>.*?[\d)}\]])\s*(?P<unit>(?:\\text\s*\{\s*[A-Za-z][A-Za-z./ ]*\}\s*(?:\^\s?\{?[23]\}?)?"
    r"|(?<!\\)\b(?:[A-Za-z]{3,}|cm|mm|km|ft|in|kg|mph|m|s|h|g)(?:\s?\^\s?\{?[23]\}?)?(?:[ /]+[A-Za-z]{2,}|/[a-z])*)\s*\.?)\Z"
)
_PERCENT = re.compile(r"(?P<body>.*\S)\s*(?:%|\\text\{\s*(?:percent|%)\s*\}|\bpercent)\Z")
_NOT_UNITS = re.compile(r"(?:sin|cos|tan|cot|log|exp|lim|max|min|mod|where|for|with|and|or|if|times|is|are)(?![A-Za-z])", re.IGNORECASE)
_GLUED = re.compile(r"(?P<body>-?\d[\d.,]*)(?P<unit>cm|mm|km|ft|kg|mph)(?:\^[23])?\Z")


def unit_of(text: str) -> tuple[str, str]:
    """`text` without its unit, and the unit as it was written, `%` for percent; the unit is empty where there is none."""
    text = text.strip()
    if percent := _PERCENT.fullmatch(text):
        return percent["body"].strip(), "%"
    if glued := _GLUED.fullmatch(text):
        return glued["body"], glued["unit"]
    found = _UNIT.fullmatch(text) if len(text) < 200 else None
    if found is None:
        return text, ""
    unit = re.sub(r"\\text|[{}.]", "", found["unit"]).strip()
    body = found["body"].strip()
    single = re.fullmatch(r"[a-zA-Z](?:\^\d)?", unit)
    if not unit or _NOT_UNITS.match(unit) or (single and "\\text" not in found["unit"] and not re.fullmatch(r"-?[\d.,]+", body)):
        return text, ""
    if single and "\\text" not in found["unit"] and " " not in text:
        return text, ""
    return body, unit


def same_unit(one: str, other: str) -> bool:
    """Whether two units can be the same: only two known ones that differ are different."""
    first, second = (_KNOWN.get(_word(unit)) for unit in (one, other))
    return first is None or second is None or first == second


def _word(unit: str) -> str:
    word = re.sub(r"[\s^{}0-9]+\Z", "", unit.lower()).split(" ")[-1]
    return word if word in _KNOWN else word.removesuffix("s")
