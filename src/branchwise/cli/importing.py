"""`branchwise import`: published Tree-of-Thoughts logs as runs of ours, for `show`, `grade`, the funnel and the viewer."""

from __future__ import annotations

from pathlib import Path

import click

from branchwise.bench.imported import import_log
from branchwise.cli.faults import EXITS
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.text import document, line, plural

__all__ = ["import_command"]


@click.command(
    "import",
    cls=CommandPage,
    short_help="Read a published log into traces.",
    epilog=f"""\b
Examples:
  branchwise import gpt4_tot_log_900_1000.json --out imported/game24
  branchwise import infoss_dfs_prune.json --out imported/crosswords --data mini0505.json
  branchwise import cot_log.json --out imported/cot --task game24 --data 24.csv
  branchwise show imported/game24/results.traces/901.jsonl
  branchwise published imported/game24

{EXITS}""",
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(file_okay=False, path_type=Path), cls=Option, heading="Output",
    help="The folder to write: a trace an item, results.jsonl and outputs.jsonl. It must be new or empty.",
)  # fmt: skip
@click.option(
    "--task", metavar="NAME", cls=Option, heading="Log", help="What a list of sampled outputs answers; other logs say it themselves."
)
@click.option(
    "--data", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), cls=Option, heading="Log",
    help="The published list of inputs, for logs that do not hold them (samples, crosswords).  [default: items are shown by number]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document in place of the report.")
def import_command(file: Path, out: Path, task: str | None, data: Path | None, as_json: bool) -> None:
    """Read FILE, a log of the published Tree-of-Thoughts code, into traces: the tree of each item as it was published.

    \b
    Known logs (JSON):
      beam     steps with x, ys, new_ys, values, select_new_ys: Game of 24, Creative Writing
      samples  idx, ys and infos or accs, without steps: io and cot
      dfs      lists of visited states with actions and counts: crosswords

    Nothing is merged or judged anew; values are put on [0, 1]. Stored scores are not read: `published` and `grade` check the thoughts.
    Every trace says that it was imported, and carries the SHA-256 of FILE.
    """
    done = import_log(file, out, task=task, data=data)
    found = {"task": done.task, "format": done.log.format, "items": len(done.log.items), "thoughts": done.thoughts}
    if as_json:
        click.echo(document(found | {"sha256": done.log.sha256, "folder": str(out)}))
        return
    click.echo(f"{plural(len(done.log.items), 'item')} of task {done.task} ({done.log.format} log), {plural(done.thoughts, 'thought')}")
    click.echo(line(f"Folder: {out}"))
