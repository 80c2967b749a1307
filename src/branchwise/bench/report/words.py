"""Sentences of the report: its title, what the baseline does, and what to mistrust. Knows no markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

from branchwise.bench.report.cells import Cell, Family, families
from branchwise.bench.report.pairs import Pair
from branchwise.bench.report.spending import Spending

__all__ = ["baseline_words", "p_value", "percent", "title", "trouble", "visible", "vote_words"]


_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What would reorder or hide text, or is no text."""


def visible(text: str) -> str:
    """`text` with what cannot be seen written out: `\\u{202e}`."""
    return _HIDDEN.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text.replace("\r\n", "\n"))


def percent(share: float) -> str:
    """`40.0 %`."""
    return f"{100 * share:.1f} %"


def p_value(p: float) -> str:
    """Three digits, or `< 0.001`."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def title(cells: Sequence[Cell], spent: Sequence[Spending]) -> str:
    """Tasks and models; where budgets differ, that comes first: a promise that was not kept fails the comparison."""
    tasks, models = (sorted({getattr(cell, what) for cell in cells}) for what in ("task", "model"))
    about = f"Bench: {', '.join(tasks)} with {', '.join(models)}"
    broken = [one for one in spent if one.broken]
    if broken:
        return f"COMPARISON FAILED: budgets were to be equal, and {'; '.join(map(_spread, broken))}. {about}"
    unequal = [one for one in spent if not one.equal]
    if unequal:
        return f"{about} (UNEQUAL COSTS: {'; '.join(map(_spread, unequal))})"
    by = sorted({one.by for one in spent if len(one.spent) > 1})
    return f"{about} (equal {', '.join(by)}, within {100 * max((one.tolerance for one in spent), default=0):.0f} %)" if by else about


def _spread(one: Spending) -> str:
    spread = one.spread
    if spread is None:
        return f"the {one.by} of {one.task} are not all known"
    if spread == float("inf"):
        return f"one method of {one.task} spent no {one.by}"
    times = f"{1 + spread:.1f} times" if spread >= 1 else f"{100 * spread:.0f} % more than"
    return f"the dearest method of {one.task} spent {times} the {one.by} of the cheapest"


def baseline_words(cells: Sequence[Cell], pairs: Sequence[Pair]) -> list[str]:
    """A paragraph a task and model: what the baseline reaches, and which methods are better, worse, or not told apart from it."""
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault((pair.task, pair.model), []).append(pair)
    return [_paragraph(family, groups[family.task, family.model]) for family in families(cells) if (family.task, family.model) in groups]


def _paragraph(family: Family, pairs: Sequence[Pair]) -> str:
    name, plain = pairs[0].baseline, pairs[0].plain
    base = family.cells[name]
    what = "score" if base.graded else "accuracy"
    called = "plain baseline" if plain else f"baseline {name}"
    said = [
        f"{family.title}: the {'plain ' if plain else ''}baseline {name} has {what} {percent(base.score)} "
        f"[{percent(base.interval.low)}, {percent(base.interval.high)}] on {base.items} items."
    ]
    better, worse = [p for p in pairs if p.found and p.difference > 0], [p for p in pairs if p.found and p.difference < 0]
    same = [p for p in pairs if not p.found]
    if better:
        said.append(f"Better beyond chance: {'; '.join(map(_pair, better))}.")
    if worse:
        said.append(f"The {called} wins, beyond chance, over {'; '.join(map(_pair, worse))}.")
    if same:
        said.append(f"No difference is shown for {'; '.join(map(_pair, same))}.")
    if not better:
        ahead = [p.method for p in pairs if p.difference > 0]
        said.append(f"No method was shown to be better than the {called}" + ("." if ahead else ", and none was even ahead of it."))
    return " ".join(said)


def _pair(pair: Pair) -> str:
    return f"{pair.method} ({100 * pair.difference:+.1f} points, p {_sign(pair.p_holm)})"


def _sign(p: float) -> str:
    return f"= {p_value(p)}" if p >= 0.001 else p_value(p)


def vote_words(cell: Cell) -> str:
    """Where costs were made equal: how many items the vote of the repeats lost, and in how many no repeat was right. Empty elsewhere."""
    if cell.repeats <= cell.units or cell.repeated is None:
        return ""
    wrong = [item for item, score in cell.scores.items() if score < 1]
    if not wrong:
        return f"The repeats of an item vote: all {cell.items} items were answered right."
    outvoted = sum(cell.repeated.by_item[item][1] > 0 for item in wrong)
    return (
        f"The repeats of an item vote: {len(wrong)} of {cell.items} items were not answered right; in {outvoted} of them some repeat had the right "
        f"answer and was outvoted, in {len(wrong) - outvoted} none had."
    )


def trouble(cells: Sequence[Cell]) -> list[str]:
    """What makes numbers weaker than they look."""
    notes = []
    for cell in cells:
        where = f"{cell.task}, {cell.method}, {cell.model}"
        if cell.judgements and cell.unparsed > 0.1 * cell.judgements:
            notes.append(f"{where}: {percent(cell.unparsed / cell.judgements)} of the judgements gave no value")
        if cell.verdicts["failed"]:
            notes.append(f"{where}: {cell.verdicts['failed']} of {cell.units} units failed; they count as not right")
        if cell.usage.estimated:
            notes.append(f"{where}: the server reported no tokens for some replies; they are our own estimate")
    small = sorted({(cell.task, cell.items) for cell in cells if cell.items < 30})
    notes += [f"{task}: {items} items are few; read the intervals, not the percentages" for task, items in small]
    return notes
