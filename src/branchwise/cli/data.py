"""`branchwise data`: the public data sets that can be had by name, and where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table

from branchwise.cli.faults import EXITS
from branchwise.cli.opening import Interrupted, PullBar
from branchwise.cli.page import CommandPage, GroupPage, Option
from branchwise.cli.places import data_folder
from branchwise.cli.signals import interruptible
from branchwise.cli.text import console, document, plain, safe_text
from branchwise.data.sets import DATASETS, dataset
from branchwise.data.store import default_folder, find, pull, wrong
from branchwise.errors import DataError

__all__ = ["data_group"]

F = TypeVar("F", bound=Callable[..., Any])

_FOLDER = click.Path(file_okay=False, path_type=Path)


def _folder_option(text: str) -> Callable[[F], F]:
    return click.option("--data", "folder", type=_FOLDER, metavar="FOLDER", cls=Option, heading="Data", help=text)


@click.group(
    "data",
    cls=GroupPage,
    short_help="Public data sets: list, download, find.",
    epilog=f"""\b
Examples:
  branchwise data list
  branchwise data pull gsm8k
  branchwise grade --task gsm8k outputs.jsonl --data "$(branchwise data path gsm8k)"

{EXITS}""",
)
def data_group() -> None:
    """Public data sets, each one file of a public repository at one commit. The program holds none of them: every task has a list of its own.

    They are kept in your cache, or in the folder that BRANCHWISE_DATA names. When that variable is set, the tasks take their items from the
    sets in that folder; otherwise --data names a file or folder.
    """


@data_group.command("list", cls=CommandPage, short_help="Names, licences, hashes, and which are here.", epilog=EXITS)
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document in place of the table.")
@_folder_option("Look in this folder.  [default: BRANCHWISE_DATA, or your cache]")
def list_command(as_json: bool, folder: Path | None) -> None:
    """List the public data sets with items, licence and address, and whether each is on this machine, verified by its SHA-256."""
    where = folder or data_folder() or default_folder()
    rows: list[dict[str, Any]] = []
    for entry in DATASETS.values():
        path = entry.path_in(where)
        here = "no" if path is None else "wrong hash" if wrong(path, entry) else "yes"
        known = {"name": entry.name, "about": entry.about, "items": entry.items, "bytes": entry.size, "licence": entry.licence}
        rows.append(known | {"url": entry.url, "sha256": entry.sha256, "here": here, "path": None if path is None else str(path)})
    if as_json:
        click.echo(document({"folder": str(where), "data": rows}))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("name", "items", "size", "licence", "here"):
        table.add_column(name, justify="right" if name in ("items", "size") else "left", header_style="bold", no_wrap=True)
    for row in rows:
        cells = (row["name"], f"{row['items']:,}", f"{row['bytes'] / 1e3:,.0f} kB", row["licence"], row["here"])
        table.add_row(*map(safe_text, cells))
    out = console()
    out.print(table)
    out.print(safe_text(f"\nFolder: {where}\nAddresses and hashes: branchwise data list --json"))


@data_group.command("pull", cls=CommandPage, short_help="Download a set, and verify it.", epilog=EXITS)
@click.argument("name")
@_folder_option("Keep it in this folder.  [default: BRANCHWISE_DATA, or your cache]")
def pull_command(name: str, folder: Path | None) -> None:
    """Download the public set NAME (see `branchwise data list`) and print the path of the file.

    A download that was broken off goes on where it was. A file of a wrong hash is refused and deleted. Progress goes to standard error.
    """
    bar = PullBar(dataset(name).name, lambda text: click.echo(plain(text), err=True))
    try:
        with interruptible(bar.broken.set, lambda: "keeping what is downloaded"):
            path = pull(name, folder or data_folder(), bar)
    except Interrupted as error:
        click.echo(plain(str(error)), err=True)
        raise KeyboardInterrupt from None
    finally:
        bar.close()
    click.echo(str(path))


@data_group.command("path", cls=CommandPage, short_help="Where the file of a set is.", epilog=EXITS)
@click.argument("name")
@_folder_option("Look in this folder.  [default: BRANCHWISE_DATA, or your cache]")
def path_command(name: str, folder: Path | None) -> None:
    """Print the path of the public set NAME, if it is here and has the right hash; otherwise fail (exit code 1) and say how to get it."""
    where = folder or data_folder() or default_folder()
    path = find(name, where)
    if path is None:
        raise DataError(f"{dataset(name).file} is not in {where}; run: branchwise data pull {name}")
    click.echo(str(path))
