"""Writes docs/methods.md: which generator, evaluator and search go together, from what `Method` itself says.

python tools/method_matrix.py            write it
python tools/method_matrix.py --check    exit 1 where it is out of date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import branchwise as bw
from branchwise.search.base import Search
from branchwise.thought.base import Evaluator, Generator

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"

_SMALL = bw.Sampling(max_tokens=40)
GENERATORS: Mapping[str, Generator] = {
    "sample": bw.Sample(k=2, sampling=_SMALL),
    "propose": bw.Propose(k=2, sampling=_SMALL),
    "refine": bw.Refine(k=2, sampling=_SMALL),
    "self-refine": bw.SelfRefine(sampling=_SMALL),
    "staged": bw.Staged(open=bw.Sample(k=2, sampling=_SMALL), complete=bw.Refine(sampling=_SMALL)),
}
EVALUATORS: Mapping[str, Evaluator | None] = {
    "none": None,
    "value": bw.Value(samples=2, sampling=_SMALL),
    "vote": bw.Vote(votes=2, sampling=_SMALL),
    "score": bw.Score(sampling=_SMALL),
    "heuristic": bw.Heuristic(),
    "likelihood": bw.Likelihood(),
    "check": bw.Check(),
    "combine": bw.Combine(bw.Check(), bw.Value(samples=1, sampling=_SMALL)),
    "rollout": bw.Rollout(generate=bw.Sample(k=1, sampling=_SMALL), judge=bw.Heuristic(), depth=2),
    "self-reward": bw.SelfReward(sampling=_SMALL),
}
SEARCHES: Mapping[str, Search] = {
    "beam": bw.Beam(breadth=2, depth=2),
    "dfs": bw.DepthFirst(depth=2, max_steps=5),
    "chain": bw.Chain(depth=3),
    "best_first": bw.BestFirst(depth=3, prune_below=0.1, max_nodes=8, backtrack=True),
    "a_star": bw.AStar(depth=3, max_nodes=8),
    "mcts": bw.Mcts(rollouts=4, depth=3),
    "mctsr": bw.SelfRefineSearch(rollouts=3),
    "adaptive": bw.Adaptive(rollouts=5, depth=3),
    "tot_bfs_refine": bw.ThenRefine(first=bw.Beam(breadth=1, depth=2), rounds=2),
}
_WHEN = {
    "sample": "rich thoughts: plans, passages, whole answers",
    "propose": "tight thoughts: a word, an equation; one call lists several",
    "refine": "an improved version of the last answer, one call",
    "self-refine": "MCTSr: a critique, then a rewrite, two calls",
    "staged": "one generator until there is an answer, another for it",
    "none": "nothing is judged",
    "value": "each state alone: a label, or a number on a scale",
    "vote": "states of one group against each other; no meaning across groups",
    "score": "a judge's number and reason, as JSON",
    "heuristic": "keyword rules, no call",
    "likelihood": "one forward pass, where the backend gives log-probabilities",
    "check": "what a program knows; unknown for everything else",
    "combine": "weighted sum or product of others (here check and value; `--evaluate check+value` is their mean); joint when one of them is",
    "rollout": "play to the end, judge the end",
    "self-reward": "MCTSr: -100 to 100, strict, full marks suppressed",
}


def refusal(generate: Generator, evaluate: Evaluator | None, search: Search) -> str:
    """Why `Method` refuses these parts together; empty where it takes them."""
    try:
        bw.Method(generate=generate, evaluate=evaluate, search=search)
    except bw.MethodError as error:
        return str(error)
    return ""


def page() -> str:
    """The document."""
    reasons: dict[str, int] = {}
    lines = [
        "# Methods: what goes together", "",
        "Generator, evaluator and search are chosen independently. This page is made by `python tools/method_matrix.py` from what `Method`",
        "itself refuses; a test compares them, and another runs every pair that is allowed.", "",
        "✓ allowed; a number is the reason below why it is refused, with `MethodError`, when the method is built.", "",
    ]  # fmt: skip
    for g, generate in GENERATORS.items():
        lines += [f"## {g}", "", f"{_WHEN[g][0].upper()}{_WHEN[g][1:]}.", "", "| | " + " | ".join(SEARCHES) + " |"]
        lines.append("|---" * (len(SEARCHES) + 1) + "|")
        for e, evaluate in EVALUATORS.items():
            cells = []
            for search in SEARCHES.values():
                reason = refusal(generate, evaluate, search)
                cells.append(str(reasons.setdefault(reason, len(reasons) + 1)) if reason else "✓")
            lines.append(f"| **{e}** | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["## Reasons", "", *(f"{number}. {reason}" for reason, number in reasons.items()), ""]
    lines += ["## Evaluators", "", *(f"- **{e}**: {_WHEN[e]}" for e in EVALUATORS), ""]
    lines += ["## Presets", "", "| name | generator | evaluator | search | answer | what it is |", "|---|---|---|---|---|---|"]
    for name, preset in bw.METHODS.items():
        method = preset.make()
        evaluate = "none" if method.evaluate is None else type(method.evaluate).__name__
        answer = method.pick.__name__ + (", written by the model" if method.answer is not None else "")
        parts = (type(method.generate).__name__, evaluate, type(method.search).__name__, answer, preset.summary)
        lines.append(f"| `{name}` | " + " | ".join(parts) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is out of date")
    if parser.parse_args().check:
        return int(PAGE.read_text("utf-8") != page())
    PAGE.write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
