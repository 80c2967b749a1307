"""`branchwise serve`: the OpenAI-compatible server and the page. Reads flags; the server itself is an extra, imported when it is needed."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from branchwise.budget import Budget
from branchwise.cli.faults import EXITS
from branchwise.cli.options import retry_option, retry_policy
from branchwise.cli.page import CommandPage, Limit, Option, Parallel
from branchwise.cli.places import home
from branchwise.cli.settings import LIMITS, model_name
from branchwise.cli.text import plain
from branchwise.errors import UsageError, install
from branchwise.model.prices import Prices
from branchwise.model.registry import parse_spec, price_of
from branchwise.tasks import TASKS, task
from branchwise.tasks.from_file import is_task_file

if TYPE_CHECKING:
    from branchwise.server.config import Config
    from branchwise.server.keys import Keys

__all__ = ["named_models", "option", "serve_command"]

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(dir_okay=False, path_type=Path)
_LIMIT = "A positive number, or none."
_KEY_LIMITS = {"key_max_calls": "calls", "key_max_tokens_total": "tokens", "key_max_cost": "cost"}


def option(heading: str, *names: str, **settings: Any) -> Callable[[F], F]:
    """An option under a heading of the help page."""
    return click.option(*names, cls=Option, heading=heading, **settings)


@click.command(
    "serve",
    cls=CommandPage,
    short_help="An OpenAI-compatible server, and a page to watch runs.",
    epilog=f"""\b
Examples:
  branchwise serve
  branchwise serve --model openai:gpt-4o-mini --max-cost 0.10 --key-max-cost 5
  branchwise serve --model small=local --model big=http://localhost:8000/v1#NAME --port 0
  branchwise serve --host 0.0.0.0 --token-file tokens.txt
  curl http://127.0.0.1:8321/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{{"model": "game24/tot_bfs", "messages": [{{"role": "user", "content": "4 9 10 13"}}]}}'

{EXITS}""",
)
@option("Server", "--host", default="127.0.0.1", metavar="ADDRESS",
        help="Address to listen on; any but a loopback address needs --token-file.  [default: 127.0.0.1]")
@option("Server", "--port", type=click.IntRange(0, 65535), default=8321, metavar="N", help="Port; 0 takes any free one.  [default: 8321]")
@option("Server", "--runs", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
        help="Folder of traces, which the page shows.  [default: $BRANCHWISE_HOME/runs]")
@option("Server", "--token-file", type=_FILE, metavar="FILE",
        help="Who may ask: a line each, NAME TOKEN [max_calls=N] [max_tokens_total=N] [max_cost=USD]; readable by you alone.")
@option("Server", "--allow-host", multiple=True, metavar="NAME", help="A host name that requests may carry, beside the server's own.")
@option("Server", "--allow-origin", multiple=True, metavar="ORIGIN", help="A page that may call, such as http://localhost:3000.")
@option("Model", "--model", "models", multiple=True, metavar="[NAME=]SPEC",
        help="As for `branchwise solve`; NAME is what requests write behind @. May be given more than once; the first is the default one.  "
        "[default: local]")
@option("Model", "--evaluator-model", metavar="SPEC", help="Another model that judges.")
@option("Model", "--answer-model", metavar="SPEC", help="Another model that writes answers.")
@option("Model", "--key-file", type=_FILE, metavar="FILE", help="A file that holds the key of the first model's server, readable by you alone.")
@option("Model", "--prices", type=_FILE, metavar="FILE", help="Dollars per million tokens, in front of the built-in table.")
@option("Model", "--parallel", type=Parallel(), default=8, metavar="N", help="Model calls at once, of all searches together.  [default: 8]")
@retry_option
@option("Problem", "--task", "tasks", multiple=True, metavar="NAME|FILE.yaml",
        help="Tasks that can be asked for; the first is that of a model name without one.  [default: all, open first]")
@option("Limits", "--searches", type=click.IntRange(1, 10_000), default=4, metavar="N", help="Searches at once.  [default: 4]")
@option("Limits", "--queue", type=click.IntRange(0, 100_000), default=64, metavar="N",
        help="Searches of one key that wait for a place; beyond it, 429.  [default: 64]")
@option("Limits", "--max-n", type=click.IntRange(1, 128), default=8, metavar="N", help="Choices of one request.  [default: 8]")
@option("Limits", "--max-body", type=click.IntRange(1024, 1 << 30), default=1 << 18, metavar="BYTES",
        help="Size of a request.  [default: 262144]")
@option("Limits", "--grace", type=click.FloatRange(0, 3600), default=20.0, metavar="S",
        help="Seconds that requests have to end when the server stops.  [default: 20]")
@option("Budget", "--max-calls", type=Limit(), default=400, metavar="N", help=f"Model calls of one request. {_LIMIT}  [default: 400]")
@option("Budget", "--max-tokens-total", type=Limit(), metavar="N", help=f"Tokens of one request. {_LIMIT}  [default: none]")
@option("Budget", "--max-cost", type=Limit(whole=False), metavar="USD", help=f"Dollars of one request. {_LIMIT}  [default: none]")
@option("Budget", "--max-seconds", type=Limit(whole=False), default=600.0, metavar="S",
        help=f"Seconds of one request's search. {_LIMIT}  [default: 600]")
@option("Budget", "--max-nodes", type=Limit(), metavar="N", help=f"Thoughts in one tree. {_LIMIT}  [default: none]")
@option("Budget", "--key-max-calls", type=Limit(), metavar="N", help=f"Model calls of one key while the server runs. {_LIMIT}  [default: none]")
@option("Budget", "--key-max-tokens-total", type=Limit(), metavar="N", help=f"Tokens likewise. {_LIMIT}  [default: none]")
@option("Budget", "--key-max-cost", type=Limit(whole=False), metavar="USD", help=f"Dollars likewise. {_LIMIT}  [default: none]")
@option("Output", "--quiet", is_flag=True, help="Say nothing but what went wrong.")
def serve_command(**flags: Any) -> None:
    """Serve searches to any OpenAI-compatible client, and a page that shows runs as they grow.

    A method is the name of a model: `tot_bfs`, `best_first`, `mctsr_8`, with a task in front (`game24/tot_bfs`) and an upstream model behind
    (`tot_bfs@small`) where wanted. Settings and budgets go into the field `branchwise` of a request, under the names of the flags of
    `branchwise solve`; the limits given here are each request's default and ceiling. Every run is recorded in a trace, as by `branchwise
    solve`, which `--resume` goes on with.

    Needs the extra `server`: pip install 'branchwise[server]', from a clone pip install -e '.[server]'.

    Without --token-file everybody on this machine may ask, and nobody else; the first Ctrl-C ends all searches and saves them.
    """
    try:
        from branchwise.server.keys import Keys
        from branchwise.server.start import Start, serve
    except ModuleNotFoundError as error:
        raise UsageError(f"the server needs more packages ({error.name} is missing): {install('server')}") from None
    names = named_models(flags["models"] or ("local",))
    limits = {limit: flags[flag] for flag, limit in _KEY_LIMITS.items() if flags[flag] not in (None, "none")}
    keys = Keys(limits=limits) if flags["token_file"] is None else Keys.load(flags["token_file"], limits)
    config = _config(flags, keys, names)
    quiet = flags["quiet"]

    def say(text: str) -> None:
        if not quiet:
            click.echo(plain(text), err=True)

    serve(Start(
        config=config, host=flags["host"], port=flags["port"], models=names, keys=keys, folder=flags["runs"] or home() / "runs",
        key_file=flags["key_file"], prices=flags["prices"], say=say, quiet=quiet,
    ))  # fmt: skip


def named_models(given: tuple[str, ...]) -> dict[str, str]:
    """Specs by name. Raises `UsageError`."""
    found: dict[str, str] = {}
    for text in given:
        match = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)=", text)
        spec = text[match.end() :] if match else text
        parsed = parse_spec(spec)
        if parsed.kind in ("tape", "reward"):
            raise UsageError(f"{parsed.kind}: cannot serve: it answers no new questions")
        name = match[1] if match else _short(spec)
        if name in found:
            raise UsageError(f"two models go by the name {name!r}; write NAME=SPEC")
        found[name] = spec
    return found


def _short(spec: str) -> str:
    """`local:NAME`, `openai:NAME`, the NAME at an address, or the name of a file."""
    name = model_name(spec).rpartition("#")[2]
    kind, colon, target = name.partition(":")
    return re.sub(r"[^A-Za-z0-9._:-]+", "-", f"{kind}{colon}{target.rpartition('/')[2]}" if colon else name.rpartition("/")[2])


def _config(flags: Mapping[str, Any], keys: Keys, models: Mapping[str, str]) -> Config:
    from branchwise.server.config import Config
    from branchwise.server.guard import is_loopback

    budget = Budget(**{limit: flags[flag] for flag, limit in LIMITS.items() if flags[flag] not in (None, "none")})
    roles = {role: flags[name] for role, name in (("evaluate", "evaluator_model"), ("answer", "answer_model")) if flags[name] is not None}
    for spec in roles.values():
        if parse_spec(spec).kind in ("tape", "reward"):
            raise UsageError(f"{spec.partition(':')[0]}: cannot serve here: name a model that writes text")
    capped = budget.cost is not None or any("cost" in account.limits for account in keys.accounts)
    table = Prices.builtin() if flags["prices"] is None else Prices.load(flags["prices"])
    for spec in (*models.values(), *roles.values()):
        if capped and price_of(spec, table) is None:
            raise UsageError(f"the price of {model_name(spec)} is unknown, so a limit in dollars cannot be held; give one with --prices")
    host = flags["host"]
    if not keys.needed and not is_loopback(host):
        raise UsageError(f"--host {host} lets others than this machine in, so it needs --token-file FILE; the default, 127.0.0.1, does not")
    files = {text: task(text) for text in flags["tasks"]}
    tasks = {found.name.lower(): found for found in files.values()} or {"open": TASKS["open"], **TASKS}
    return Config(
        tasks=tasks, task=next(iter(tasks)),
        files={files[text].name.lower(): str(Path(text).resolve()) for text in flags["tasks"] if is_task_file(text)},
        role_models=roles, budget=budget, searches=flags["searches"], queue=flags["queue"], parallel=flags["parallel"],
        choices=flags["max_n"], body=flags["max_body"], grace=flags["grace"], retry=retry_policy(flags),
        hosts=_hosts(host, flags["allow_host"]), origins=frozenset(origin.rstrip("/") for origin in flags["allow_origin"]),
    )  # fmt: skip


def _hosts(host: str, more: tuple[str, ...]) -> frozenset[str]:
    """The names that requests may carry: this machine's for a loopback address, else the address itself and what is named."""
    from branchwise.server.guard import is_loopback

    own = {"localhost", "127.0.0.1", "::1", host} if is_loopback(host) else {host, socket.gethostname().lower(), "localhost", "127.0.0.1"}
    return frozenset({*own, *(name.lower() for name in more)})
