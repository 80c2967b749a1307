"""One run from its settings: model opened, tree drawn, Ctrl-C obeyed. Prints nothing on standard output."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.budget import Price
from branchwise.cli.live import View, watching
from branchwise.cli.opening import Interrupted, PullBar, opened_by_role, reply_cache
from branchwise.cli.settings import Settings, model_name
from branchwise.cli.signals import interruptible
from branchwise.cli.text import error_console
from branchwise.errors import UsageError
from branchwise.method import Method
from branchwise.model.layers.cached import CacheMode
from branchwise.model.layers.retrying import RetryPolicy
from branchwise.model.registry import parse_spec
from branchwise.problem import Problem
from branchwise.result import Result, versions
from branchwise.solve import Stop, solve
from branchwise.thought.ask import asks
from branchwise.thought.likelihood import reads_alternatives

__all__ = ["Broken", "Plan", "run"]


class Broken(Exception):
    """A run that began, or whose model was being opened, and ended in an error; `result` is what it had reached."""

    def __init__(self, error: Exception, result: Result) -> None:
        super().__init__(str(error))
        self.error, self.result = error, result


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Everything that a run needs, checked before anything slow or paid."""

    settings: Settings
    problem: Problem
    method: Method
    price: Price | Mapping[str, Price | None] | None
    trace: Path | None
    resume: Path | None
    key_file: Path | None
    cache: CacheMode
    quiet: bool
    say: Callable[[str], None]
    about: dict[str, Any]
    retry: RetryPolicy


def run(plan: Plan) -> Result:
    """The result. Raises `UsageError` before the first call, and `Broken` for what fails later."""
    return asyncio.run(_run(plan))


async def _run(plan: Plan) -> Result:
    settings, stop = plan.settings, Stop()
    title = f"{settings.task_name} {plan.problem.prompt} · {plan.method.name} · {model_name(settings.model)}"
    view = View(title)
    bar = PullBar(parse_spec(settings.model).target, plan.say)
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        bar.broken.set()
        loop.call_soon_threadsafe(stop.now)

    try:
        with interruptible(interrupt, lambda: "saving" if view.started and (plan.resume or plan.trace) else "stopping"):
            person = asks(plan.method.evaluate)
            opening = opened_by_role(
                settings.model, settings.models, person=person, parallel=settings.parallel, key_file=plan.key_file, say=plan.say, bar=bar,
                alternatives=reads_alternatives(plan.method.evaluate),
            )  # fmt: skip
            async with opening as model:
                drawn = error_console()
                drawn.soft_wrap = False
                if plan.quiet or person:
                    return await _solve(plan, model, stop, view)
                async with watching(view, drawn, plan.say):
                    return await _solve(plan, model, stop, view)
    except Interrupted:
        raise KeyboardInterrupt from None
    except UsageError as error:
        if not view.started:
            raise
        raise Broken(error, _reached(plan, view, error)) from error
    except Exception as error:
        raise Broken(error, _reached(plan, view, error)) from error


async def _solve(plan: Plan, model: Any, stop: Stop, view: View) -> Result:
    settings = plan.settings
    with reply_cache(plan.cache) as cache:
        return await solve(
            plan.problem, plan.method, model, budget=settings.make_budget(), seed=settings.seed, trace=plan.trace, resume=plan.resume,
            parallel=settings.parallel, price=plan.price, on_event=view.on_event, stop=stop, about=plan.about, cache=cache,
            cache_mode=plan.cache, retry=plan.retry,
        )  # fmt: skip


def _reached(plan: Plan, view: View, error: Exception) -> Result:
    """What a broken run had, as far as its events tell."""
    text = str(error) or type(error).__name__
    trace = (plan.resume or plan.trace) if view.started else None
    return Result(
        answer=None, solved=False, unfinished=True, stop_reason="failed", method=plan.method.name, model=model_name(plan.settings.model),
        seed=plan.settings.seed, tree=view.tree, node=None, usage=view.spent, by_role=dict(view.by_role), seconds=view.seconds,
        error=text, trace=trace, versions=versions(),
    )  # fmt: skip
