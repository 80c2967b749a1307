"""Judging passages by a model: marks from 1 to 10 with their spread, and pairwise comparison in random order. Measures; chooses nothing.

Yao et al. 2023, section 4.2: five marks a passage, averaged; and blind pairs in random order. A judge can be wrong: its agreement with
itself (the spread) is part of every result, and replies that cannot be read are counted and left out, never guessed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import resources
from random import Random
from statistics import mean, stdev

from branchwise.budget import Usage
from branchwise.errors import ModelError, UsageError
from branchwise.model.base import CallId, LanguageModel, Message, Request, fingerprint
from branchwise.model.layers.limited import Limited
from branchwise.model.layers.retrying import Retrying
from branchwise.model.layers.seeded import derive_seed
from branchwise.thought.parsing import Scale, fold, score, sentences
from branchwise.thought.prompts import SYSTEM

__all__ = ["SCALE", "Mark", "Preference", "Tally", "Winner", "compare", "judge", "judge_all", "tally"]

SCALE = Scale(1, 10)
"""1 not coherent at all, 10 perfectly coherent."""

_SAMPLES = 5
_TOKENS = 512
_CHOICE = re.compile(
    r"\bmore coherent (?:passage|one)\s*(?:is|would be|seems to be)?\s*:?\s*(?:the\s+)?(?:passage\s+|number\s+|no\.\s*)?#?([12])\b"
)
_IS_MORE = re.compile(r"\bpassage\s+#?([12])\s+(?:is|seems|reads)\s+(?:clearly\s+|much\s+|slightly\s+)?(?:the\s+)?more coherent\b")
_SIMILAR = re.compile(r"\b(?:similarly|equally)\s+coherent\b|\bsimilar(?:ly)? in coherence\b|\btie\b")


@dataclass(frozen=True, slots=True)
class Mark:
    """Marks of one passage on `SCALE`, in the order of the samples; `None` for each that could not be read."""

    samples: tuple[float | None, ...]
    usage: Usage = Usage()
    """What they cost."""

    @property
    def read(self) -> list[float]:
        """The marks that could be read."""
        return [sample for sample in self.samples if sample is not None]

    @property
    def mean(self) -> float | None:
        """Their mean; `None` where none could be read."""
        return mean(self.read) if self.read else None

    @property
    def spread(self) -> float | None:
        """Their standard deviation (n - 1); `None` for fewer than two."""
        return stdev(self.read) if len(self.read) > 1 else None

    @property
    def unread(self) -> int:
        """How many could not be read."""
        return self.samples.count(None)


class Winner(StrEnum):
    """What a comparison says."""

    A = "a"
    B = "b"
    TIE = "tie"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Preference:
    """One comparison. `swapped` says that B was shown first, so that a judge's love of the first place can be seen."""

    winner: Winner
    swapped: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """Comparisons of A with B, counted; `first` are those that the passage shown first has won."""

    a: int
    b: int
    ties: int
    unread: int
    first: int

    @property
    def count(self) -> int:
        """Comparisons that could be read."""
        return self.a + self.b + self.ties


def _prompt(name: str, **values: str) -> tuple[Message, ...]:
    text = (resources.files("branchwise.bench") / "prompts" / f"{name}.txt").read_text("utf-8")
    filled = re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], text)
    return Message("system", SYSTEM), Message("user", filled.strip())


async def judge(model: LanguageModel, passage: str, *, samples: int = _SAMPLES, temperature: float = 0.7, seed: int = 0) -> Mark:
    """`samples` marks of `passage`. Samples that failed count as not read. Raises `ModelError` when the whole call fails."""
    if samples < 1:
        raise UsageError(f"a judge needs at least 1 sample, not {samples}")
    request = Request(_prompt("coherence", passage=passage), samples, "judge", temperature, _TOKENS)
    where = CallId("", 0, "judge", fingerprint(request))
    reply = await model.sample(replace(request, seeds=tuple(derive_seed(seed, where, i) for i in range(samples))))
    marks: list[float | None] = [score(sample.text, SCALE) if sample.usable else None for sample in reply.samples]
    return Mark((*marks, *[None] * (samples - len(marks))), sum((sample.usage for sample in reply.samples), Usage()))


async def judge_all(
    model: LanguageModel, passages: Sequence[str], *, samples: int = _SAMPLES, seed: int = 0, parallel: int = 8
) -> list[Mark | ModelError]:
    """The marks of each passage, in order, or the error that it ended with. At most `parallel` calls at once."""
    if samples < 1:
        raise UsageError(f"a judge needs at least 1 sample, not {samples}")
    patient = Retrying(Limited(model, parallel))

    async def one(passage: str) -> Mark | ModelError:
        try:
            return await judge(patient, passage, samples=samples, seed=seed)
        except ModelError as error:
            return error

    return list(await asyncio.gather(*map(one, passages)))


async def compare(model: LanguageModel, a: str, b: str, *, seed: int, item: str, temperature: float = 0.7) -> Preference:
    """Which of two passages is the more coherent, in an order drawn from `seed` and `item`. Equal passages tie without a call."""
    swapped = Random(f"{seed}/{item}").random() < 0.5
    if a.split() == b.split():
        return Preference(Winner.TIE, swapped)
    first, second = (b, a) if swapped else (a, b)
    reply = await model.sample(Request(_prompt("compare", first=first, second=second), 1, "judge", temperature, _TOKENS))
    said = _read(reply.samples[0].text) if reply.samples and reply.samples[0].usable else Winner.UNREAD
    flip = {Winner.A: Winner.B, Winner.B: Winner.A}
    return Preference(flip.get(said, said) if swapped else said, swapped)


def _read(text: str) -> Winner:
    """A for the passage shown first. The last sentence that names a winner, or says that there is none, counts."""
    for sentence in reversed(sentences(fold(text).casefold())):
        named = {match[1] for pattern in (_CHOICE, _IS_MORE) for match in pattern.finditer(sentence)}
        if _SIMILAR.search(sentence):
            return Winner.TIE
        if named:
            return Winner.UNREAD if len(named) > 1 else Winner.A if named == {"1"} else Winner.B
    return Winner.UNREAD


def tally(preferences: Iterable[Preference]) -> Tally:
    """The counts."""
    found: Sequence[Preference] = list(preferences)
    count = {winner: sum(one.winner is winner for one in found) for winner in Winner}
    first = sum(one.winner is (Winner.B if one.swapped else Winner.A) for one in found)
    return Tally(count[Winner.A], count[Winner.B], count[Winner.TIE], count[Winner.UNREAD], first)
