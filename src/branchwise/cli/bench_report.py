"""`branchwise bench report` and `bench compare`: what a bench found, on a terminal, as JSON, as a page, and as plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from branchwise.bench.compare import Comparison, compare
from branchwise.bench.report.document import Report, build
from branchwise.bench.report.tables import Table, family_tables, published_table
from branchwise.bench.report.truths import keys_at_hand
from branchwise.bench.rows import MANIFEST, read_manifest
from branchwise.cli.faults import EXITS
from branchwise.cli.page import CommandPage, Option
from branchwise.cli.places import task_data
from branchwise.cli.text import console, document, error_console, plain, plural, safe_text, shorten
from branchwise.data.sets import DATASETS
from branchwise.errors import UsageError

__all__ = ["compare_command", "keys_of", "print_table", "report_command"]

_SHOWN = 20
"""Items of a kind that are listed to people; --json has all."""


@click.command(
    "report",
    cls=CommandPage,
    short_help="What a bench found, with intervals and paired tests.",
    epilog=f"""\b
Examples:
  branchwise bench report runs/a
  branchwise bench report runs/a --html report.html --plots plots
  branchwise bench report imported/game24

\b
The exit code is 1 where costs were to be equal and are not: the comparison failed, and the title says so.

{EXITS}""",
)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), cls=Option, heading="Output",
              help="Write one self-contained page with all tables and plots.")  # fmt: skip
@click.option("--plots", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path), cls=Option, heading="Output",
              help="Write every plot as SVG and PNG.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document in place of the tables.")
@click.option("--no-clock", is_flag=True, cls=Option, heading="Output",
              help="Leave out seconds: then two runs of one grid with the same replies give the same bytes.")  # fmt: skip
@click.option("--baseline", metavar="METHOD", cls=Option, heading="Comparison",
              help="What the others are tested against.  [default: cot, else io, else the first]")  # fmt: skip
@click.option("--data", metavar="PATH", type=click.Path(path_type=Path), cls=Option, heading="Answer key",
              help="The file or folder of the public set, for the funnel.  [default: BRANCHWISE_DATA, else the task's own list]")  # fmt: skip
@click.option("--no-traces", is_flag=True, cls=Option, heading="Answer key", help="Read the rows only: no funnel, no calibration.")
def report_command(
    folder: Path, html: Path | None, plots: Path | None, as_json: bool, no_clock: bool, baseline: str | None, data: Path | None, no_traces: bool,
) -> int:  # fmt: skip
    """Report on DIR, which `branchwise bench run` wrote: accuracy as chosen with 95 % intervals, the oracle apart, paired tests against the
    plain baseline on the same items, cost by role, where in the funnel right answers were lost, and what the evaluator knew.

    DIR may also be what `branchwise import` or `solve --out` wrote. No model is called. What the traces told is kept in DIR/facts.jsonl.
    """
    with _progress() as progress:
        report = build(
            folder, baseline=baseline, data=keys_of(folder, data), traces=not no_traces, clock=not no_clock,
            notice=lambda text: click.echo(plain(f"note: {text}"), err=True), progress=progress,
        )  # fmt: skip
    if html is not None:
        from branchwise.bench.report.html import page

        _write(html, page(report))
        click.echo(plain(f"wrote {html}: one page to open in any browser"), err=True)
    if plots is not None:
        count = _plots(report, plots)
        click.echo(plain(f"wrote {plural(count, 'plot')} to {plots}, each as SVG and PNG"), err=True)
    if as_json:
        click.echo(document(report.to_json()))
    else:
        _print(report, console())
    return 0 if report.fair else 1


class _progress:
    """A bar on standard error while traces are read, on a terminal only."""

    def __init__(self) -> None:
        self._bar = Progress(console=error_console(), transient=True)
        self._task: Any = None

    def __enter__(self) -> Callable[[int, int], None]:
        return self._moved

    def __exit__(self, *exc: object) -> None:
        if self._task is not None:
            self._bar.stop()

    def _moved(self, done: int, of: int) -> None:
        if not self._bar.console.is_terminal:
            return
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("traces", total=of)
        self._bar.update(self._task, completed=done)


def keys_of(folder: Path, given: Path | None) -> dict[str, Path | None]:
    """The files with answer keys by task: those that the run's items came from, where they are at hand."""
    if (folder / MANIFEST).exists():
        return keys_at_hand(read_manifest(folder).get("data", {}), lambda task: _path(task, given))
    return {} if given is None else {task: path for task in DATASETS if (path := _path(task, given)) is not None}


def _path(task: str, given: Path | None) -> Path | None:
    path = task_data(task, given)
    if path is None or path.is_file():
        return path
    entry = DATASETS.get(task)
    return None if entry is None else entry.path_in(path)


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _plots(report: Report, folder: Path) -> int:
    """How many plots were written."""
    from branchwise.bench.report.plots import plots, png, svg

    drawn = plots(report)
    for plot in drawn:
        _write(folder / f"{plot.name}.svg", svg(plot))
        _write(folder / f"{plot.name}.png", png(plot))
    return len(drawn)


def _print(report: Report, out: Console) -> None:
    out.print(safe_text(report.title, "bold" if report.fair else "bold red"))
    for paragraph in report.baseline:
        out.print(safe_text(f"\n{paragraph}"))
    for note in report.notes:
        out.print(safe_text(f"Note: {note}"))
    for family in report.families():
        out.print(safe_text(f"\n{family.title}", "bold underline"))
        for table in family_tables(report, family):
            print_table(table, out)
        for name, cell in family.cells.items():
            if lost := report.lost(cell):
                out.print(safe_text(f"\n{name}: {lost}"))
    published = published_table(report)
    if published.rows:
        print_table(published, out)
    _listed(out, "Golds that were overridden, with the reasons", [str(one) for one in report.overridden])
    _listed(out, "Items whose gold cannot be read", [f"{task}: {item}" for task, item in report.invalid])
    _listed(out, "Failed units", [f"{task}, {item}, {method}: {error}" for task, item, method, error in report.failed])


def print_table(table: Table, out: Console) -> None:
    """A table for people: aligned by blanks, so that it can be copied."""
    out.print(safe_text(f"\n{table.title}", "bold"))
    cells = [[shorten(cell, 110) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(table.columns))]
    for number, row in enumerate(cells):
        line = "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True)))
        out.print(safe_text(f"  {line.rstrip()}", "dim" if number == 0 else ""))
    if table.note:
        out.print(safe_text(f"  {table.note}", "dim"))


def _listed(out: Console, title: str, lines: Sequence[str]) -> None:
    if lines:
        out.print(safe_text(f"\n{title}", "bold"))
        for line in lines[:_SHOWN]:
            out.print(safe_text(f"  {shorten(line, 160)}"))
        if len(lines) > _SHOWN:
            out.print(safe_text(f"  ... and {len(lines) - _SHOWN:,} more (--json has all)"))


@click.command(
    "compare",
    cls=CommandPage,
    short_help="Two runs, item by item.",
    epilog=f"""\b
Examples:
  branchwise bench compare runs/before runs/after
  branchwise bench compare runs/a runs/b --method tot_bfs --json

\b
The exit code is 1 where the two were measured on different data or golds: then the numbers cannot be compared, and the title says so.

{EXITS}""",
)
@click.argument("first", metavar="DIR_A", type=click.Path(file_okay=False, path_type=Path))
@click.argument("second", metavar="DIR_B", type=click.Path(file_okay=False, path_type=Path))
@click.option("--method", metavar="METHOD", cls=Option, heading="Comparison", help="Compare this method only.  [default: all that both have]")
@click.option("--json", "as_json", is_flag=True, cls=Option, heading="Output", help="One JSON document, with every item that changed.")
def compare_command(first: Path, second: Path, method: str | None, as_json: bool) -> int:
    """Compare two bench runs on the items that both have: what changed, with a paired test, and every item whose verdict changed.

    Cells are matched by task, method and model; a model that has another name in the second run is matched where there is only one.
    """
    found = compare(first, second, method, lambda text: click.echo(plain(f"note: {text}"), err=True))
    if as_json:
        click.echo(document(found.to_json()))
    else:
        _print_comparison(found, console())
    return 0 if found.comparable else 1


def _print_comparison(found: Comparison, out: Console) -> None:
    out.print(safe_text(found.title, "bold" if found.comparable else "bold red"))
    for note in found.notes:
        out.print(safe_text(f"Note: {note}"))
    print_table(found.table(), out)
    for pair in found.pairs:
        for word, lines in (("became right", pair.gained), ("became wrong", pair.lost), ("changed score", pair.moved)):
            _listed(out, f"{pair.name}: {len(lines)} {word}", [f"{c.item}: {c.before} → {c.after}" for c in lines])
