"""Trying again what may succeed. Knows errors and waiting, no backend and no budget: each attempt passes through the layers inside."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from random import Random

from branchwise.budget import Bound
from branchwise.errors import ModelError, OutOfBudget, RateLimited, TransientError, UsageError
from branchwise.model.base import LanguageModel, Outcome, Reply, Request, Sample, fingerprint, identity_of
from branchwise.model.parts import awaits, joined, part, waiting
from branchwise.model.structure import repair

__all__ = ["RetryPolicy", "Retrying"]

_MENDABLE = (Outcome.TRUNCATED_IN_REASONING, Outcome.INVALID)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`attempts` in all, at least 1. The wait before attempt i + 1 is `base` * 2**i seconds, at most `cap`, less up to `jitter` of it.

    A server's own wait is honoured instead where it names one. `deadline` is seconds for one request from its first attempt to the start
    of its last; a wait that would pass it is not begun. Permanent errors are never tried again. `larger` times its tokens is what a reply is
    allowed that was lost to reasoning, once, where an attempt is left; 1 switches that off.
    """

    attempts: int = 4
    base: float = 0.5
    cap: float = 30.0
    jitter: float = 0.5
    deadline: float = 300.0
    larger: int = 2

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.base < 0 or self.cap < 0 or not 0 <= self.jitter <= 1 or self.deadline < 0:
            raise UsageError(f"not a retry policy: {self}; attempts >= 1, base, cap and deadline >= 0 seconds, jitter in [0, 1]")
        if self.larger < 1:
            raise UsageError(f"a retry policy's larger must be at least 1, not {self.larger}")

    def worst(self, once: Bound, grows: bool = True) -> Bound:
        """The most that requests can spend that spend `once` at a single attempt: one of the attempts may be the larger one.

        `grows` is false where no reply may exceed its limit (`Request.firm`).
        """
        total = once * self.attempts
        if self.attempts == 1 or not grows:
            return total
        return total + Bound(0, 0, once.completion_tokens * (self.larger - 1))

    def wait(self, attempt: int, error: TransientError, draw: float) -> float:
        """Seconds to wait after attempt number `attempt` (from 0) failed; `draw` is random in [0, 1)."""
        if isinstance(error, RateLimited) and error.retry_after is not None:
            return error.retry_after
        return float(min(self.cap, self.base * 2.0**attempt) * (1 - self.jitter * draw))


class Retrying:
    """`inner`, tried again by `policy`. The jitter is drawn from the request, so that a run waits alike each time.

    `recorded` says that replies come from a tape: second tries of samples are in them already. `late` tells of a wait, in seconds, what is
    left of the run's time where it would pass that: it is not begun, `notice` is told why, and the run is out of budget.
    """

    def __init__(
        self,
        inner: LanguageModel,
        policy: RetryPolicy | None = None,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        recorded: bool = False,
        late: Callable[[float], float | None] = lambda wait: None,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._inner, self.policy, self._recorded = inner, policy or RetryPolicy(), recorded
        self._sleep, self._clock, self._late, self._notice = sleep, clock, late, notice
        self._noticed = False

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

    @property
    def attempts(self) -> int:
        """The most attempts for one request: what a worst case is multiplied by."""
        return self.policy.attempts

    async def sample(self, request: Request) -> Reply:
        """The samples of the first attempt that succeeds; what is missing of them is asked for in the next, and what is unfit once more.

        So no more than `attempts * n` samples are drawn. Raises the last error, with what was tried, when there is no sample at all, and
        `OutOfBudget` with what was had before it, also where the wait for the next attempt would outlast the run.
        """
        if request.lost is not None:
            return await self._mended(Reply((request.lost,)), replace(request, lost=None), self.policy.attempts - 1)
        start = self._clock()
        had: list[Reply] = []
        count, why = 0, ""
        for attempt in range(self.policy.attempts):
            left = self.policy.attempts - 1 - attempt
            try:
                reply = await self._inner.sample(part(request, count, request.n - count) if count else request)
            except TransientError as error:
                why = str(error)
                wait = self.policy.wait(attempt, error, _draw(request, attempt))
                late = self._clock() - start + wait > self.policy.deadline
                if left and self._outlasts(wait, error):
                    raise OutOfBudget("seconds", self._unfinished(joined(had, request.n), 0, request, "seconds", left) if count else None) from None
                if left and not late:
                    await self._sleep(wait)
                elif not count:
                    raise self._tried(error, attempt, wait, late and bool(left)) from None
                else:
                    break
                continue
            except ModelError as error:
                if not count:
                    raise
                why = str(error)
                break
            except OutOfBudget as stop:
                if count:
                    stop.reply = self._unfinished(joined(had, request.n), 0, request, stop.limit, left + 1)
                raise
            had.append(reply)
            count += len(reply.samples)
            if count >= request.n:
                whole = joined(had, request.n)
                return await self._mended(whole, request, left)
        return replace(joined(had, request.n), error=why or had[-1].error)

    def _outlasts(self, wait: float, error: TransientError) -> bool:
        """Whether `wait` would pass what is left of the run's time; the first time, its reason is told."""
        left = self._late(wait)
        if left is None:
            return False
        if not self._noticed:
            self._noticed = True
            why = "rate-limited by the server" if isinstance(error, RateLimited) else "the model failed"
            if isinstance(error, RateLimited) and error.retry_after is not None:
                why += f", which asked for {_seconds(wait)}"
            self._notice(f"{why}; the run has {_seconds(left)} left, so it ends without another try ({error})")
        return True

    async def _mended(self, reply: Reply, request: Request, left: int) -> Reply:
        """Samples lost to reasoning are asked for once more with more room, then those of a wrong structure with the fault named.

        Each takes one of the attempts that are `left` for its sample. What the lost ones cost is kept with their successors.
        """
        if not left or all(sample.outcome not in _MENDABLE for sample in reply.samples):
            return reply
        if self._recorded:
            if limit := next(filter(None, map(awaits, reply.samples)), ""):
                raise OutOfBudget(limit, reply)
            return reply
        samples = list(reply.samples)
        for i, sample in enumerate(reply.samples):
            try:
                samples[i] = await self._mend(sample, part(request, i, 1), left)
            except OutOfBudget as stop:
                samples[i] = stop.reply if isinstance(stop.reply, Sample) else sample
                stop.reply = self._unfinished(replace(reply, samples=tuple(samples)), i, request, stop.limit, left)
                raise
        return replace(reply, samples=tuple(samples))

    def _unfinished(self, reply: Reply, start: int, request: Request, limit: str, left: int) -> Reply:
        """`reply` with a mark on each sample from `start` on that would have been asked for once more."""
        marked = (waiting(s, limit) if left and self._is_wanting(s, request) else s for s in reply.samples[start:])
        return replace(reply, samples=(*reply.samples[:start], *marked))

    def _is_wanting(self, sample: Sample, request: Request) -> bool:
        return self._was_lost(sample, request) or _is_unfit(sample, request)

    def _was_lost(self, sample: Sample, request: Request) -> bool:
        return sample.outcome is Outcome.TRUNCATED_IN_REASONING and self.policy.larger > 1 and not request.firm

    async def _mend(self, sample: Sample, request: Request, left: int) -> Sample:
        try:
            if left and self._was_lost(sample, request):
                sample = await self._again(sample, replace(request, max_tokens=request.max_tokens * self.policy.larger))
                left -= 1
            if left and _is_unfit(sample, request):
                sample = await self._again(sample, repair(request, sample))
        except OutOfBudget as stop:
            stop.reply = sample
            raise
        return sample

    async def _again(self, sample: Sample, request: Request) -> Sample:
        """The sample that `request` gives in the place of `sample`, which stays where there is none."""
        try:
            again = (await self._inner.sample(request)).samples[0]
        except ModelError:
            return sample
        return replace(again, usage=sample.usage + again.usage)

    def _tried(self, error: TransientError, attempt: int, wait: float, late: bool) -> TransientError:
        if late:
            return _told(error, f"waiting {wait:.0f} s more would pass the deadline of {self.policy.deadline:.0f} s")
        return _told(error, f"tried {attempt + 1} times") if attempt else error


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if 0 < value < 10 and value != int(value) else f"{value:.0f} s"


def _is_unfit(sample: Sample, request: Request) -> bool:
    return sample.outcome is Outcome.INVALID and (request.schema is not None or bool(request.choices))


def _told(error: TransientError, what: str) -> TransientError:
    """`error` with what was done about it; kind and wait stay."""
    text = f"{error} ({what})"
    return RateLimited(text, error.retry_after) if isinstance(error, RateLimited) else TransientError(text)


def _draw(request: Request, attempt: int) -> float:
    """A number in [0, 1) that belongs to this attempt of this request; made only when a wait needs it."""
    words = f"{request.id or fingerprint(request)} {request.first} {attempt}"
    return Random(int.from_bytes(hashlib.blake2b(words.encode(), digest_size=8).digest())).random()
