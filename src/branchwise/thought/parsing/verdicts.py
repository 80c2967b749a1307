"""Verdicts in words: labels, votes, yes or no, confidence. The final statement wins, whole words only; unclear is `None`, never a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from branchwise.thought.parsing.answers import before_new_example, final_answer
from branchwise.thought.parsing.text import fold, sentences, strip_reasoning

__all__ = ["CONFIDENCE", "confidence", "label", "vote", "yes_no"]

CONFIDENCE = {"certain": 1.0, "high": 0.5, "medium": 0.2, "low": 0.1}
"""What the model's own words of confidence are worth (Yao et al. 2023, published code for crosswords)."""

_NOT = re.compile(
    r"(?:\b(?:not|never|hardly|neither|nor|without)|n't|\bfar from|\banything but|\bless than)"
    r"(?:\s+(?:a|an|be|being|the|at all|so|that|too|very|really|entirely|completely|absolutely|quite|all|exactly|necessarily|even))*\s*$"
)
_IDIOM = re.compile(r"\b(?:mak(?:e|es|ing)|made|be|for|to be)\s+$")
_INTERJECTION = re.compile(r"(?:sure|certainly)\s*(?:!|[,.]\s*(?:here|let|i\b|i'|we\b|the following))")
_CONFIDENCE = re.compile(r"\s*[(\[（]\s*(certain|high|medium|low)(?:\s+confidence)?\s*[)\]）][\s.,;]*\Z", re.IGNORECASE)

_MENTIONS = 100
"""A sentence that names verdicts more often than this is no statement; the rest of it is not read."""

_NAMED = r"(?:choice|option|answer|candidate|one|plan|number|state)"
_VALUE = r"[\s:=#\"'(\[{]*(?:is\s+)?(?:number\s+|no\.\s*|#\s*)?(\d{1,9})(?!\d|\.\d)"
_BEST = re.compile(
    rf"\b(?:best|chosen|final|winning|winner|preferred|strongest|top|vote|choose|pick|select)(?:\s+(?:goes\s+)?(?:for|to|as))?(?:\s+{_NAMED})?"
    rf"(?:\s+(?:is|would be|goes to))?\s*:?\s*(?:the\s+)?(?:{_NAMED})?{_VALUE}"
)
_IS_BEST = re.compile(
    rf"\b{_NAMED}\s*#?(\d{{1,9}})\s+(?:is|seems|looks|would be)\s+(?:clearly\s+|by far\s+)?(?:the\s+)?(?:best|strongest|most|winner)"
)
_LEADING = re.compile(r"[#(\[{\"']*(\d{1,9})[)\]}\"']*\s*(?:[,;]|(?:because|since|as|is|has|looks|seems)\b)")
_CHOICE = re.compile(rf"\b{_NAMED}\s*#?(\d{{1,9}})(?!\d)")
_ALSO = re.compile(r"\s*(?:and|or|/|&)\s*(?:(?:choice|option)\s*)?\d")
_YES_NO = re.compile(r"(?<![\w-])(?:(yes|true|yeah|yep)(?!-\w)|(false(?!-\w)|nope|no(?=\s*(?:[.,;:!?)\"']|$|-\s))))\b")
_UNSURE = re.compile(r"\b(?:un(?:clear|known|certain)|not (?:clear|known|certain|sure)|cannot|can't|(?:don't|do not) know|maybe|depends)\b")
_CJK_YES_NO = dict.fromkeys(("是", "对", "是的", "네", "예"), True) | dict.fromkeys(("否", "不", "不是", "아니요", "아니오"), False)


def _words(labels: Sequence[str]) -> re.Pattern[str]:
    """A pattern for any of `labels` as a whole word; letters of other scripts may touch a label written in Latin letters."""

    def bounded(name: str) -> str:
        before, after = "(?<![a-z0-9_-])" if name[0].isascii() else "", "(?![a-z0-9_])" if name[-1].isascii() else ""
        return f"{before}{re.escape(name)}{after}"

    return re.compile("|".join(map(bounded, sorted(labels, key=len, reverse=True))))


def label(text: str, labels: Sequence[str]) -> str | None:
    """Which of `labels` the last sentence that names any of them states; `None` if it names none, several, or only denies one.

    Case, emphasis and punctuation do not matter. "not sure" is not sure, "make sure" and an opening "Sure!" say nothing.
    """
    names = {name.casefold(): name for name in labels}
    pattern = _words(list(names))
    folded = fold(text).casefold()
    for number, sentence in reversed(list(enumerate(sentences(folded)))):
        if number == 0 and (polite := _INTERJECTION.match(sentence)) and (polite.end() < len(sentence) or sentence != folded.strip()):
            sentence = sentence[polite.end() :]
        found = islice(pattern.finditer(sentence), _MENTIONS)
        mentions = [match for match in found if not _IDIOM.search(sentence, max(0, match.start() - 40), match.start())]
        stated = {match[0] for match in mentions if not _NOT.search(sentence, max(0, match.start() - 60), match.start())}
        if mentions:
            return names[stated.pop()] if len(stated) == 1 else None
    return None


def vote(text: str, n: int) -> int | None:
    """Which of `n` choices, counted from 1, a reply votes for; `None` when it names none, several, or one out of range.

    The last "the best choice is n" counts; else a reply that is only a number, or whose last naming sentence names one choice.
    """
    folded = fold(text).casefold().strip()
    last = None
    for pattern in (_BEST, _IS_BEST):
        for match in pattern.finditer(folded):
            if last is None or match.start() > last.start():
                last = match
    if last is not None:
        several = last.re is _BEST and _ALSO.match(folded, last.end())
        return None if several else _in_range(last[1], n)
    if only := re.fullmatch(r"[\s#(\[{\"']*(\d{1,9})[\s.)\]}\"'!]*", folded):
        return _in_range(only[1], n)
    if leading := _LEADING.match(folded):
        return _in_range(leading[1], n)
    for sentence in reversed(sentences(folded)):
        if named := {match[1] for match in _CHOICE.finditer(sentence)}:
            return _in_range(named.pop(), n) if len(named) == 1 else None
    return None


def _in_range(digits: str, n: int) -> int | None:
    return choice if 1 <= (choice := int(digits)) <= n else None


def _said(text: str) -> bool | None:
    """The one verdict in `text`; `None` for none or both."""
    found = islice(_YES_NO.finditer(text), _MENTIONS)
    kinds = {match[1] is not None for match in found if not _NOT.search(text, max(0, match.start() - 60), match.start())}
    return kinds.pop() if len(kinds) == 1 else None


def yes_no(text: str) -> bool | None:
    """Yes (or true) or no (or false) as the final statement of a reply; `None` for neither or both. "No" before a noun is not an answer."""
    answer = final_answer(text)
    if answer is not None:
        answer = fold(answer).casefold().strip(" .\"'()")
        if answer in _CJK_YES_NO:
            return _CJK_YES_NO[answer]
        if _YES_NO.search(answer) or _UNSURE.search(answer):
            return _said(answer)
    folded = fold(before_new_example(strip_reasoning(text))).casefold()
    if folded.strip(" .。!") in _CJK_YES_NO:
        return _CJK_YES_NO[folded.strip(" .。!")]
    for sentence in reversed(sentences(folded)):
        if _YES_NO.search(sentence):
            return _said(sentence)
    return None


def confidence(text: str) -> tuple[str, float | None]:
    """A proposal without its closing "(certain)", "(high)", "(medium)" or "(low)", and what that word is worth; `None` without one."""
    match = _CONFIDENCE.search(text[-80:]) if len(text) < 10_000 else None
    if match is None:
        return text, None
    return text[: max(0, len(text) - 80) + match.start()].rstrip(), CONFIDENCE[match[1].lower()]
