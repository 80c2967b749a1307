"""`branchwise solve` on many problems: items of a task or of a file, a row each. `solved` is what the task's rules prove, no answer key."""

from __future__ import annotations

import asyncio
import functools
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from branchwise.batch import BatchItem, Summary, outcome, solve_many
from branchwise.cli.ends import reason
from branchwise.cli.faults import ANSWER, FAILED, INTERRUPTED
from branchwise.cli.opening import Interrupted, PullBar, opened_by_role, reply_cache
from branchwise.cli.options import retry_policy
from branchwise.cli.places import task_data
from branchwise.cli.pulse import Pulse, Tally, beating
from branchwise.cli.report import spending
from branchwise.cli.settings import Settings, merge, model_name
from branchwise.cli.signals import interruptible
from branchwise.cli.solving import about
from branchwise.cli.text import console, document, dollars, error_console, plain, plural, safe_text, seconds, shorten
from branchwise.data.sets import data_file, where_more
from branchwise.errors import PromptError, UsageError
from branchwise.model.registry import parse_spec
from branchwise.model.weights import sha256
from branchwise.result import versions
from branchwise.rows import Rows
from branchwise.solve import Stop
from branchwise.tasks import select
from branchwise.thought.ask import asks
from branchwise.thought.likelihood import reads_alternatives

__all__ = ["items_of", "run_many"]

_KEYS = ("id", "prompt")


def run_many(flags: Mapping[str, Any]) -> int:
    """Solve the items that the results file lacks, and print a summary. Raises `UsageError` before the first call."""
    for name in ("problem", "context", "resume", "trace"):
        if flags[name] is not None and (name, flags[name]) != ("trace", "none"):
            flag = "PROBLEM" if name == "problem" else f"--{name}"
            raise UsageError(f"{flag} does not go with many problems; started again, the same command goes on by itself")
    if flags["out"] is None:
        raise UsageError("many problems need --out FILE for their results")
    settings = merge({**flags, "problem": None})
    if parse_spec(settings.model).kind == "tape":
        raise UsageError("a tape holds the replies of one run; it cannot answer many problems")
    items = items_of(flags, settings)
    _check(settings, items)
    say = _sayer(flags["quiet"])
    with Rows(flags["out"], _compared(settings), {"versions": dict(versions()), **about(settings), **_data(settings, flags)}, say) as rows:
        summary, asked = asyncio.run(_run(settings, items, rows, flags, say))
    _print(summary, rows, settings, flags["as_json"])
    if asked:
        click.echo("interrupted; what is done is kept, and the same command goes on", err=True)
        return INTERRUPTED
    return FAILED if summary.failed else ANSWER


def _data(settings: Settings, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Path and SHA-256 of the file that the items come from: a public set may be corrected one day."""
    name = settings.found_task.name
    data = None if flags["items"] is None else task_data(name, flags["data"])
    path = None if data is None else data_file(name, data)
    return {} if path is None else {"data": {"path": str(path), "sha256": sha256(path)}}


def _check(settings: Settings, items: Sequence[BatchItem]) -> None:
    """Refuse what would fail for every item: a method that does not suit the task's problems, and prompts that cannot be used."""
    method = settings.make_method()
    if asks(method.evaluate):
        raise UsageError("--evaluate ask asks you for every state; it goes with one problem")
    for item in items:
        try:
            problem = item.make()
        except PromptError:
            raise
        except UsageError:
            continue
        method.refuse(problem)
        return


def _sayer(quiet: bool) -> Callable[[str], None]:
    return lambda text: None if quiet else click.echo(plain(text), err=True)


def items_of(flags: Mapping[str, Any], settings: Settings) -> list[BatchItem]:
    """The items that --items (with --data) or --input name, in order. Raises `UsageError`."""
    if (flags["items"] is None) == (flags["input_file"] is None):
        raise UsageError("many problems come either from --items or from --input: give one of them")
    if flags["input_file"] is not None:
        if flags["data"] is not None:
            raise UsageError("--data goes with --items: it is the list that they are taken from")
        pairs = _own(flags["input_file"])
    else:
        name, data = settings.found_task.name, task_data(settings.found_task.name, flags["data"])
        found = settings.found_task.items(data)
        spans = [span for span in flags["items"].split(",") if span.strip()] or [flags["items"]]
        try:
            chosen = {item.id: item for span in spans for item in select(found, span)}
        except UsageError as error:
            raise UsageError(f"{error}{where_more(name, data)}") from None
        pairs = [(item.id, item.input) for item in chosen.values()]
    return [BatchItem(name, text, functools.partial(settings.make_problem, text)) for name, text in pairs]


def _own(path: Path) -> list[tuple[str, str]]:
    """Id and prompt of each line. Raises `UsageError` with the line and what is wrong there."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    pairs: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            data = json.loads(line)
        except ValueError as error:
            raise UsageError(f'{where}: not JSON ({error}); a line looks like {{"id": "a", "prompt": "..."}}') from None
        if not isinstance(data, dict) or not isinstance(data.get("prompt"), str) or not data["prompt"].strip():
            raise UsageError(f'{where}: needs a text "prompt"; a line looks like {{"id": "a", "prompt": "..."}}')
        name = str(data.get("id", number))
        if name in pairs:
            raise UsageError(f"{where}: the id {name!r} is there twice")
        pairs[name] = data["prompt"]
    if not pairs:
        raise UsageError(f"{path} holds no problems")
    return list(pairs.items())


def _compared(settings: Settings) -> dict[str, Any]:
    """What may not change when the same results are gone on with; budget and parallelism may."""
    data = settings.to_json()
    return {key: value for key, value in data.items() if key not in ("problem", "budget", "parallel")}


async def _run(
    settings: Settings, items: Sequence[BatchItem], rows: Rows, flags: Mapping[str, Any], say: Callable[[str], None]
) -> tuple[Summary, bool]:
    stop, bar = Stop(), PullBar(parse_spec(settings.model).target, say)
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        bar.broken.set()
        loop.call_soon_threadsafe(stop.now)

    out: Path = flags["out"]
    traces = None if flags["trace"] == "none" else out.with_name(f"{out.stem}.traces")
    progress = _Progress(items, rows, say, settings.method)
    price = settings.price(flags["prices"])
    try:
        with interruptible(interrupt), ExitStack() as stack:
            opening = opened_by_role(
                settings.model, settings.models, parallel=settings.parallel, key_file=flags["key_file"], say=say, bar=bar,
                alternatives=reads_alternatives(settings.make_method().evaluate),
            )  # fmt: skip
            async with opening as model:
                cache = stack.enter_context(reply_cache(flags["cache"]))
                drawn = sys.stderr.isatty()
                with progress.bar if drawn and not flags["quiet"] else nullcontext():
                    async with beating(None if drawn else progress.pulse):
                        summary = await solve_many(
                            items, settings.make_method(), model, rows, jobs=min(flags["jobs"] or 1, len(items)), parallel=settings.parallel,
                            traces=traces, retry_failed=flags["retry_failed"], stop=stop, on_row=progress.row, notice=say, seed=settings.seed,
                            budget=settings.make_budget(), price=price, about=about(settings),
                            cache=cache, cache_mode=flags["cache"], retry=retry_policy(flags), on_event=progress.tally.on_event,
                        )  # fmt: skip
    except Interrupted:
        raise KeyboardInterrupt from None
    return summary, stop.asked


class _Progress:
    """A line an item, and on a terminal a bar below them; elsewhere a line now and then of what is spent."""

    def __init__(self, items: Sequence[BatchItem], rows: Rows, say: Callable[[str], None], method: str) -> None:
        self._say, self._total, self._method = say, len(items), method
        self._done = sum(item.id in rows.done for item in items)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.bar = Progress(*columns, console=error_console())
        self._task = self.bar.add_task("problems", total=self._total, completed=self._done)
        self.tally = Tally()
        self.pulse = Pulse(say, lambda: f"still running: {self._done}/{self._total} problems, {self.tally.line()}")
        if self._done:
            say(f"{plural(self._done, 'problem')} of {self._total:,} {'is' if self._done == 1 else 'are'} in the results already")

    def row(self, row: Mapping[str, Any]) -> None:
        """Tell of one row."""
        self._done = min(self._total, self._done + 1)
        end = outcome(row)
        told = row["error"] if end == "failed" else row["answer"] or reason(row["stop_reason"], self._method, answered=False)
        spent = f"{plural(row['usage'].get('calls', 0), 'call')}, {seconds(row['seconds'])}"
        text = f"[{self._done}/{self._total}] {shorten(row['id'], 40)}: {end.replace('_', ' ')}, {shorten(told, 100)} ({spent})"
        if self.bar.live.is_started:
            self.bar.update(self._task, completed=self._done)
            self.bar.console.print(safe_text(text))
        else:
            self._say(text)


def _print(summary: Summary, rows: Rows, settings: Settings, as_json: bool) -> None:
    if as_json:
        run = {**settings.named_task, "method": settings.method, "model": model_name(settings.model), "seed": settings.seed}
        click.echo(document(run | summary.to_json() | {"results": str(rows.path)}))
        return
    out = console()
    names = ("solved", "wrong", "unknown", "no_answer", "failed", "missing")
    counts = ", ".join(f"{getattr(summary, name):,} {name.replace('_', ' ')}" for name in names if getattr(summary, name) or name == "solved")
    out.print(safe_text(f"{plural(summary.items, 'problem')}: {counts}"))
    if summary.skipped:
        out.print(safe_text(f"{summary.skipped:,} had been run before"))
    out.print(spending({}, summary.usage))
    per = summary.usage.calls / max(1, summary.items - summary.missing)
    cost = dollars(None if summary.usage.cost is None else summary.usage.cost / 1e6)
    out.print(
        safe_text(f"{per:.1f} calls a problem, {cost} in all, {seconds(summary.item_seconds)} of work, {seconds(summary.seconds)} now")
    )
    out.print(safe_text(f"Results: {rows.path}"))
    if summary.failed:
        out.print(safe_text(f"Next: see the error of each failed row; run them again with {shlex.quote('--retry-failed')}"))
