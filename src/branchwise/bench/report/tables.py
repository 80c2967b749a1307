"""The tables of a report: titles, columns and cells as text, for a terminal and for a page alike. Knows neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from branchwise.bench.report.cells import Cell, Family, Repeated
from branchwise.bench.report.document import Report
from branchwise.bench.report.references import Ours
from branchwise.bench.report.statistics import Interval
from branchwise.bench.report.trees import Calibration, Trees
from branchwise.bench.report.words import p_value, percent

__all__ = ["Table", "family_tables", "published_table"]


@dataclass(frozen=True, slots=True)
class Table:
    """`rows` have as many cells as `columns`; the first column is a name, the others are numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def family_tables(report: Report, family: Family) -> list[Table]:
    """All tables about what is compared with each other; a table that would be empty is left out."""
    trees = {name: report.trees[cell.key] for name, cell in family.cells.items() if cell.key in report.trees}
    found = [
        _scores(family), _repeated(family), _paired(report, family), _spent(family, report.clock), _roles(family), _verdicts(family),
        _funnel(trees), _levels(trees), _failed(trees), _judges(family, trees), _crosswords(trees),
    ]  # fmt: skip
    return [table for table in found if table.rows]


def _interval(found: Interval) -> str:
    return f"{100 * found.low:.1f} to {100 * found.high:.1f}"


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else "$0" if not cost else f"${cost / 1e6:.4f}" if cost < 1e6 else f"${cost / 1e6:,.2f}"


def _scores(family: Family) -> Table:
    graded = any(cell.graded for cell in family.cells.values())
    what = "score as chosen" if graded else "accuracy as chosen"
    columns = ["method", what, "95 % interval", *(["right in full"] if graded else []), "items", "seeds", "oracle: best in the tree"]
    rows = [
        [name, percent(c.score), _interval(c.interval), *([percent(c.solved)] if graded else []), f"{c.items:,}", f"{c.seeds:,}", percent(c.oracle)]
        for name, c in family.cells.items()
    ]
    note = "As chosen: by the method, without the key. The oracle is chosen with the key and is no result of a method. " + _kinds(family)
    return Table("What the methods answered", columns, rows, note)


_KINDS = {
    "wilson": "Wilson intervals, an item counting once",
    "bootstrap": "bootstrap intervals over items, where items have several runs or graded scores",
    "normal": "intervals of the mean by the normal law",
}


def _kinds(family: Family) -> str:
    kinds = sorted({cell.interval.kind for cell in family.cells.values()}, reverse=True)
    text = "; ".join(_KINDS[kind] for kind in kinds)
    return f"{text[:1].upper()}{text[1:]}."


def _repeated(family: Family) -> Table:
    """mean@k, pass@k and majority@k."""

    def k(found: Repeated) -> str:
        return f"{found.k}" if found.k is not None else f"{found.least} to {found.most}"

    rows = [
        [name, k(found), percent(found.mean), percent(found.majority), percent(found.passed)]
        for name, cell in family.cells.items()
        if (found := cell.repeated) is not None
    ]
    note = "mean@k: the share of right answers among k. majority@k: the most frequent answer is right. pass@k: any is right, an oracle."
    return Table("Several answers to an item", ["method", "k", "mean@k", "majority@k", "oracle: pass@k"], rows, note)


def _paired(report: Report, family: Family) -> Table:
    pairs = [pair for pair in report.pairs if (pair.task, pair.model) == (family.task, family.model)]
    rows = [
        [
            pair.method, f"{100 * pair.difference:+.1f}", f"{100 * pair.interval.low:+.1f} to {100 * pair.interval.high:+.1f}",
            f"{pair.wins:,} / {pair.losses:,} / {pair.ties:,}", f"{pair.items:,}", p_value(pair.p), p_value(pair.p_holm),
            ("better" if pair.difference > 0 else "worse") if pair.found else "not shown",
        ]
        for pair in pairs
    ]  # fmt: skip
    if not pairs:
        return Table("", [], [])
    tests = " and ".join(sorted({pair.test for pair in pairs}))
    left = sum(pair.left_out for pair in pairs)
    only = f"; {left:,} left out, which only one method has" if left else ""
    note = f"Same items only{only}. {tests}; p corrected after Holm for {pairs[0].together} tests."
    columns = ["method", "points", "95 % interval", "better / worse / same", "items", "p", "p corrected", "difference"]
    return Table(f"Against {pairs[0].baseline}, item by item", columns, rows, note)


def _spent(family: Family, clock: bool) -> Table:
    columns = ["method", "units", "runs", "calls", "prompt tokens", "of them cached", "reply tokens", "tokens", "cost", "thoughts"]
    dropped = any(c.paid.tokens != c.usage.tokens for c in family.cells.values())
    columns += (["tokens paid"] if dropped else []) + (["seconds", "median"] if clock else [])
    rows = []
    for name, c in family.cells.items():
        if not c.usage.calls:
            continue
        usage = c.usage
        each = [usage.calls, usage.prompt_tokens, usage.cached_prompt_tokens, usage.completion_tokens, usage.tokens]
        cost = _dollars(None if usage.cost is None else c.each(usage.cost))
        row = [name, f"{c.units:,}", f"{c.repeats:,}", *(f"{c.each(value):,.1f}" for value in each), cost, f"{c.each(c.nodes['generated']):,.1f}"]
        row += [f"{c.each(c.paid.tokens):,.1f}"] if dropped else []
        rows.append(row + ([f"{c.each(c.seconds):,.2f}", f"{c.median_seconds:,.2f}"] if clock else []))
    note = "A unit is an item with a method, model and seed; it is run several times where costs are made equal."
    note += " Paid: with repeats that did not fit any more." if dropped else ""
    return Table("Spent, a unit on the average", columns, rows, note)


def _roles(family: Family) -> Table:
    rows = []
    for name, cell in family.cells.items():
        for role, usage in cell.by_role.items():
            numbers = (usage.calls, usage.prompt_tokens, usage.completion_tokens)
            rows.append([f"{name}: {role}", *(f"{n:,}" for n in numbers), _dollars(usage.cost), _share(usage.tokens, cell)])
    return Table("Spent by role, in all", ["method: role", "calls", "prompt tokens", "reply tokens", "cost", "share of tokens"], rows)


def _share(tokens: int, cell: Cell) -> str:
    return percent(tokens / cell.usage.tokens) if cell.usage.tokens else "0.0 %"


def _verdicts(family: Family) -> Table:
    names = ("correct", "wrong", "no_answer", "failed", "invalid_gold")
    rows = [[name, *(f"{c.verdicts[v]:,}" for v in names), f"{c.unfinished:,}", _stops(c)] for name, c in family.cells.items()]
    columns = ["method", *(name.replace("_", " ") for name in names), "unfinished", "ended by"]
    return Table("Units by verdict", columns, rows, "A failed unit counts as not right. An item whose gold cannot be read is in no share.")


def _stops(cell: Cell) -> str:
    return ", ".join(f"{name or 'nothing'} {count:,}" for name, count in sorted(cell.stops.items(), key=lambda stop: (-stop[1], stop[0])))


def _funnel(trees: dict[str, Trees]) -> Table:
    rows = [
        [name, f"{f.items:,}", *(percent(share) for share in f.shares().values())] for name, tree in trees.items() if (f := tree.funnel) is not None
    ]
    columns = ["method", "runs", "generated", "kept", "final", "chosen"]
    note = "Share of runs in which a right answer was there. Found with the key (oracle); only what was chosen is an answer of the method."
    return Table("Coverage funnel", columns, rows, note)


def _levels(trees: dict[str, Trees]) -> Table:
    found = {name: tree.funnel for name, tree in trees.items() if tree.funnel is not None and len(tree.funnel.levels) > 1}
    depth = max((len(one.levels) for one in found.values()), default=0)
    rows = []
    for name, one in found.items():
        shown = [f"{percent(level.generated / one.items)} / {percent(level.kept / one.items)}" for level in one.levels]
        rows.append([name, *shown, *[""] * (depth - len(shown))])
    columns = ["method", *(f"step {step}" for step in range(1, depth + 1))]
    return Table("A state from which the goal can still be reached: generated / kept", columns, rows, "By the oracle, as a share of runs.")


def _failed(trees: dict[str, Trees]) -> Table:
    found = {name: tree.failures for name, tree in trees.items() if tree.failures is not None}
    depth = max((len(one.steps) for one in found.values()), default=0)
    rows = []
    for name, one in found.items():
        counts = [one.right, *one.steps, *[0] * (depth - len(one.steps)), one.no_steps]
        rows.append([name, "whole replies" if one.chains else "trees", f"{one.count:,}", *(percent(count / one.count) for count in counts)])
    columns = ["method", "of", "n", "right", *(f"step {step}" for step in range(1, depth + 1)), "no steps shown"]
    note = (
        "Whole replies (chains, and searches whose thoughts were whole answers): the first step of a reply that is invalid or after which the goal "
        "cannot be reached. Trees: the first step after which that holds of all thoughts kept. One step more than "
        "the task has is the answer's. After Yao et al. 2023, Fig. 3b; by the oracle."
    )
    return Table("The step at which it failed", columns, rows, note)


def _judges(family: Family, trees: dict[str, Trees]) -> Table:
    rows = []
    for name, cell in family.cells.items():
        tree = trees.get(name)
        known = tree.calibration if tree is not None else None
        if known is None and not cell.judgements:
            continue
        auc = "" if known is None or known.auc is None else f"{known.auc:.3f}"
        rows.append([
            name, f"{known.states:,}" if known else "", auc, _by_step(known), f"{known.brier:.3f}" if known else "",
            percent(tree.ties) if tree is not None and tree.ties is not None else "", f"{cell.judgements:,}" if cell.judgements else "",
            percent(cell.unparsed / cell.judgements) if cell.judgements else "",
        ])  # fmt: skip
    columns = ["method", "states", "AUC", "AUC by step", "Brier", "ties", "judgements", "no value"]
    note = (
        "AUC: how often a good state was valued above a bad one, 0.5 being no knowledge (by the oracle); late states are easy and lift the whole, "
        "so read the steps. Ties: pairs of states of one depth with the same value. "
        "A vote's values compare one group only, so its AUC understates it."
    )
    return Table("What the evaluator knew", columns, rows, note)


def _by_step(known: Calibration | None) -> str:
    steps = known.steps if known is not None and len(known.steps) > 1 else {}
    return " / ".join("-" if auc is None else f"{auc:.2f}" for auc in steps.values())


def _crosswords(trees: dict[str, Trees]) -> Table:
    shown: Callable[[float], str] = percent
    rows = [[name, *map(shown, tree.parts)] for name, tree in trees.items() if tree.parts]
    columns = ["method", "letters", "words", "games", "oracle: letters", "oracle: words", "oracle: games"]
    return Table("Crosswords: the output, and the best state visited", columns, rows, "The best state is chosen with the key (oracle).")


def _ours(ours: Ours) -> str:
    cell, found, said = ours.cell, ours.cell.repeated, f"{ours.said}: " if ours.said else ""
    many = "" if found is None else f", mean@k {percent(found.mean)}, pass@k {percent(found.passed)} (oracle), k = {found.k or 'all'}"
    return f"{said}{percent(cell.score)} as chosen, {percent(cell.oracle)} oracle{many} ({cell.method}, {cell.model}, {cell.items} items)"


def published_table(report: Report) -> Table:
    """Published figures, and ours of the same method, with the settings in which ours differ."""
    rows = []
    for one in report.published:
        ref = one.reference
        value = f"{ref.value:g}" + ("" if "from 1 to 10" in ref.measure else " %")
        ours = "; ".join(map(_ours, one.ours))
        size = f"{ref.n:,}" if ref.n is not None else ""
        rows.append([f"{one.task}: {ref.label}", ref.model, ref.measure, value, size, one.items, ref.note, ours])
    note = "Other models, and often other items: no difference is computed."
    columns = ["method", "model", "measure", "published", "items", "which", "note", "ours"]
    return Table("Published figures beside ours", columns, rows, note)
