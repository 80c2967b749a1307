"""`branchwise view`: the page over a folder of traces, or over one trace."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from branchwise.cli.faults import EXITS
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.places import home
from branchwise.cli.text import plain
from branchwise.errors import TraceError, UsageError, install

__all__ = ["view_command"]


@click.command(
    "view",
    cls=CommandPage,
    short_help="Show runs as growing trees in the browser.",
    epilog=f"""\b
Examples:
  branchwise view
  branchwise view run.jsonl
  branchwise view results/traces --port 8322 --no-browser

{EXITS}""",
)
@click.argument("where", required=False, metavar="[FOLDER|TRACE]", type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", cls=Option, heading="Server", help="Port.  [default: any free one]")
@click.option("--no-browser", is_flag=True, cls=Option, heading="Server", help="Only print the address.")
def view_command(where: Path | None, port: int, no_browser: bool) -> None:
    """Open a page that shows the traces of a folder (default: that of your own runs) or one trace: the tree, growing while the run goes on,
    with values, prompts, replies and cost.

    It is served on this machine for this machine only, and reads nothing but traces; Ctrl-C ends it. `branchwise show TRACE --html FILE`
    writes the page with one run as a file that can be sent.

    Needs the extra `server`: pip install 'branchwise[server]', from a clone pip install -e '.[server]'.
    """
    try:
        from branchwise.server.viewer.local import show
    except ModuleNotFoundError as error:
        raise UsageError(f"the page needs more packages ({error.name} is missing): {install('server')}") from None
    folder = where or home() / "runs"
    if where is not None and not where.exists():
        raise TraceError(f"there is nothing at {where}; name a folder of traces, or a trace")

    def opened(address: str) -> None:
        click.echo(plain(f"showing {folder} at {address} (Ctrl-C ends it)"), err=True)
        if not no_browser and not webbrowser.open(address):
            click.echo("no browser could be started here: open the address yourself", err=True)

    show(folder, port, opened)
