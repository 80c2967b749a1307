"""Checks a set-up: is the model there, what can it do, how fast is it, are cache and disk in order. Knows no search; spends some ten calls."""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from branchwise.errors import BranchwiseError, ModelError, Unsupported
from branchwise.model.base import LanguageModel, Message, Reply, Request
from branchwise.model.cache import cache_path, info
from branchwise.model.structure import MODES
from branchwise.model.weights import weights_folder

__all__ = ["Finding", "examine", "surroundings"]

SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
LONG = "Here is a list of numbers to keep in mind: " + " ".join(map(str, range(200))) + ". "
LOW_DISK = 2e9
"""Bytes below which a download of weights may not fit."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check. `ok` is `None` for what is merely worth knowing; `text` says what was found, and what to do where it is not well."""

    check: str
    ok: bool | None
    text: str


async def examine(model: LanguageModel, *, cache: Path | None = None, folder: Path | None = None) -> AsyncIterator[Finding]:
    """One finding after another. When the model cannot be reached the checks of its abilities are left out. Raises nothing of ours."""
    reached = await _tried("model", model, _reachable)
    yield reached
    if reached.ok and model.name.startswith("script:"):
        yield Finding("script", None, "replies come from a file: how they differ, what they are held to and how fast they come says nothing here")
    elif reached.ok:
        for name, check in (("n", _samples), ("logprobs", _logprobs), ("schema", _schema), ("speed", _speed), ("prefix", _prefix)):
            yield await _tried(name, model, check)
    for found in surroundings(cache=cache, folder=folder):
        yield found


def surroundings(*, cache: Path | None = None, folder: Path | None = None) -> list[Finding]:
    """What can be said without a model: cache and disk."""
    return [_cache(cache or cache_path()), _disk(folder or weights_folder())]


Check = Callable[[LanguageModel], Awaitable[tuple[bool | None, str]]]


async def _tried(name: str, model: LanguageModel, check: Check) -> Finding:
    try:
        ok, text = await check(model)
    except Unsupported as error:
        return Finding(name, None, str(error))
    except ModelError as error:
        return Finding(name, False, str(error))
    return Finding(name, ok, text)


async def _ask(model: LanguageModel, text: str, **settings: object) -> Reply:
    return await model.sample(Request((Message("user", text),), **settings))  # type: ignore[arg-type]


async def _reachable(model: LanguageModel) -> tuple[bool, str]:
    start = time.monotonic()
    reply = await _ask(model, "Say yes.", max_tokens=64)
    seconds = time.monotonic() - start
    if not reply.texts:
        return False, f"it answers, but with no text: {reply.samples[0].outcome}; a model that reasons needs a larger --max-tokens"
    estimated = ", without usage: tokens are estimated" if reply.samples[0].usage.estimated else ""
    return True, f"{model.name} answers in {seconds:.1f} s as {reply.model or 'a model without a name'}{estimated}"


async def _samples(model: LanguageModel) -> tuple[bool, str]:
    reply = await _ask(model, "Invent a name for a boat, two words.", n=3, temperature=1.0, max_tokens=64, seeds=(11, 22, 33))
    if reply.missing:
        text = f"{reply.missing} of 3 samples are missing ({reply.error}); runs ask for them one by one, which takes longer"
        return False, f"{text}; allow n > 1 at the server, if it can"
    different = len({s.text for s in reply.samples})
    if different == 1:
        text = "3 samples at temperature 1 are all the same: voting and sampling gain nothing with this model"
        return False, f"{text}; see whether the server fixes temperature or seed, else take a search with --samples 1, or another model"
    requests = sum(s.usage.requests for s in reply.samples)
    return True, f"3 samples in {requests} {'request' if requests == 1 else 'requests'}, {different} of them different"


async def _logprobs(model: LanguageModel) -> tuple[bool | None, str]:
    reply = await _ask(model, "Say yes or no.", max_tokens=4, logprobs=3)
    if any(s.logprobs for s in reply.samples):
        return True, "log-probabilities with alternatives: likelihood can be used as an evaluator"
    return None, "no log-probabilities in the reply"


async def _schema(model: LanguageModel) -> tuple[bool, str]:
    why = ""
    for _ in MODES:  # a backend that ignores one way is asked in the next
        reply = await _ask(model, "Rate the word 'tree' from 1 to 10.", max_tokens=64, schema=SCHEMA)
        if reply.texts:
            return True, "structured output works"
        why = reply.samples[0].error or reply.samples[0].outcome
    return False, f"structured output does not fit its schema ({why}); judge with value or vote, which read prose, or with another model"


async def _speed(model: LanguageModel) -> tuple[bool | None, str]:
    start = time.monotonic()
    reply = await _ask(model, "Count from 1 to 100 in words.", max_tokens=64)
    seconds = time.monotonic() - start
    tokens = sum(s.usage.completion_tokens for s in reply.samples)
    return None, f"{tokens / max(seconds, 1e-9):.0f} tokens/s for one reply of {tokens} tokens"


async def _prefix(model: LanguageModel) -> tuple[bool | None, str]:
    await _ask(model, LONG + "Say A.", max_tokens=1)
    usage = (await _ask(model, LONG + "Say B.", max_tokens=1)).samples[0].usage
    share = usage.cached_prompt_tokens / max(1, usage.prompt_tokens)
    return None, f"{share:.0%} of a repeated prompt came from the backend's prefix cache"


def _cache(path: Path) -> Finding:
    try:
        found = info(path)
    except BranchwiseError as error:
        return Finding("cache", False, str(error))
    return Finding("cache", True, f"{found.entries:,} {'reply' if found.entries == 1 else 'replies'} in {path} ({found.size / 1e6:.1f} MB)")


def _disk(folder: Path) -> Finding:
    place = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(place).free
    advice = "" if free >= LOW_DISK else "; make room before you pull weights"
    return Finding("disk", free >= LOW_DISK, f"{free / 1e9:.1f} GB free for weights in {folder}{advice}")
