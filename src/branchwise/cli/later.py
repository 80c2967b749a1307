"""Commands that are imported when they are called: until then a name and one line of help. Knows no command."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

__all__ = ["Later", "real"]


class Later(click.Command):
    """Stands in a group for `attribute` of a `module` of this package. Help of the group and completion need no more than this."""

    def __init__(self, name: str, module: str, attribute: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._module, self._attribute = module, attribute

    def load(self) -> click.Command:
        """The command itself."""
        found = getattr(import_module(f"branchwise.cli.{self._module}"), self._attribute)
        assert isinstance(found, click.Command)
        return found

    def make_context(self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any) -> click.Context:
        """That of the command itself, which is what is run, helped with and completed from here on."""
        return self.load().make_context(info_name, args, parent, **extra)


def real(command: click.Command) -> click.Command:
    """The command that `command` is or stands for."""
    return command.load() if isinstance(command, Later) else command
