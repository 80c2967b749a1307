r"""Mathematical notation in one plain form: the dress of LaTeX taken off, Unicode signs and typed forms written as LaTeX. Evaluates nothing."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["LONGEST", "clean", "compact", "split_top"]

LONGEST = 2_000
"""A longer answer is not taken apart."""

_SUPER = str.maketrans(
    {"²": "^2", "³": "^3", "⁴": "^4", "⁵": "^5", "⁶": "^6", "⁷": "^7", "⁸": "^8", "⁹": "^9", "¹": "^1", "⁰": "^0", "ⁿ": "^n"}
)
_SIGNS = str.maketrans(
    {
        "−": "-", "–": "-", "π": r"\pi ", "∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "≤": r"\le ", "≥": r"\ge ",
        "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "±": r"\pm ", "∓": r"\mp ", "°": r"^\circ ", "≠": r"\ne ", "⟨": "(", "⟩": ")",
        "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "λ": r"\lambda ", "⁄": "/", "÷": "/", "’": "'",
    }
)  # fmt: skip
_DROPPED = re.compile(
    r"\\noindent|\\(?:begin|end)\{(?:problem|align\*?|aligned|equation\*?|center)\}|\\(?:displaystyle|textstyle|left|right|limits|quad|qquad)(?![a-zA-Z])"
    r"|\\[bB]ig+[lr]?(?![a-zA-Z])|\\!\s*|\\[$]|\$|\\[()\[\]](?![a-zA-Z])|\\label\{[^{}]*\}|\*\*|`"
)
_SPACES = re.compile(r"(?<!\\)\\[,;: ]|~|\\hspace\{[^{}]*\}|\s+")
_NAMES = (
    (re.compile(r"\\[dtc]frac(?![a-z])"), r"\\frac"),
    (re.compile(r"\\(?:leqslant|leq)(?![a-z])"), r"\\le"),
    (re.compile(r"\\(?:geqslant|geq)(?![a-z])"), r"\\ge"),
    (re.compile(r"\\neq(?![a-z])"), r"\\ne"),
    (re.compile(r"\\lt(?![a-z])"), "<"),
    (re.compile(r"\\gt(?![a-z])"), ">"),
    (re.compile(r"\\(?:mbox|mathrm|textbf|textit|mathbf|textrm|operatorname|rm)\s*\{"), r"\\text{"),
    (re.compile(r"\\(?:langle)(?![a-z])"), "("),
    (re.compile(r"\\(?:rangle)(?![a-z])"), ")"),
    (re.compile(r"\\(?:lbrace)(?![a-z])"), r"\\{"),
    (re.compile(r"\\(?:rbrace)(?![a-z])"), r"\\}"),
    (re.compile(r"\\(?:dots|ldots|cdots)(?![a-z])"), "..."),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree(?![a-z])"), " degrees "),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"<="), r"\\le "),
    (re.compile(r">="), r"\\ge "),
    (re.compile(r"(?<![\\a-zA-Z])(pi|infty|sqrt|sin|cos|tan|cot|ln|log|exp)(?![a-zA-Z])"), r"\\\1"),
    (re.compile(r"(?<![\\a-zA-Z])(?:infinity|inf|oo)(?![a-zA-Z])"), r"\\infty"),
    (re.compile(r"(?<=[\d)a-z}])\s*\*\s*(?=[\d(a-zA-Z\\])"), r"\\cdot "),
    (re.compile(r"√\s*(\d+|[a-z])"), r"\\sqrt{\1}"),
    (re.compile(r"√\s*\("), r"\\sqrt("),
    (re.compile(r"\\sqrt\s*(\d|[a-z])(?![a-z]*\{)"), r"\\sqrt{\1}"),
    (re.compile(r"\\frac\s*(\d|[a-z])\s*(\d|[a-z])"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\frac\s*(\d|[a-z])\s*\{"), r"\\frac{\1}{"),
    (re.compile(r"(\\frac\s*\{[^{}]*\})\s*(\d|[a-z])"), r"\1{\2}"),
    (re.compile(r"\\frac\s+"), r"\\frac"),
)
_OPEN, _CLOSE = "([{", ")]}"
_TOKEN = re.compile(r"\\begin\{[a-z]*matrix\}|\\end\{[a-z]*matrix\}|\\[a-zA-Z]+|\\.|.", re.DOTALL)


def _repeating(match: re.Match[str]) -> str:
    r"""`0.1\overline{6}` as a fraction."""
    whole, plain, again = match[1] or "0", match[2], match[3]
    below = 10 ** len(plain) * (10 ** len(again) - 1)
    return rf"\frac{{{int(whole + plain + again) - int(whole + plain)}}}{{{below}}}"


def clean(text: str) -> str:
    r"""`text` without delimiters, spacing commands, degrees signs written out as a unit, and with one name for each command."""
    text = text.translate(_SUPER).translate(_SIGNS)
    text = unicodedata.normalize("NFKC", text)
    if "matrix" not in text:
        text = re.sub(r"\\\\(?=[a-zA-Z])", r"\\", text)
        text = re.sub(r"\\\\(?:\[[^\]]*\])?\s*", " ", text)
    text = _SPACES.sub(" ", _DROPPED.sub("", text))
    for pattern, name in _NAMES:
        text = pattern.sub(name, text)
    text = re.sub(r"(?<![\d.])(\d{0,30})\.(\d{0,30})\\overline\s*\{(\d{1,30})\}", _repeating, text)
    text = re.sub(r"\{?\s*(?<![\w.])(\w{1,9})\s*\\choose\s*(\w{1,9})\s*\}?", r"\\binom{\1}{\2}", text)
    text = _braced(_braced(text, r"\sqrt"), "^")
    text = re.sub(r"\\text\s*\{([^{}]*\d[^{}]*)\}", r"\1", text)
    return _SPACES.sub(" ", text).lstrip(" ,;:").rstrip(" .,;:\\")


def _braced(text: str, command: str) -> str:
    r"""`\sqrt(…)` and `^(…)` with braces in place of the parentheses."""
    at = text.find(f"{command}(")
    while at >= 0:
        depth, start = 0, at + len(command)
        for end in range(start, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                text = f"{text[:start]}{{{text[start + 1 : end]}}}{text[end + 1 :]}"
                break
        else:
            return text
        at = text.find(f"{command}(", at + len(command))
    return text


def compact(text: str) -> str:
    r"""`text` for comparison letter by letter: no spaces but behind a command, no braces around one character, no `\text`."""
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text)
    text = re.sub(r"(\\[a-zA-Z]+)\s+(?![a-zA-Z])", r"\1", text)
    return re.sub(r"(?<!\\)(\\[a-zA-Z]+) (?=[a-zA-Z])|\s+", lambda match: f"{match[1]} " if match[1] else "", text)


def split_top(text: str, separators: re.Pattern[str]) -> list[str]:
    """`text` cut at `separators` that stand in no bracket, brace or matrix."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        if depth == 0 and (found := separators.match(text, at)) is not None and found.end() > at:
            parts.append(text[start:at])
            start = at = found.end()
            continue
        token = _TOKEN.match(text, at)
        assert token is not None
        word = token[0]
        if word in _OPEN or word == "\\{" or word.startswith("\\begin"):
            depth += 1
        elif word in _CLOSE or word == "\\}" or word.startswith("\\end"):
            depth = max(0, depth - 1)
        at = token.end()
    parts.append(text[start:])
    return [part.strip() for part in parts]
