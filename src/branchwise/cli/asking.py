"""Asks a person on the terminal: shows a state with everything harmless, reads one line. Knows no run."""

from __future__ import annotations

import asyncio
import os
import sys

import click

from branchwise.cli.text import plain
from branchwise.thought.ask import LABELS, read_judgement

__all__ = ["ask_terminal", "can_ask"]

_LABELS = ", ".join(label for label, _ in LABELS)


def can_ask() -> bool:
    """Whether somebody sits there."""
    return sys.stdin is not None and sys.stdin.isatty()


async def ask_terminal(text: str) -> str:
    """What was typed for the state in `text`; asked again until it can be read. The end of the input counts as skip."""
    click.echo(f"\n{plain(text).rstrip()}", err=True)
    while True:
        click.echo(f"How good is it? 0 to 1, {_LABELS}, or Enter to skip: ", err=True, nl=False)
        typed = await _line(sys.stdin.fileno())
        try:
            read_judgement(typed)
        except ValueError as error:
            click.echo(plain(error), err=True)
            continue
        return typed.strip()


async def _line(stream: int) -> str:
    """One line of a terminal, without a thread: Ctrl-C ends the wait at once."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        if not came.done():
            came.set_result(os.read(stream, 4096))

    loop.add_reader(stream, read)
    try:
        return (await came).decode("utf-8", "replace")
    finally:
        loop.remove_reader(stream)
