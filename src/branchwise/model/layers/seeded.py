"""One step's view of the model: it names each call by its place in the tree and derives its seeds. Knows no provider and no tree."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from hashlib import blake2b

from branchwise.errors import OutOfBudget
from branchwise.ledger import BARRED
from branchwise.model.base import CallId, LanguageModel, Reply, Request, Sample, fingerprint

__all__ = ["Seeded", "Turn", "derive_seed"]


@dataclass(slots=True)
class Turn:
    """How the calls of one step are made: at once, or (`serial`) one sample at a time, until the first that does not fit the budget."""

    step: int
    serial: bool = False
    broken: str = ""
    """The limit that stopped the step; nothing of it is called after that, so that a smaller cap gives a prefix of a larger one."""
    lock: asyncio.Lock | None = None

    def __post_init__(self) -> None:
        if self.serial:
            self.lock = asyncio.Lock()


def derive_seed(run: int, where: CallId, sample: int) -> int:
    """A 31-bit seed from the run's seed and the place of the sample: never from a counter, never the same for two samples."""
    text = f"{run}\0{where.node}\0{where.role}\0{where.occurrence}\0{where.digest}\0{where.repeat}\0{sample}"
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=4).digest(), "big") & 0x7FFFFFFF


class Seeded:
    """The outermost layer: `node` and `occurrence` say where in the tree the step stands. `role` overrides that of the requests.

    `limit` is the most tokens of one reply, where a step has a share of the run's tokens.
    """

    def __init__(
        self, inner: LanguageModel, seed: int, turn: Turn, node: str, occurrence: int, role: str | None = None, limit: int | None = None
    ) -> None:
        self._inner, self._seed, self._turn = inner, seed, turn
        self._node, self._occurrence, self._role, self._limit = node, occurrence, role, limit
        self._repeats: dict[tuple[str, str], int] = {}

    @property
    def name(self) -> str:
        """That of the backend."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """That of the backend."""
        return self._inner.identity

    async def sample(self, request: Request) -> Reply:
        """`request.n` samples, fewer (`missing`) where the budget ends among them. Raises `OutOfBudget` when there is none."""
        role = self._role or request.role
        if self._limit is not None and request.max_tokens > self._limit:
            request = replace(request, max_tokens=self._limit)
        digest = fingerprint(request)
        repeat = self._repeats.get((role, digest), 0)
        self._repeats[(role, digest)] = repeat + 1
        where = CallId(self._node, self._occurrence, role, digest, repeat)
        seeds = tuple([derive_seed(self._seed, where, request.first + i) for i in range(request.n)])
        placed = Request(
            request.messages, request.n, role, request.temperature, request.max_tokens, request.stop, request.schema, request.choices,
            request.logprobs, seeds, request.first, where, self._turn.step, request.free, self._limit is not None,
        )  # fmt: skip
        if self._turn.broken:
            raise OutOfBudget(self._turn.broken)
        if self._turn.serial:
            return await self._one_by_one(placed)
        try:
            return await self._inner.sample(placed)
        except OutOfBudget as stop:
            if stop.limit != BARRED:  # each call of such a step is refused by itself: what others had been answered is charged
                self._turn.broken = stop.limit
            raise

    async def _one_by_one(self, request: Request) -> Reply:
        turn = self._turn
        samples: list[Sample] = []
        missing, error, barred = 0, "", False
        last = Reply(())
        for i in range(request.n):
            assert turn.lock is not None
            async with turn.lock:
                if turn.broken:
                    break
                try:
                    last = await self._inner.sample(replace(request, n=1, first=request.first + i, seeds=request.seeds[i : i + 1]))
                except OutOfBudget as stop:
                    barred = stop.limit == BARRED
                    turn.broken = "" if barred else stop.limit
                    break
                samples.extend(last.samples)
                missing, error = missing + last.missing, last.error or error
        if not samples and (turn.broken or barred):
            raise OutOfBudget(turn.broken or BARRED)
        return Reply(tuple(samples), last.model, last.system_fingerprint, request.n - len(samples), error)
