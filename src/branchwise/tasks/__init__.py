"""The tasks by name: our own, those of installed plug-ins, and files that are named. Knows no answer key.

A plug-in is an entry point of the group `branchwise.tasks` that gives a `Task`. Nothing is loaded from the working directory unless it
is named.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from branchwise.errors import UnknownName, UsageError
from branchwise.tasks.base import Item, Task, select
from branchwise.tasks.crosswords.task import CROSSWORDS
from branchwise.tasks.from_file import is_task_file, task_from_file
from branchwise.tasks.game24.task import GAME24
from branchwise.tasks.math.task import MATH_TASKS
from branchwise.tasks.numeric.task import NUMERIC_TASKS
from branchwise.tasks.open.task import OPEN_TASK
from branchwise.tasks.strategyqa.task import STRATEGYQA
from branchwise.tasks.writing.task import WRITING

__all__ = ["GROUP", "TASKS", "Item", "Task", "installed", "select", "task"]

GROUP = "branchwise.tasks"
"""The entry points of task plug-ins."""
TASKS: dict[str, Task] = {found.name: found for found in (GAME24, CROSSWORDS, OPEN_TASK, *NUMERIC_TASKS, STRATEGYQA, *MATH_TASKS, WRITING)}
"""Our own."""


def task(name: str) -> Task:
    """The task of that name, in any case, or of the file FILE.yaml. Raises `UnknownName`, which offers the nearest, and `UsageError`."""
    if is_task_file(name):
        return task_from_file(Path(name))
    if (own := TASKS.get(name.lower())) is not None:
        return own
    points = {point.name.lower(): point for point in _points()}
    if name.lower() not in points:
        raise UnknownName("task", name, (*TASKS, *points, "FILE.yaml"))
    return _loaded(points[name.lower()])


def installed() -> dict[str, Task]:
    """Our own tasks and those of plug-ins; one that cannot be loaded is left out with a warning."""
    found = dict(TASKS)
    for point in _points():
        try:
            found.setdefault(point.name.lower(), _loaded(point))
        except UsageError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def _points() -> Iterator[metadata.EntryPoint]:
    """Entry points of installed distributions; those that lie in the working directory itself are not installed."""
    here = Path.cwd().resolve()
    for point in metadata.entry_points(group=GROUP):
        root = None if point.dist is None else Path(str(point.dist.locate_file(""))).resolve()
        if root != here:
            yield point


def _loaded(point: metadata.EntryPoint) -> Task:
    try:
        found = point.load()
    except Exception as error:
        raise UsageError(f"the task plug-in {point.name} ({point.value}) cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(found, Task):
        raise UsageError(f"the task plug-in {point.name} ({point.value}) is no Task, but {type(found).__name__}")
    return found
