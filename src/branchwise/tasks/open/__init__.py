"""Open questions: directions, steps, and an answer that says what was rejected. No program can tell whether it is right."""

from branchwise.tasks.open.task import OPEN_TASK, Open

__all__ = ["OPEN_TASK", "Open"]
