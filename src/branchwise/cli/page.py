"""Help that reads like a page: options under headings, in the order of the documentation. Knows no command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from branchwise.errors import nearest

__all__ = ["CommandPage", "GroupPage", "Joined", "Limit", "Option", "Parallel", "arguments"]


class Option(click.Option):
    """An option with the heading that `--help` shows it under."""

    def __init__(self, *args: Any, heading: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = heading

    def get_help_extra(self, ctx: click.Context) -> Any:
        """The range is said in words where it matters."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


class CommandPage(click.Command):
    """A command whose `--help` groups its options by heading."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(debug_option())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One list a heading, "Other" last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(param, "heading", "Other"), []).append(record)
        for heading in sorted(sections, key=lambda name: name == "Other"):
            with formatter.section(heading):
                formatter.write_dl(sections[heading], col_max=34)


class GroupPage(click.Group):
    """A group of commands with the same care for names: a misspelt command gets the nearest ones."""

    command_class = CommandPage


def debug_option() -> click.Option:
    """`--debug`, which the program looks for before anything else can fail."""
    return Option(["--debug"], is_flag=True, expose_value=False, heading="Other", help="Show the whole traceback of an error.")


def arguments() -> list[str]:
    """What the program was called with; it puts this into the context."""
    context = click.get_current_context(silent=True)
    return list(context.obj or ()) if context is not None else []


class Joined(click.ParamType[Any]):
    """One of `names`, or several of them with `+` between."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = sorted(names)
        self.name = "name"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """As it stands in help."""
        return "NAME[+NAME]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The names as they were given, without blanks."""
        parts = [part.strip() for part in str(value).split("+")]
        for part in parts:
            if part not in self.names:
                self.fail(f"there is no {part!r}{nearest(part, self.names)}", param, ctx)
        return "+".join(parts)


class Limit(click.ParamType[Any]):
    """A positive number, or `none` for no limit (which is given on as the text "none")."""

    def __init__(self, whole: bool = True) -> None:
        self.whole = whole
        self.name = "integer" if whole else "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or "none"."""
        if not isinstance(value, str):
            return value
        text = value.strip().lower()
        if text == "none":
            return "none"
        kind = "whole number" if self.whole else "number"
        try:
            number = int(text) if self.whole else float(text)
        except ValueError:
            self.fail(f"{value!r} is not a {kind}; give a positive {kind}, or none for no limit", param, ctx)
        if not 0 < number < float("inf"):
            self.fail(f"{value} allows nothing; give a positive {kind}, or none for no limit", param, ctx)
        return number


class Parallel(Limit):
    """How many at once: a positive whole number, or `none` for as many as there are."""

    most = 1 << 16

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; `none` is a very large one."""
        number = super().convert(value, param, ctx)
        if number == "none":
            return self.most
        if isinstance(number, int) and number > self.most:
            self.fail(f"{number} is too many; give 1 to {self.most}, or none for no limit", param, ctx)
        return number
