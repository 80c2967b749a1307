"""Workers that die, without a cluster: each is replaced once, what it was asked for is asked of another, and a unit that kills them is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from branchwise.bench.ray_runner import Cluster
from branchwise.bench.ray_worker import Job
from branchwise.errors import BranchwiseError, UsageError


class ActorDied(Exception):
    """As Ray tells it."""


class TaskFailed(Exception):
    """Likewise."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class FakeRay:
    """Actors in this process; `behave` is what a worker (by its number) makes of what it is asked."""

    exceptions = SimpleNamespace(RayActorError=ActorDied, RayTaskError=TaskFailed)

    def __init__(self, behave: Callable[[int, Any], Any]) -> None:
        self.behave, self.made, self.killed = behave, 0, 0

    def remote(self, actor: Any) -> Any:
        def make(job: Any, office: Any, name: str, number: int) -> Any:
            self.made += 1

            async def unit(what: Any) -> Any:
                await asyncio.sleep(0)
                return self.behave(number, what)

            return SimpleNamespace(unit=SimpleNamespace(remote=unit))

        return SimpleNamespace(options=lambda **settings: SimpleNamespace(remote=make))

    def kill(self, handle: Any) -> None:
        self.killed += 1


def cluster(ray: FakeRay, workers: int = 2, jobs: int = 3) -> tuple[Cluster, list[str], list[str]]:
    lost: list[str] = []
    said: list[str] = []

    async def tell(name: str) -> None:
        lost.append(name)

    office = SimpleNamespace(lost=SimpleNamespace(remote=tell))
    return Cluster(ray, cast(Job, None), office, workers, jobs, said.append), lost, said


def test_a_dead_worker_is_replaced_once_and_every_unit_is_answered_once() -> None:
    def behave(number: int, what: Any) -> Any:
        if number == 0:
            raise ActorDied
        return (number, what)

    async def go() -> None:
        ray = FakeRay(behave)
        made, lost, said = cluster(ray)
        answers = await asyncio.gather(*[made.ask("unit", n) for n in range(20)])
        assert sorted(what for _, what in answers) == list(range(20))
        assert (ray.made, len(lost), len(said)) == (3, 1, 1)
        assert made.room == 6
        made.end()
        assert ray.killed == 3

    asyncio.run(go())


def test_a_unit_that_kills_five_workers_is_told_and_the_others_go_on() -> None:
    def behave(number: int, what: Any) -> Any:
        if what == "poison":
            raise ActorDied
        return what

    async def go() -> None:
        ray = FakeRay(behave)
        made, lost, _ = cluster(ray, workers=1, jobs=1)
        with pytest.raises(BranchwiseError, match="5 workers have died"):
            await made.ask("unit", "poison")
        assert await made.ask("unit", "food") == "food"
        assert (len(lost), ray.made) == (5, 6)

    asyncio.run(go())


@pytest.mark.parametrize(
    ("cause", "kind", "told"),
    [(UsageError("no such model"), UsageError, "no such model"), (ValueError("odd"), BranchwiseError, "a worker failed: odd")],
)
def test_what_a_worker_raises_is_raised_here_and_it_lives_on(cause: Exception, kind: type[Exception], told: str) -> None:
    def behave(number: int, what: Any) -> Any:
        if what == "bad":
            raise TaskFailed(cause)
        return what

    async def go() -> None:
        ray = FakeRay(behave)
        made, _, _ = cluster(ray, workers=1, jobs=1)
        with pytest.raises(kind, match=told):
            await made.ask("unit", "bad")
        assert await made.ask("unit", "good") == "good"
        assert ray.made == 1

    asyncio.run(go())
