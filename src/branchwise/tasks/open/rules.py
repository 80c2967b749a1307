"""What can be said of an open thought without a model: does it end the matter, in which language is it, is it the same as another.

Knows words only. Section 3 of the project's specification; "therefore" alone ends nothing, as it opens half of all middle steps.
"""

from __future__ import annotations

import re
import unicodedata

from branchwise.problem import COMPLETE, OPEN, Status, dead

__all__ = ["Language", "answer_in", "language", "marked", "normal", "terminal"]

_POSITIVE = re.compile(
    r"\bthe answer is\b|\bfinal answer\b|\bin conclusion\b|\b(?<!no )solution\s*:|(?<!as a )\bresult\s*:"
    r"|答案是|答案为|答案為|最终答案|最終答案|综上所述|綜上所述|结论是|結論是|结论:|結論:|(?<!无)解决方案:|結果:|结果:"
    r"|答えは|最終的な答え|結論として|(?:정)?답은|최종\s?답|결론적으로|결론은|해결책:|결과:"
)
_NEGATIVE = re.compile(
    r"(?<!\bnot )(?<!n't )\bimpossible\b|\b(?:cannot|can not|can't) be solved\b|\bno solutions?\b"
    r"|(?<!\bno )(?<!\bnot a )(?<!\bwithout )(?<!\bwithout a )(?<!\bany )\bcontradictions?\b"
    r"|(?<!并非)(?<!不是)不可能|(?:无法|無法|不能)(?:解决|解決|求解)|(?:无|無)解(?!决)|解決できない|解なし"
    r"|(?<!没有)(?<!沒有)(?<!不)(?<!无)(?<!無)矛盾(?!し?ない|はない)"
    r"|불가능(?!하지\s?않|한\s?것은\s?아)|(?:해결할|풀)\s?수\s?없|해가\s?없|모순(?![이은]\s?(?:없|아니))"
)
_MARKER = re.compile(
    r"^[ \t]*(?:[*_#]{1,4}[ \t]*)?(?:final[ \t]+)?(?:answer|答案|答え|정답|답변|답)[*_]{0,2}[ \t]*[:：][*_]{0,2}[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_SCRIPTS = (("Japanese", "[\u3040-\u30ff]"), ("Korean", "[\uac00-\ud7af]"), ("Chinese", "[\u3400-\u9fff]"))
_LANGUAGES = {"Japanese": "答えは", "Korean": "정답은", "Chinese": "答案是"}
Language = tuple[str, str]
"""What a prompt says of the language to write in, and the words that settle a question in it."""


def _plain(text: str) -> str:
    """One form for looking up words: full-width letters and punctuation made plain, small letters, straight quotes."""
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def terminal(thought: str) -> Status:
    """COMPLETE where the thought says that it concludes, DEAD where it says that there is no way, else OPEN; the last such phrase counts.

    Whole words, full-width forms, English, Chinese, Japanese and Korean. "Not impossible" and "no contradiction" are no dead ends.
    """
    text = _plain(thought)
    good = max((match.end() for match in _POSITIVE.finditer(text)), default=0)
    bad = max(_NEGATIVE.finditer(text), key=lambda match: match.end(), default=None)
    if bad is not None and bad.end() > good:
        return dead(f"it says {bad[0]!r}")
    return COMPLETE if good else OPEN


def marked(text: str) -> bool:
    """Whether `text` is written as an answer: a line of it begins with "Answer:"."""
    return _MARKER.search(text) is not None


def answer_in(text: str) -> str | None:
    """What follows the last "Answer:" that has something behind it, over all lines; the whole text where there is none; `None` if blank."""
    for match in reversed(list(_MARKER.finditer(text))):
        if rest := text[match.end() :].strip():
            return rest
    return text.strip() or None


def normal(thought: str) -> str:
    """A thought without differences of case, width, spacing and punctuation; symbols that mean something (+ - %) stay."""
    words = "".join(" " if unicodedata.category(char).startswith("P") and char not in "-%" else char for char in _plain(thought))
    return " ".join(words.split())


def language(question: str) -> Language:
    """The language of a question, as far as its script tells: one in five letters decides, kana before Hangul before Han."""
    letters = sum(char.isalpha() for char in question)
    for name, pattern in _SCRIPTS:
        if letters and len(re.findall(pattern, question)) * 5 >= letters:
            return name, _LANGUAGES[name]
    return "the language of the question", "The answer is"
