"""Evaluator "heuristic": keyword rules, no model call. Knows no search.

Section 3 of the project's specification. It is cheap, and it can be gamed: boilerplate such as "Therefore the answer follows, because of
step one" scores high whatever it says. Words are matched whole; English, Chinese and Korean have tables (CJK words by containment, as they
are not spaced).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from branchwise.budget import Bound
from branchwise.model.base import LanguageModel
from branchwise.problem import Problem, State
from branchwise.thought.base import Evaluation, Size

__all__ = ["Heuristic", "content_words", "heuristic_score"]

_CONCLUSION = ("therefore", "solution", "answer", "因此", "所以", "答案", "解决方案", "综上", "따라서", "그러므로", "정답", "해결책", "답은")
_REASON = ("because", "since", "thus", "因为", "由于", "既然", "왜냐하면", "때문에", "(?<!그러)므로")
_ORDER = ("step", "first", "next", "首先", "其次", "第一", "接下来", "步骤", "먼저", "첫째", "다음으로", "단계")
_VAGUE = ("maybe", "perhaps", "might", "也许", "(?<!不)可能", "或许", "大概", "아마", "어쩌면", "일지도")
_STOP = frozenset(
    "a an and are as at be by for from has have if in into is it its of on or so that the their then there these they this to was we will "
    "with would you your i our can could should do does not".split()
)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W_]+", re.UNICODE)


@lru_cache(maxsize=16)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    parts = [word if _CJK.search(word) else rf"\b{word}\b" for word in words]
    return re.compile("|".join(parts))


def _has(text: str, words: tuple[str, ...]) -> bool:
    return _pattern(words).search(text) is not None


def content_words(text: str) -> set[str]:
    """Words that say something: without function words; CJK text by pairs of characters."""
    found: set[str] = set()
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _CJK.search(word):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif word not in _STOP:
            found.add(word)
    return found


def heuristic_score(state: State) -> tuple[float, str]:
    """The score in [0, 1] of the last thought of `state`, and the rules that made it.

    0.5; +0.2 conclusion; +0.1 reason; +0.1 concrete order; -0.1 vague; -0.05 × depth; clamped; × 0.5 where fewer than a fifth of its content
    words are absent from all its ancestors. After another thought, one without any content word ("So it is.") adds nothing new either.
    """
    if not state:
        return 0.5, "the root"
    text = unicodedata.normalize("NFKC", state[-1]).casefold()
    score, rules = 0.5, []
    for words, gain, name in ((_CONCLUSION, 0.2, "conclusion"), (_REASON, 0.1, "reason"), (_ORDER, 0.1, "order"), (_VAGUE, -0.1, "vague")):
        if _has(text, words):
            score += gain
            rules.append(f"{name} {gain:+g}")
    score = min(1.0, max(0.0, score - 0.05 * len(state)))
    rules.append(f"depth {-0.05 * len(state):+g}")
    words_here = content_words(text)
    before = content_words(" ".join(state[:-1]))
    if len(state) > 1 and (not words_here or len(words_here - before) * 5 < len(words_here)):
        score *= 0.5
        rules.append("nothing new × 0.5")
    return round(score, 10), ", ".join(rules)


@dataclass(frozen=True, slots=True)
class Heuristic:
    """`heuristic_score` of each state. Costs nothing; can be gamed by boilerplate, so do not trust it where much depends on it."""

    @property
    def joint(self) -> bool:
        """Each state alone."""
        return False

    async def __call__(self, model: LanguageModel, problem: Problem, states: Sequence[State]) -> list[Evaluation]:
        """No call is made."""
        return [Evaluation(value, (value,), reason) for value, reason in map(heuristic_score, states)]

    def bound(self, problem: Problem, size: Size, n: int) -> Bound:
        """Nothing."""
        return Bound()
