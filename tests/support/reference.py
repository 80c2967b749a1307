"""Algorithm 1 (ToT-BFS) and Algorithm 2 (ToT-DFS) of Yao et al. 2023, written down from the pseudocode. Slow, obvious, no engine.

G(s) gives thoughts in order, V(s) a value or None. States with an equal key are one state. Dead, complete and solved states are not
expanded; dead ones are not valued (section B.3: do not call the model for what a program knows).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from branchwise import Kind, State, Status

G = Callable[[State], list[str]]
V = Callable[[State], float | None]


@dataclass
class Searched:
    born: list[State] = field(default_factory=list)
    valued: list[State] = field(default_factory=list)
    kept: list[State] = field(default_factory=list)
    pruned: list[State] = field(default_factory=list)
    merged: int = 0
    output: State | None = None


def tot_bfs(
    g: G, v: V, status: Callable[[State], Status], key: Callable[[State], Hashable], *, depth: int, breadth: int, below: float = 0.0
) -> Searched:
    """S_0 = {x}; for t = 1..T: S'_t = {[s, z]}; V_t = V(S'_t); S_t = the b states of S'_t with the highest value."""
    out, seen, level = Searched(), {key(())}, [()]
    for _ in range(depth):
        proposed: list[State] = []
        for s in level:
            for z in g(s):
                child = (*s, z)
                if key(child) in seen:
                    out.merged += 1
                    continue
                seen.add(key(child))
                out.born.append(child)
                if status(child).kind is not Kind.DEAD:
                    proposed.append(child)
        out.valued += proposed
        values = {s: v(s) for s in proposed}
        low = [s for s in proposed if values[s] is not None and values[s] < below]
        rest = [s for s in proposed if s not in low]
        order = sorted(rest, key=lambda s: (values[s] is None, -(values[s] or 0.0)))  # sorted() is stable: ties by birth
        out.kept += order[:breadth]
        out.pruned += low + order[breadth:]
        level = [s for s in order[:breadth] if status(s).kind is Kind.OPEN]
    return out


def tot_dfs(
    g: G, v: V, status: Callable[[State], Status], key: Callable[[State], Hashable], *, depth: int, at: float, max_steps: int
) -> Searched:
    """for s' in G(s), sorted: if V(s') > v_th: DFS(s', t+1)."""
    out, seen = Searched(), {key(())}

    def dfs(s: State) -> None:
        children = []
        for z in g(s):
            child = (*s, z)
            if key(child) in seen:
                out.merged += 1
                continue
            seen.add(key(child))
            out.born.append(child)
            if status(child).kind is not Kind.DEAD:
                children.append(child)
        for child in children:
            if len(out.valued) >= max_steps:
                return
            out.valued.append(child)
            if out.output is None or len(child) > len(out.output):
                out.output = child
            value = v(child)
            if value is not None and value <= at:
                out.pruned.append(child)
                continue
            out.kept.append(child)
            if status(child).kind is Kind.OPEN and len(child) < depth and len(out.valued) < max_steps:
                dfs(child)

    dfs(())
    return out
