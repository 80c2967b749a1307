"""The report as one page: a file that needs no other, runs no script, and prints. Every text of a model, task or user is escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib import resources

from branchwise.bench.report.document import Report
from branchwise.bench.report.plots import Plot, inline, plots
from branchwise.bench.report.tables import Table, family_tables, published_table
from branchwise.bench.report.words import visible

__all__ = ["page"]

_MOST = 200
"""Failed units that are listed; the JSON has all."""


def page(report: Report) -> bytes:
    """The page in UTF-8: the same bytes for the same report."""
    css = (resources.files("branchwise.bench.report") / "page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{_text(report.title)}</title>\n<style>{css}</style>\n</head>\n<body>\n"
    )
    return (head + "\n".join(_body(report)) + "\n</body>\n</html>\n").encode("utf-8")


def _text(value: object) -> str:
    """Escaped, with what cannot be seen written out."""
    return escape(visible(str(value)))


def _body(report: Report) -> list[str]:
    kind = "" if report.fair else ' class="failed"'
    parts = [f"<h1{kind}>{_text(report.title)}</h1>"]
    parts += [f"<p>{_text(paragraph)}</p>" for paragraph in report.baseline]
    parts += _list("To mind", report.notes)
    drawn = plots(report)
    for number, family in enumerate(report.families(), 1):
        parts.append(f"<h2>{_text(family.title)}</h2>")
        own = {plot.name.rsplit("-", 1)[0]: plot for plot in drawn if plot.name.endswith(f"-{number}")}
        for table in family_tables(report, family):
            parts.append(_table(table))
            parts += [_figure(own.pop(kind)) for kind in _AFTER.get(table.title.split(":")[0], ()) if kind in own]
        parts += [_figure(plot) for plot in own.values()]
        parts += _list("Where it was lost", [f"{name}: {words}" for name, cell in family.cells.items() if (words := report.lost(cell))])
    published = published_table(report)
    if published.rows:
        parts += ["<h2>Published figures</h2>", _table(published, words=True)]
    return parts + _ends(report)


_AFTER = {
    "Spent, a unit on the average": ("cost", "visited"),
    "Coverage funnel": ("funnel",),
    "The step at which it failed": ("failed",),
    "What the evaluator knew": ("calibration",),
}
"""Plots behind the tables that have their numbers."""


def _list(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<h3>{_text(title)}</h3>", "<ul>", *(f"<li>{_text(line)}</li>" for line in lines), "</ul>"] if lines else []


def _table(table: Table, words: bool = False) -> str:
    kinds = [' class="oracle"' if column.startswith("oracle") else "" for column in table.columns]

    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}{kind}>{_text(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True)) + "</tr>"

    body = "\n".join(row(cells, "td") for cells in table.rows)
    note = f'<p class="note">{_text(table.note)}</p>' if table.note else ""
    kind = ' class="words"' if words else ""
    return (
        f'<h3>{_text(table.title)}</h3>\n<div class="wide"><table{kind}>\n<thead>{row(table.columns, "th")}</thead>\n<tbody>\n{body}\n</tbody>\n'
        f"</table></div>\n{note}"
    )


def _figure(plot: Plot) -> str:
    return f'<figure>\n{inline(plot)}\n<figcaption><b id="{plot.name}-title">{_text(plot.title)}.</b> {_text(plot.caption)}</figcaption>\n</figure>'


def _ends(report: Report) -> list[str]:
    parts: list[str] = []
    if report.overridden:
        parts.append("<h2>Golds that were overridden</h2>")
        parts += _list("Item, gold and reason", [str(one) for one in report.overridden[:_MOST]])
        if len(report.overridden) > _MOST:
            parts.append(f'<p class="note">and {len(report.overridden) - _MOST:,} more</p>')
    if report.invalid or report.failed:
        parts.append("<h2>Items left out, and failures</h2>")
        parts += _list("Items whose gold cannot be read", [f"{task}: {item}" for task, item in report.invalid[:_MOST]])
        parts += _list("Failed units", [f"{task}, {item}, {method}: {error}" for task, item, method, error in report.failed[:_MOST]])
        if len(report.failed) > _MOST:
            parts.append(f'<p class="note">and {len(report.failed) - _MOST:,} more</p>')
    if report.about:
        parts += ["<h2>The run</h2>", f"<pre>{_text(json.dumps(report.about, indent=1, ensure_ascii=False, sort_keys=True))}</pre>"]
    return parts
