"""`branchwise published`: an imported log scored by our checkers, from the thoughts alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from branchwise.bench.crosswords import published_solutions
from branchwise.bench.funnel import Funnel, Game24Truth, funnel
from branchwise.bench.published import Beam24, Crossed, Written, beam24, crossed, written
from branchwise.bench.traces import read_folder
from branchwise.cli.faults import EXITS
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.text import document, plural
from branchwise.errors import UsageError

__all__ = ["published_command"]


@click.command(
    "published",
    cls=CommandPage,
    short_help="Score an imported log by our checkers.",
    epilog=f"""\b
Examples:
  branchwise published imported/game24
  branchwise published imported/crosswords --data mini0505.json

{EXITS}""",
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--data", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), cls=Option, heading="Answer key",
    help="The published file of crosswords, whose letters are the answer key.  [needed for crosswords only]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document in place of the tables.")
def published_command(folder: Path, data: Path | None, as_json: bool) -> None:
    """Score FOLDER, which `branchwise import` wrote. Scores that are stored in the log are not used: every final state is checked anew.

    Game of 24: the first, any (an oracle) and the mean of the final states, and the coverage funnel. Crosswords: letters, words and games
    of the deepest state and of the best visited one (an oracle). Writing: passages that end as they must.
    """
    runs = list(read_folder(folder))
    task = str(runs[0].about.get("settings", {}).get("task", ""))
    found: list[tuple[str, dict[str, Any], list[str]]] = []
    if task == "game24":
        beam, cover = beam24(runs), funnel(runs, Game24Truth())
        found = [("game24", asdict(beam), _beam(beam)), ("funnel", asdict(cover), _funnel(cover))]
    elif task == "crosswords":
        if data is None:
            raise UsageError("crosswords are scored against their solutions: give the published file with --data mini0505.json")
        scores = crossed(runs, published_solutions(data))
        found = [("crosswords", asdict(scores), _crossed(scores))]
    elif task == "writing":
        passages = written(runs)
        found = [("writing", asdict(passages), _written(passages))]
    else:
        raise UsageError(f"{folder} holds runs of task {task or 'unknown'}; known here: game24, crosswords, writing")
    if as_json:
        click.echo(document({name: data for name, data, _ in found}))
        return
    click.echo("\n\n".join("\n".join(lines) for _, _, lines in found))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _beam(found: Beam24) -> list[str]:
    states = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(found.states.items()))
    return [
        f"Game of 24, {plural(found.items, 'item')}, final states checked by the rules",
        f"  first final state right          {_percent(found.first)}",
        f"  any final state right (oracle)   {_percent(found.best)}",
        f"  mean over the final states       {_percent(found.mean)}",
        f"  {sum(found.states.values())} final states: {states}",
    ]


def _funnel(found: Funnel) -> list[str]:
    lines = [f"Coverage funnel (oracle), share of {plural(found.items, 'item')} in which a right answer was"]
    lines += [f"  {name:<10} {_percent(share)}" for name, share in found.shares().items()]
    lines.append("A state from which 24 can still be made was")
    n = found.items or 1
    lines += [f"  step {level.depth}: generated {_percent(level.generated / n)}, kept {_percent(level.kept / n)}" for level in found.levels]
    lines.append("Where the others were lost")
    return lines + [f"  {count:>3}  {where}" for where, count in found.lost.items()]


def _crossed(found: Crossed) -> list[str]:
    lines = [f"Crosswords, {plural(found.items, 'item')}                 letters    words    games"]
    for name, one in (("deepest state (the output)", found.output), ("best visited, by words (oracle)", found.best)):
        lines.append(f"  {name:<32} {_percent(one.letters):>8} {_percent(one.words):>8} {_percent(one.game):>8}")
    return lines


def _written(found: Written) -> list[str]:
    return [
        f"Creative Writing, {plural(found.items, 'item')}, constraint checked by program",
        f"  all four paragraphs end as they must   {_percent(found.met)}",
        f"  four paragraphs                        {_percent(found.four)}",
        f"  mean share of paragraphs that end so   {_percent(found.paragraphs)}",
    ]
