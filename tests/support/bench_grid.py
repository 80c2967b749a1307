"""Small benches for tests: a noisy model whose true accuracies are known, grids of our own lists, runs in this process. Knows no test."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from branchwise.bench.desk import Desk
from branchwise.bench.golds import own_golds
from branchwise.bench.grid import Grid, make_grid
from branchwise.bench.purse import Purse, Pursed, drain
from branchwise.bench.rows import Row
from branchwise.bench.runner import run_here
from branchwise.bench.spec import spec_of
from branchwise.budget import Budget, Price
from branchwise.model.base import LanguageModel, Request
from branchwise.model.layers.limited import Limited
from branchwise.model.layers.retrying import RetryPolicy
from branchwise.model.scripted import Scripted
from branchwise.solve import Stop
from branchwise.tasks import task

FREE = Price(0.0, 0.0, 0.0)
ONCE = RetryPolicy(attempts=1)


def draw(*words: object) -> float:
    """A number in [0, 1) that belongs to these words."""
    return int.from_bytes(hashlib.blake2b("\0".join(map(str, words)).encode(), digest_size=8).digest()) / 2**64


def noisy(accuracy: float, salt: object = 0, words: int = 30) -> Scripted:
    """Answers gsm8k's own list right with probability `accuracy`, each sample for itself, after some 10 to `words` words of reasoning."""
    golds = {item.input: own_golds("gsm8k")[item.id].text for item in task("gsm8k").items(None)}

    def answer(request: Request, index: int) -> str:
        prompt = request.messages[-1].content
        seed = request.seeds[index - request.first] if request.seeds else index
        if request.role == "evaluate":
            return "The best choice is 1" if "choice" in prompt.lower() else "likely"
        gold = next((gold for text, gold in golds.items() if text in "".join(m.content for m in request.messages)), "0")
        right = draw(salt, prompt, seed) < accuracy
        said = gold if right else str(1000 + int(draw("wrong", salt, prompt, seed) * 1000))
        reasoning = "because " * (10 + int(draw("length", salt, prompt, seed) * (words - 10)))
        return f"{reasoning}\nThe answer is {said}."

    return Scripted(answer, name="script:noisy")


def grid(data: Path | None = None, overrides: Any = None, **top: Any) -> Grid:
    """A grid of gsm8k's own list, two items, `io`; `top` are the keys of a bench file."""
    spec = spec_of({"tasks": [{"task": "gsm8k", "items": "1:2"}], "methods": ["io"], "models": [{"label": "m", "model": "local"}], **top}, "test")
    return make_grid(spec, lambda name: data, overrides)


def run(
    made: Grid, folder: Path, model: LanguageModel, *, jobs: int = 4, purse: Purse | None = None, stop: Stop | None = None, price: Any = FREE,
    said: list[str] | None = None, limits: Budget | None = None, **desk_settings: Any,
) -> list[Row]:  # fmt: skip
    """The rows of a whole run in this process, with a clock that stands still. `limits` are those of the whole, where there is no `purse`."""
    from branchwise.bench.runner import Events

    async def go() -> list[Row]:
        notices = said if said is not None else []
        with Desk(made, folder, notice=notices.append, **desk_settings) as desk:
            ending = stop or Stop()
            money = purse or desk.purse(limits or Budget())
            paid = Limited(Pursed(model, money, price, lambda: drain(ending)), 8)
            await run_here(
                desk, lambda route: nullcontext(paid), lambda route: price, jobs=jobs, stop=ending, retry=ONCE, clock=lambda: 0.0,
                events=Events(say=notices.append),
            )  # fmt: skip
            return list(desk.done.values())

    return asyncio.run(go())


def by_unit(rows: list[Row]) -> dict[str, Row]:
    """Rows by unit."""
    return {row.unit: row for row in rows}
