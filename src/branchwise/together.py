"""Several jobs at once. Knows nothing of what they do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["all_of", "settled"]

T = TypeVar("T")


async def all_of(jobs: list[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. When one raises, the others are cancelled and awaited first."""
    if len(jobs) == 1:
        return [await jobs[0]]
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def settled(jobs: list[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order, once all have ended. Where some raise, the first of them in order is raised, whichever was the first in time; none
    is cancelled for the sake of another."""
    found = await asyncio.gather(*jobs, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if not isinstance(one, BaseException)]
