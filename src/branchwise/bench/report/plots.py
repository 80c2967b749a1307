"""The plots of a report, as SVG and PNG: the same bytes each time. Drawn by matplotlib; knows no markup of the page and no run folder."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from branchwise.bench.report.curves import Curve
from branchwise.bench.report.document import Report
from branchwise.bench.report.trees import Calibration, Failures
from branchwise.bench.report.words import visible
from branchwise.errors import UsageError, install

__all__ = ["Plot", "inline", "plots", "png", "svg"]

_INK = "#111111"
"""Of text and axes; the page replaces it by its own colour of text."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
"""Readable on white and on black, and told apart by people who see few colours (Okabe and Ito 2008, black and yellow replaced)."""
_MARKERS = "osD^vP*X"
_LONGEST = 44
"""Characters of a name in a legend."""
_RC = {
    "svg.fonttype": "none", "svg.hashsalt": "branchwise", "text.parse_math": False, "axes.edgecolor": _INK, "axes.labelcolor": _INK,
    "text.color": _INK, "xtick.color": _INK, "ytick.color": _INK, "axes.grid": True, "grid.color": "#999999", "grid.alpha": 0.3,
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 9, "legend.framealpha": 0.0, "axes.titlesize": 10,
    "figure.figsize": (7.2, 4.2), "figure.constrained_layout.use": True,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plot:
    """One plot. `name` is a file name without its ending; `draw` puts it on axes."""

    name: str
    title: str
    caption: str
    draw: Callable[[Any], None]


@contextmanager
def _style() -> Iterator[None]:
    """Our settings, whatever the user's own matplotlib is set to; theirs come back afterwards."""
    try:
        import matplotlib
    except ImportError:
        raise UsageError(f"plots need matplotlib: {install('bench')}") from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in _RC.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]
        yield


def _rendered(plot: Plot, form: str, **more: Any) -> bytes:
    with _style(), warnings.catch_warnings():
        from matplotlib.figure import Figure

        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # a browser has other fonts

        figure = Figure()
        plot.draw(figure.subplots())
        out = io.BytesIO()
        figure.savefig(out, format=form, **more)
        return out.getvalue()


def svg(plot: Plot) -> bytes:
    """A file of its own, without a date."""
    return _rendered(plot, "svg", metadata={"Date": None, "Creator": None, "Title": visible(plot.title)}, facecolor="white")


def png(plot: Plot) -> bytes:
    """At 150 dots an inch."""
    return _rendered(plot, "png", dpi=150, metadata={"Software": None, "Title": visible(plot.title)}, facecolor="white")


def inline(plot: Plot) -> str:
    """For a page: no style attributes (a strict policy forbids them), ids of its own, the page's colour for ink, transparent."""
    text = _rendered(plot, "svg", metadata={"Date": None, "Creator": None}, transparent=True).decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'style="([^"]*)"', _attributes, text)
    text = re.sub(r'id="([^"]*)"', rf'id="{plot.name}-\1"', text)
    text = re.sub(r'href="#([^"]*)"', rf'href="#{plot.name}-\1"', text)
    text = re.sub(r"url\(#([^)]*)\)", rf"url(#{plot.name}-\1)", text)
    text = re.sub(r"\n\s*\n+", "\n", text).replace(_INK, "currentColor")
    width, height = re.findall(r'(?:width|height)="([\d.]+)pt"', text)[:2]
    return re.sub(r"<svg[^>]*>", f'<svg role="img" aria-labelledby="{plot.name}-title" viewBox="0 0 {width} {height}" width="100%">', text, count=1)


def _attributes(match: re.Match[str]) -> str:
    """Declarations of a style as attributes."""
    found = []
    for part in match[1].split(";"):
        name, _, value = part.partition(":")
        name, value = name.strip(), value.strip().replace("'", "")
        if name == "font":
            size, _, family = value.partition("px ")
            found += [f'font-size="{size}px"', f'font-family="{family}"']
        elif name:
            found.append(f'{name}="{value}"')
    return " ".join(found)


def plots(report: Report) -> list[Plot]:
    """Every plot that a report has something for."""
    found: list[Plot] = []
    costs, visits = report.cost(), report.visited()
    for number, family in enumerate(report.families(), 1):
        where = family.title
        if any(point.x for curve in costs[where] for point in curve.points):
            found.append(_cost(number, where, costs[where]))
        if visits[where]:
            found.append(_visited(number, where, visits[where]))
        trees = [(name, report.trees[cell.key]) for name, cell in family.cells.items() if cell.key in report.trees]
        funnels = [(method, tree.funnel.shares()) for method, tree in trees if tree.funnel is not None]
        failures = [(method, tree.failures) for method, tree in trees if tree.failures is not None]
        calibrations = [(method, tree.calibration) for method, tree in trees if tree.calibration is not None]
        if funnels:
            found.append(_bars(f"funnel-{number}", f"Coverage funnel (oracle): {where}", _FUNNEL, "share of runs", funnels))
        if failures:
            found.append(_failed(number, where, failures))
        if calibrations:
            found.append(_calibrated(number, where, calibrations))
    return found


_FUNNEL = (
    "Share of runs in which a right answer was generated, kept after pruning, among the final states, and chosen. Found with the answer key: "
    "only what was chosen is an answer of the method."
)


def _label(name: str) -> str:
    """A name in a legend: short, and nothing hidden in it. A name that begins with an underscore would be left out."""
    text = " ".join(visible(name).split())
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f" {text}" if text.startswith("_") else text


def _look(place: int) -> dict[str, Any]:
    return {"color": _COLOURS[place % len(_COLOURS)], "marker": _MARKERS[place % len(_MARKERS)]}


def _cost(number: int, where: str, curves: Sequence[Curve]) -> Plot:
    def draw(axes: Any) -> None:
        for place, curve in enumerate(curves):
            for point in curve.points:
                assert point.low is not None
                assert point.high is not None
                error = [[max(0.0, point.y - point.low)], [max(0.0, point.high - point.y)]]
                axes.errorbar([point.x], [point.y], yerr=error, linestyle="none", capsize=3, label=_label(curve.name), **_look(place))
        _axes(axes, "tokens a unit (prompt and reply)", "as chosen")
        spans = [point.x for curve in curves for point in curve.points if point.x > 0]
        if spans and max(spans) > 8 * min(spans):
            _log(axes)

    caption = "Each method at what it spent a unit on the average, with the 95 % interval of its score as chosen."
    return Plot(f"cost-{number}", f"Cost and accuracy: {where}", caption, draw)


def _visited(number: int, where: str, curves: Sequence[Curve]) -> Plot:
    def draw(axes: Any) -> None:
        things = list(dict.fromkeys(curve.of for curve in curves))
        for curve in curves:
            place = things.index(curve.of)
            x, y = [point.x for point in curve.points], [point.y for point in curve.points]
            many = len(x) > 20
            style = {"linestyle": "--", "markerfacecolor": "none"} if curve.oracle else {"linestyle": "-"}
            axes.plot(x, y, label=_label(curve.name), **style, **(_look(place) | ({"marker": ""} if many else {})))
            for point in () if curve.oracle else curve.points:
                axes.annotate(_label(point.label), (point.x, point.y), xytext=(5, -10), textcoords="offset points", fontsize=7)
        if any(point.x > 20 for curve in curves for point in curve.points):
            _log(axes)
        _axes(axes, "thoughts visited an item", "success")

    caption = (
        "After Yao et al. 2023, Fig. 3a. A sample of io or cot is one thought. Dashed: chosen with the answer key (oracle), which no method can "
        "do. Solid: as chosen."
    )
    return Plot(f"visited-{number}", f"Thoughts visited and success: {where}", caption, draw)


def _failed(number: int, where: str, found: Sequence[tuple[str, Failures]]) -> Plot:
    steps = max(len(one.steps) for _, one in found)
    names = ["right", *(f"step {step}" for step in range(1, steps + 1))]
    if any(one.no_steps for _, one in found):
        names.append("no steps")
    shares = []
    for method, one in found:
        counts = [one.right, *one.steps, *[0] * (steps - len(one.steps)), one.no_steps]
        shares.append((method, {name: count / one.count for name, count in zip(names, counts, strict=False)}))
    caption = (
        "After Yao et al. 2023, Fig. 3b. For a chain: the first step that is invalid or after which the goal cannot be reached. For a tree: the "
        "first step after which that holds of all thoughts kept. Judged by exhaustive search (oracle)."
    )
    return _bars(f"failed-{number}", f"Where runs fail: {where}", caption, "share of runs", shares)


def _bars(name: str, title: str, caption: str, label: str, rows: Sequence[tuple[str, dict[str, float]]]) -> Plot:
    def draw(axes: Any) -> None:
        groups = list(rows[0][1])
        width = 0.8 / len(rows)
        for place, (method, shares) in enumerate(rows):
            at = [index + (place - (len(rows) - 1) / 2) * width for index in range(len(groups))]
            colour, hatch = _COLOURS[place % len(_COLOURS)], "" if place < len(_COLOURS) else "//"
            axes.bar(at, [shares.get(group, 0.0) for group in groups], width * 0.92, label=_label(method), color=colour, hatch=hatch)
        axes.set_xticks(range(len(groups)), groups)
        axes.grid(visible=False, axis="x")
        _axes(axes, "", label)

    return Plot(name, title, caption, draw)


def _calibrated(number: int, where: str, found: Sequence[tuple[str, Calibration]]) -> Plot:
    def draw(axes: Any) -> None:
        axes.plot([0, 1], [0, 1], color="#999999", linestyle=":", label="value = truth")
        for place, (method, one) in enumerate(found):
            axes.plot([b.value for b in one.bins], [b.hopeful for b in one.bins], label=f"{_label(method)} (n = {one.states:,})", **_look(place))
        axes.set_xlim(-0.03, 1.03)
        _axes(axes, "value given by the evaluator", "share of states that were good")

    caption = (
        "Judged states by their value: how many of them were good (by the oracle). A useful evaluator rises; a calibrated one follows the "
        "dotted line."
    )
    return Plot(f"calibration-{number}", f"Evaluator against truth: {where}", caption, draw)


def _axes(axes: Any, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(-0.03, 1.03)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)


def _log(axes: Any) -> None:
    """A logarithmic axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
