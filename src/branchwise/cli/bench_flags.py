"""The flags of `bench run`, and the grid that they name. Opens no model."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.grid import Grid, make_grid
from branchwise.bench.overrides import override
from branchwise.bench.spec import BY, Spec, check_graded, load_spec, method_row, ready, spec_of
from branchwise.cli.options import budget_options
from branchwise.cli.page import Limit, Option, Parallel
from branchwise.cli.places import task_data
from branchwise.cli.settings import LIMITS, model_name
from branchwise.errors import UsageError
from branchwise.methods import METHODS

__all__ = ["bench_options", "grid_of", "total_of"]

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(dir_okay=False, path_type=Path)
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ +-]*=(?=.)")
_NOT_GIVEN = "[default: that of SPEC, else none]"


def _option(heading: str, *names: str, **settings: Any) -> Callable[[F], F]:
    return click.option(*names, cls=Option, heading=heading, **settings)


def bench_options(command: F) -> F:
    """All flags of `bench run` but the model's key and the output's form."""
    none = "A positive number, or none.  [default: none]"
    options = [
        _option("Grid", "--tasks", metavar="NAMES", help="Tasks, with commas between them.  [default: those of SPEC]"),
        _option("Grid", "--methods", metavar="NAMES",
                help=f"Methods: {', '.join(METHODS)}; with settings as tot_bfs?breadth=3&k=5, for one task only as mctsr_4@gsm8k.  "
                "[default: those of SPEC]"),
        _option("Grid", "--models", multiple=True, metavar="SPECS",
                help="Models as --model of solve takes them, with commas between them; LABEL=SPEC gives one a label, SPEC|SPEC names several "
                "servers of one model.  [default: those of SPEC, else local]"),
        _option("Grid", "--items", multiple=True, metavar="[TASK=]ITEMS",
                help="Ranks or places 901:930 (counted from 1, both ends included), ids, sample:30 (sample:30:SEED), or a list of these.  "
                "[default: those of SPEC]"),
        _option("Grid", "--data", type=click.Path(path_type=Path), metavar="PATH",
                help="Folder of public sets, or the file of the only task.  [default: BRANCHWISE_DATA if it holds the task's set, else the "
                "task's own list]"),
        _option("Grid", "--overrides", type=_FILE, metavar="FILE",
                help='Golds that replace those of the data: lines of {"task": ..., "id": ..., "gold": ..., "reason": ...}.'),
        _option("Grid", "--seeds", metavar="N,N|A:B", help="Seeds.  [default: those of SPEC, else 0]"),
        _option("Grid", "--repeats", type=click.IntRange(min=1), metavar="N",
                help="Independent runs of each unit, for mean@k and pass@k; the first one counts as chosen.  [default: those of SPEC, else 1]"),
        _option("Grid", "--temperature", type=click.FloatRange(min=0), metavar="X", help=f"Sampling temperature of all roles.  {_NOT_GIVEN}"),
        _option("Grid", "--max-tokens", type=click.IntRange(min=1), metavar="N", help=f"Tokens of one reply at the most.  {_NOT_GIVEN}"),
        _option("Budget", "--equal", metavar="BY[=AMOUNT]",
                help=f"The same budget for each method and item, in {', '.join(BY)}: who finishes early is repeated, and the repeats vote. "
                "Without an amount, it is what the dearest method takes on the mean, seen from a first run of every unit."),
        budget_options,
        *[_option("Budget of the whole", f"--total-max-{name}", type=Limit(whole=name not in ("cost", "seconds")), metavar=metavar,
                  help=f"{what} {none}")
          for name, metavar, what in (
              ("calls", "N", "Model calls of all units, those of earlier starts included."), ("tokens", "N", "Tokens likewise."),
              ("cost", "USD", "Dollars likewise."), ("seconds", "S", "Seconds of this start."))],
        _option("Budget of the whole", "--calls-per-minute", type=Limit(whole=False), metavar="N", help=f"Rate of all workers. {none}"),
        _option("Budget of the whole", "--tokens-per-minute", type=Limit(whole=False), metavar="N",
                help=f"Likewise; a request counts at its worst until it ends. {none}"),
        _option("Run", "--jobs", type=Parallel(), metavar="N",
                help="Units at once (under Ray: in each worker); they share --parallel.  [default: as --parallel]"),
        _option("Run", "--ray", metavar="auto|ADDRESS",
                help="Run the units on a Ray cluster: the one that this machine belongs to, or a new one on it; or that at ADDRESS."),
        _option("Run", "--workers", type=click.IntRange(min=1), metavar="N", help="Worker processes under Ray.  [default: one a node]"),
        _option("Run", "--out", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
                help="Folder of the run: bench.json, rows.jsonl, traces. Gone on with if it exists."),
        _option("Run", "--force", is_flag=True, help="Take changed settings: rows that they change are set aside."),
        _option("Run", "--retry-failed", is_flag=True, help="Run the units again that have failed before."),
        _option("Run", "--dry-run", is_flag=True, help="Print the worst case of the whole grid, and stop."),
    ]  # fmt: skip
    return functools.reduce(lambda made, option: option(made), reversed(options), command)


def grid_of(flags: Mapping[str, Any]) -> Grid:
    """The grid that SPEC and the flags name, everything checked that needs no model. Raises `UsageError`."""
    changes = _changes(flags)
    spec: Spec
    if flags["spec"] is not None:
        spec = load_spec(flags["spec"], changes)
    else:
        missing = [f"--{name}" for name in ("tasks", "methods") if name not in changes]
        if missing or not flags["items"]:
            names = ", ".join(ready())
            raise UsageError(f"which grid? Give {' and '.join(missing or ['--items'])}, or a SPEC: a file, or one of {names}")
        spec = spec_of(changes, "the flags")
    data: Path | None = flags["data"]
    if data is not None and not data.is_dir() and len(spec.parts) > 1:
        raise UsageError(f"--data {data} is one file, and there are {len(spec.parts)} tasks: give the folder of the public sets")
    return make_grid(spec, lambda task: task_data(task, data), _overrides(flags["overrides"], spec))


def _changes(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a bench file that flags replace."""
    changes: dict[str, Any] = {}
    if flags["tasks"]:
        changes["tasks"] = _names(flags["tasks"])
        for name in changes["tasks"]:
            check_graded(name)
    if flags["methods"]:
        changes["methods"] = [method_row(name) for name in _names(flags["methods"])]
        if flags["repeats"]:
            changes["methods"] = [row | {"samples": flags["repeats"]} for row in changes["methods"]]
    elif flags["repeats"]:
        raise UsageError("--repeats goes with --methods; in a file it is the key samples of a method")
    if flags["models"]:
        changes["models"] = [_model(text) for given in flags["models"] for text in _names(given)]
    if flags["items"]:
        changes["replaced items"] = dict(map(_items, flags["items"]))
    if flags["seeds"]:
        changes["seeds"] = _seeds(flags["seeds"])
    budget = {field: flags[flag] for flag, field in LIMITS.items() if flags.get(flag) not in (None, "none")}
    if budget:
        changes["budget"] = budget
    if flags["equal"]:
        by, given, amount = str(flags["equal"]).partition("=")
        changes["equal"] = {"by": by} | ({"amount": _number(amount)} if given else {})
    return changes | {name: flags[name] for name in ("temperature", "max_tokens") if flags[name] is not None}


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _model(text: str) -> dict[str, Any]:
    label = match[0][:-1].strip() if (match := _LABEL.match(text)) else None
    servers = text[match.end() :].split("|") if match else text.split("|")
    return {"label": label or model_name(servers[0]), "model": [server.strip() for server in servers]}


def _items(text: str) -> tuple[str, str]:
    task, equals, items = text.partition("=")
    return (task.strip(), items) if equals else ("", text)


def _seeds(text: str) -> list[int]:
    found: list[int] = []
    for part in _names(text):
        match = re.fullmatch(r"(-?\d{1,18})(?::(-?\d{1,18}))?", part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise UsageError(f"seeds are given as 0, 0,1,2 or 0:9 (both ends included), not {part!r}")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"an equal budget is given as tokens, tokens=4000, calls=40 or cost=0.01, not with {text!r}") from None


def _overrides(path: Path | None, spec: Spec) -> dict[str, dict[str, Gold]]:
    """Golds by task and id, each with its reason. A line needs no task where there is only one."""
    found: dict[str, dict[str, Gold]] = {}
    if path is None:
        return found
    only = spec.parts[0].task if len(spec.parts) == 1 else ""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
            task, item = str(data.get("task", only) or data["task"]), str(data["id"])
            gold = override(str(data["gold"]), _reason(data["reason"]))
        except (ValueError, KeyError, TypeError, AttributeError):
            shown = '{"task": "gsm8k", "id": "7", "gold": "42", "reason": "why"}'
            raise UsageError(f"{path}, line {number}: an override looks like {shown}") from None
        check_graded(task)
        if found.setdefault(task, {}).setdefault(item, gold) != gold:
            raise UsageError(f"{path}, line {number}: {task} item {item} has another gold or reason in an earlier line")
    return found


def _reason(given: Any) -> str:
    """Raises `ValueError` for none."""
    if not isinstance(given, str) or not given.strip():
        raise ValueError("an override needs a reason")
    return given.strip()


def total_of(flags: Mapping[str, Any]) -> dict[str, float]:
    """The limits of the whole that were given."""
    names = ("calls", "tokens", "cost", "seconds")
    return {name: flags[f"total_max_{name}"] for name in names if flags[f"total_max_{name}"] not in (None, "none")}
