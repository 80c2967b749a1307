"""The tasks by name. Knows no answer key."""

from branchwise.errors import UnknownName
from branchwise.tasks.base import Item, Task, select
from branchwise.tasks.game24.task import GAME24
from branchwise.tasks.open.task import OPEN_TASK

__all__ = ["TASKS", "Item", "Task", "select", "task"]

TASKS: dict[str, Task] = {found.name: found for found in (GAME24, OPEN_TASK)}


def task(name: str) -> Task:
    """The task of that name. Raises `UnknownName`, which offers the nearest."""
    try:
        return TASKS[name.lower()]
    except KeyError:
        raise UnknownName("task", name, TASKS) from None
