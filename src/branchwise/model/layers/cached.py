"""Samples that an earlier run paid for are not paid again. Knows no backend; the file is cache.py's."""

from __future__ import annotations

from typing import Literal

from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel, Outcome, Reply, Request, Sample, identity_of
from branchwise.model.cache import ReplyCache, key_of
from branchwise.model.parts import part

__all__ = ["CacheMode", "Cached"]

CacheMode = Literal["off", "read", "on"]


class Cached:
    """`inner` behind a cache: `read` takes what is there, `on` also keeps what is new, `off` does neither.

    A hit is a cached call and costs nothing. Samples keep their index: 7 asked for where 5 are kept are 5 hits and 2 new ones. Samples of
    which nothing can be read (`invalid`) are not kept. A key holds the model that serves the request's role: with another evaluator, what the
    generating model said is still there.
    """

    def __init__(self, inner: LanguageModel, cache: ReplyCache, mode: CacheMode = "on") -> None:
        if mode not in ("off", "read", "on"):
            raise UsageError(f"the cache is off, read or on, not {mode!r}")
        self._inner, self._cache, self._mode = inner, cache, mode

    @property
    def name(self) -> str:
        """That of `inner`."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """That of `inner`."""
        return self._inner.identity

    def identity_of(self, role: str) -> str:
        """That of what serves `role`."""
        return identity_of(self._inner, role)

    async def sample(self, request: Request) -> Reply:
        """`request.n` samples in order, each from the cache or from `inner`."""
        if self._mode == "off" or request.free:  # what a person says is asked each time
            return await self._inner.sample(request)
        identity = self.identity_of(request.role)
        keys = [key_of(identity, request, request.first + i) for i in range(request.n)]
        had = self._cache.get(keys)
        samples: list[Sample] = []
        model = system = error = ""
        i = 0
        while i < request.n:
            if keys[i] in had:
                sample, model, system = had[keys[i]]
                samples.append(sample)
                i += 1
                continue
            end = next((j for j in range(i, request.n) if keys[j] in had), request.n)
            reply = await self._inner.sample(part(request, i, end - i) if had else request)
            if self._mode == "on":
                fresh = zip(keys[i:end], reply.samples, strict=False)
                kept = [(key, s) for key, s in fresh if s.outcome is not Outcome.INVALID]
                self._cache.put(identity, kept, reply.model, reply.system_fingerprint)
            samples += reply.samples
            model, system, error = reply.model, reply.system_fingerprint, reply.error or error
            i = end
        return Reply(tuple(samples), model, system, request.n - len(samples), error)
