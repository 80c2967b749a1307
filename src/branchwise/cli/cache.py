"""`branchwise cache`: the replies that are kept over runs. Asks no model."""

from __future__ import annotations

import click

from branchwise.cli.faults import EXITS
from branchwise.cli.page import CommandPage, GroupPage, Option
from branchwise.cli.places import cache_file
from branchwise.cli.text import document, plain
from branchwise.errors import UsageError
from branchwise.model.cache import clear, info

__all__ = ["cache_group"]


@click.group(
    "cache",
    cls=GroupPage,
    short_help="Replies kept over runs: how many, and remove them.",
    epilog=f"""\b
Examples:
  branchwise solve "4 9 10 13" --task game24 --cache on
  branchwise cache info
  branchwise cache clear --older-than 30

{EXITS}""",
)
def cache_group() -> None:
    """Replies that --cache on has kept, so that a later run with the same model, prompt and settings does not pay for them again.

    The key is everything that shapes a reply: the model and its address, every sampling setting, the messages, and the number of the sample.
    So five samples of one prompt stay five different ones. A hit is shown apart and costs nothing.
    """


@cache_group.command("info", cls=CommandPage, short_help="Where it is, how much is in it.", epilog=EXITS)
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document in place of the text.")
def info_command(as_json: bool) -> None:
    """Print where the cache is, how many replies it holds, how large it is, and from which models they are."""
    found = info(cache_file())
    models = dict(found.by_identity)
    if as_json:
        click.echo(document({"path": str(found.path), "entries": found.entries, "bytes": found.size, "models": models}))
        return
    click.echo(f"{found.path}\n{_replies(found.entries)}, {found.size / 1e6:,.1f} MB")
    for name, count in models.items():
        click.echo(plain(f"  {count:>9,}  {name}"))


@cache_group.command("clear", cls=CommandPage, short_help="Remove replies.", epilog=EXITS)
@click.option("--older-than", type=float, metavar="DAYS", cls=Option, heading="What", help="Only replies kept longer ago than that.  [default: all]")
def clear_command(older_than: float | None) -> None:
    """Remove all replies from the cache, or the old ones."""
    if older_than is not None and older_than < 0:
        raise UsageError("--older-than is a number of days, at least 0")
    gone = clear(cache_file(), older_than=None if older_than is None else older_than * 86400)
    click.echo(f"{_replies(gone)} removed from {cache_file()}")


def _replies(count: int) -> str:
    return f"{count:,} {'reply' if count == 1 else 'replies'}"
