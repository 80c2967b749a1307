"""Why a run ended, in words. The machine's own word stays in traces and documents. Knows no run."""

from __future__ import annotations

from functools import cache

from branchwise.methods import METHODS, preset
from branchwise.search.chain import Chain

__all__ = ["reason"]

_REASONS = {
    "solved": "a solution was proven",
    "exhausted": "nothing was left to try",
    "max_depth": "the search reached its depth",
    "approved": "a person approved the answer",
    "cancelled": "interrupted",
    "failed": "something broke",
}

_SHALLOW = {
    "one": ("its one reply was made", "its one reply held no answer"),
    "many": ("all its replies were made", "none of its replies held an answer"),
}
"""A method of one level goes no deeper whatever came of it: with an answer, and without one."""


def reason(stop: str, method: str = "", answered: bool = True) -> str:
    """A stop reason in words. `method` is the name of the run's method or its label in a grid (`cot_sc?k=5`); `answered`: it has an answer."""
    kind, _, limit = stop.partition(":")
    if kind == "budget":
        return f"the limit on {limit} was reached"
    shape = _shape(method.partition("?")[0].partition("@")[0])
    if stop in ("max_depth", "exhausted") and shape in _SHALLOW:
        return _SHALLOW[shape][not answered]
    if stop == "max_depth" and shape == "chain":
        return "the chain is at its end"
    return _REASONS.get(stop, stop)


@cache
def _shape(name: str) -> str:
    """`one` or `many` replies of one level, a `chain`, or a `tree`; a method that we do not know is a tree."""
    if name not in METHODS:
        return "tree"
    search = preset(name).make().search
    chain = isinstance(search, Chain)
    if search.max_depth == 1:
        return "one" if chain else "many"
    return "chain" if chain else "tree"
