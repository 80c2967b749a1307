"""Draws the pictures of docs/searches.md: each search on one small scripted problem, drawn from the trace of a real run.

python tools/search_pictures.py            write them into the page
python tools/search_pictures.py --check    exit 1 where the page is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import branchwise as bw
from branchwise.trace import Expanded

PAGE = Path(__file__).parents[1] / "docs" / "searches.md"

VALUES: Mapping[str, int] = {
    "a": 75, "b": 72, "c": 50, "ap": 82, "aq": 70, "ar": 20, "bp": 78, "bq": 65, "br": 10, "cp": 90, "cq": 35,
    "apx": 60, "apy": 40, "aqx": 55, "bpx": 85, "bpy": 30, "bqx": 45, "cpx": 95, "cpy": 20, "cqx": 15,
}  # fmt: skip
"""States as strings of letters, and what the judge says of each, of 100. The best end, cpx, stands under the worst start."""

REWRITES: Mapping[str, tuple[str, ...]] = {
    "naive": ("better", "shorter"), "I don't know.": ("fresh",), "better": ("best", "worse"), "shorter": ("odd",),
}  # fmt: skip
REWARDS: Mapping[str, int] = {
    "naive": 20,
    "I don't know.": -60,
    "better": 40,
    "shorter": 50,
    "best": 80,
    "worse": 0,
    "fresh": 30,
    "odd": 10,
}


class Letters:
    """A problem whose thoughts are letters, or whole answers."""

    prompt = "letters"
    prompts: Mapping[str, str] = {
        "propose": "propose [{{path}}]", "sample": "sample [{{path}}]", "value": "value [{{path}}]", "reward": "reward [{{last}}]",
        "critique": "critique [{{last}}]", "rewrite": "rewrite [{{last}}] {{critique}}", "refine": "rewrite [{{last}}]",
        "cot": "naive [{{path}}]", "io": "naive [{{path}}]",
    }  # fmt: skip

    def status(self, state: bw.State) -> bw.Status:
        return bw.COMPLETE if state and (len(state) >= 3 or state[-1] in REWARDS) else bw.OPEN

    def key(self, state: bw.State) -> bw.State:
        return state

    def answer(self, state: bw.State) -> str | None:
        return state[-1] if self.status(state) is bw.COMPLETE else None

    def fields(self, state: bw.State) -> Mapping[str, str]:
        return {"path": "".join(state)}


def reply(request: bw.Request, i: int) -> str:
    """What the scripted model says: the same in every run."""
    kind, where = re.match(r"(\w+) \[(.*?)\]", request.messages[-1].content).groups()  # type: ignore[union-attr]
    nth = request.id.occurrence if request.id is not None else 0
    children = [state[-1] for state in VALUES if state[:-1] == where]
    if kind == "propose":
        return "\n".join(f"{number}. {letter}" for number, letter in enumerate(children, 1))
    if kind == "sample":
        return children[nth % len(children)] if children else ""
    if kind == "value":
        return f"Score: {VALUES[where]}"
    if kind == "reward":
        return f"Score: {REWARDS.get(where, 60)}"
    if kind == "rewrite":
        texts = REWRITES.get(where, (f"{where}+",))
        return texts[max(0, nth // 2 - 1) % len(texts)]  # each visit of an answer is two steps: a grade, a rewrite
    return kind


def methods() -> dict[str, bw.Method]:
    """One small method a search."""
    judge = bw.Value(samples=1, scale=bw.Scale(0, 100))
    tree: dict[str, Any] = {"generate": bw.Propose(k=3), "evaluate": judge, "window": 1}
    rewrite: dict[str, Any] = {"generate": bw.SelfRefine(), "evaluate": bw.SelfReward(), "window": 1, "pick": bw.best_refined}
    return {
        "beam": bw.Method(generate=bw.Propose(k=3), evaluate=judge, search=bw.Beam(breadth=2, depth=3)),
        "dfs": bw.Method(generate=bw.Propose(k=3), evaluate=judge, search=bw.DepthFirst(depth=3, prune_at=0.4, max_steps=7), pick=bw.deepest),
        "best_first": bw.Method(search=bw.BestFirst(depth=3, prune_below=0.3, max_nodes=12), pick=bw.best_path, **tree),
        "a_star": bw.Method(search=bw.AStar(depth=3, max_nodes=12), **tree),
        "mcts": bw.Method(search=bw.Mcts(rollouts=6, depth=3), **tree),
        "adaptive": bw.Method(generate=bw.Sample(k=1), evaluate=judge, search=bw.Adaptive(rollouts=9, depth=3), window=1),
        "mctsr": bw.Method(search=bw.SelfRefineSearch(rollouts=4), **rewrite),
        "chain": bw.Method(generate=bw.Refine(), search=bw.Chain(depth=4), pick=bw.last),
        "tot_bfs_refine": bw.Method(
            generate=bw.Staged(open=bw.Propose(k=3), complete=bw.Refine()), evaluate=judge,
            search=bw.ThenRefine(first=bw.Beam(breadth=1, depth=3), rounds=2), pick=bw.last,
        ),
    }  # fmt: skip


def picture(method: bw.Method) -> str:
    """The tree of a real run, read back from its trace."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "t.jsonl"
        result = bw.solve_sync(Letters(), method, bw.Scripted(reply), trace=trace, seed=2)
        events = list(bw.read_trace(trace))
    tree = bw.Tree.fold(iter(events))
    order: dict[int, list[int]] = {}
    for number, event in enumerate((e for e in events if isinstance(e, Expanded)), 1):
        order.setdefault(event.node, []).append(number)
    lines = [f"the problem{_turns(order, 0)}"]
    _draw(tree.root, "", order, None if result.node is None else result.node.birth, lines)
    counts = tree.counts()
    lines.append(f"\n{counts.generated} thoughts, {result.usage.calls} calls, ended: {result.stop_reason}")
    return "\n".join(lines)


def _turns(order: Mapping[int, list[int]], node: int) -> str:
    return f"   [{', '.join(map(str, order[node]))}]" if node in order else ""


def _draw(node: bw.Node, indent: str, order: Mapping[int, list[int]], chosen: int | None, lines: list[str]) -> None:
    for place, child in enumerate(node.children):
        is_last = place == len(node.children) - 1
        value = "" if child.value is None else f" {child.value:.2f}"
        fate = "  pruned" if child.fate is bw.Fate.PRUNED else ""
        answer = "  ← the answer" if child.birth == chosen else ""
        lines.append(f"{indent}{'└─ ' if is_last else '├─ '}{child.thought}{value}{_turns(order, child.birth)}{fate}{answer}")
        _draw(child, indent + ("   " if is_last else "│  "), order, chosen, lines)


def page(text: str) -> str:
    """`text` with its pictures drawn anew: what stands between `<!-- picture NAME -->` and `<!-- end -->`."""
    for name, method in methods().items():
        pattern = re.compile(rf"(<!-- picture {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        drawn = f"```text\n{picture(method)}\n```\n"
        text, places = pattern.subn(lambda found, drawn=drawn: found[1] + drawn + found[2], text)
        if not places:
            raise SystemExit(f"docs/searches.md has no place for the picture of {name}")
    return text


def main() -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is out of date")
    old = PAGE.read_text("utf-8")
    new = page(old)
    if parser.parse_args().check:
        return int(old != new)
    PAGE.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
