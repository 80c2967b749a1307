"""Game of 24: make 24 from four numbers, each used once. Checked exactly; nothing here can solve it."""

from branchwise.tasks.game24.exact import Check, Verdict, check
from branchwise.tasks.game24.task import GAME24, Game24

__all__ = ["GAME24", "Check", "Game24", "Verdict", "check"]
