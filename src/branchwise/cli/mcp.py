"""`branchwise mcp`: the tools over stdio. Reads flags; the MCP SDK is an extra, imported when it is needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from branchwise.budget import Budget
from branchwise.cli.faults import EXITS
from branchwise.cli.options import retry_option, retry_policy
from branchwise.cli.page import CommandPage, Limit, Parallel
from branchwise.cli.places import home
from branchwise.cli.serve import named_models, option
from branchwise.cli.settings import LIMITS
from branchwise.cli.text import plain
from branchwise.errors import UsageError, install
from branchwise.tasks import TASKS, task
from branchwise.tasks.from_file import is_task_file

if TYPE_CHECKING:
    from branchwise.server.config import Config
    from branchwise.server.search import Service

__all__ = ["mcp_command"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_LIMIT = "A positive number, or none."


@click.command(
    "mcp",
    cls=CommandPage,
    short_help="Tools for MCP clients, over stdio.",
    epilog=f"""\b
Examples:
  branchwise mcp --model openai:gpt-4o-mini --max-cost 0.10
  branchwise mcp --model client

\b
In the configuration of a client:
  {{"mcpServers": {{"branchwise": {{"command": "branchwise", "args": ["mcp", "--model", "local"]}}}}}}

{EXITS}""",
)
@option("Model", "--model", default="local", metavar="SPEC",
        help="As for `branchwise solve`, or client: the client's own model, where it samples for servers.  [default: local]")
@option("Model", "--key-file", type=_FILE, metavar="FILE", help="A file that holds the model server's key, readable by you alone.")
@option("Model", "--prices", type=_FILE, metavar="FILE", help="Dollars per million tokens, in front of the built-in table.")
@option("Model", "--parallel", type=Parallel(), metavar="N",
        help="Model calls at once, of all searches together.  [default: 8; 64 for client, so that its rounds are few]")
@retry_option
@option("Model", "--rounds", type=click.IntRange(1, 1000), default=10, metavar="N",
        help="Rounds of samples that the client takes in one call (protocol 2026-07-28 and later).  [default: 10]")
@option("Problem", "--task", "tasks", multiple=True, metavar="NAME|FILE.yaml",
        help="Tasks that can be asked for; the first is the default one.  [default: all, open first]")
@option("Output", "--runs", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
        help="Folder of traces.  [default: $BRANCHWISE_HOME/runs]")
@option("Limits", "--searches", type=click.IntRange(1, 1000), default=4, metavar="N", help="Searches at once.  [default: 4]")
@option("Budget", "--max-calls", type=Limit(), default=200, metavar="N", help=f"Model calls of one search. {_LIMIT}  [default: 200]")
@option("Budget", "--max-tokens-total", type=Limit(), metavar="N", help=f"Tokens of one search. {_LIMIT}  [default: none]")
@option("Budget", "--max-cost", type=Limit(whole=False), metavar="USD", help=f"Dollars of one search. {_LIMIT}  [default: none]")
@option("Budget", "--max-seconds", type=Limit(whole=False), default=600.0, metavar="S", help=f"Seconds of one search. {_LIMIT}  [default: 600]")
@option("Budget", "--max-nodes", type=Limit(), metavar="N", help=f"Thoughts in one tree. {_LIMIT}  [default: none]")
def mcp_command(**flags: Any) -> None:
    """Offer searches to an MCP client as the tools `deliberate` and `compare_options`, over standard input and output.

    The client starts this program. Limits given here are the default and the ceiling of each call; progress is sent while a search runs;
    every run is recorded in a trace. Ends when the client closes its side.

    Needs the extra `mcp`: pip install 'branchwise[mcp]', from a clone pip install -e '.[mcp]'.
    """
    try:
        import mcp.server.mcpserver  # noqa: F401

        import branchwise.server.search  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(f"MCP needs more packages ({error.name} is missing): {install('mcp')}") from None
    asyncio.run(_serve(flags))


async def _serve(flags: dict[str, Any]) -> None:
    from branchwise.server.mcp import Tools

    async with _service(flags) as service:
        tools = Tools(service, flags["rounds"])
        try:
            await tools.server().run_stdio_async()
        finally:
            await tools.close()


@asynccontextmanager
async def _service(flags: dict[str, Any]) -> AsyncIterator[Service]:
    """The service over the model, or over that of the client."""
    from branchwise.server.keys import Keys
    from branchwise.server.mcp import CLIENT
    from branchwise.server.runs import Runs
    from branchwise.server.sampling import ClientModel
    from branchwise.server.search import Service, Upstream
    from branchwise.server.start import Start, running

    config, folder = _config(flags), flags["runs"] or home() / "runs"
    if flags["model"].strip() == "client":
        if config.budget.cost is not None:
            raise UsageError("the price of the client's model is unknown, so --max-cost cannot be held")
        yield Service(config, {"client": Upstream(CLIENT, ClientModel(None, lambda: None))}, Runs(folder))
        return
    start = Start(
        config=config, host="", port=0, models=named_models((flags["model"],)), keys=Keys(), folder=folder, key_file=flags["key_file"],
        prices=flags["prices"], say=lambda text: click.echo(plain(text), err=True),
    )  # fmt: skip
    async with running(start) as service:
        yield service


def _config(flags: dict[str, Any]) -> Config:
    from branchwise.server.config import Config

    parallel = flags["parallel"] or (64 if flags["model"].strip() == "client" else 8)
    files = {text: task(text) for text in flags["tasks"]}
    tasks = {found.name.lower(): found for found in files.values()} or {"open": TASKS["open"], **TASKS}
    return Config(
        tasks=tasks, task=next(iter(tasks)), searches=flags["searches"], parallel=parallel, retry=retry_policy(flags),
        files={files[text].name.lower(): str(Path(text).resolve()) for text in flags["tasks"] if is_task_file(text)},
        budget=Budget(**{limit: flags[flag] for flag, limit in LIMITS.items() if flags[flag] not in (None, "none")}),
    )  # fmt: skip
