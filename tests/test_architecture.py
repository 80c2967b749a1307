"""Imports go one way, the public names are what they are, and model text reaches no evaluator."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import branchwise

SOURCE = Path(branchwise.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
ENGINE = (
    "engine", "window", "answering", "acts", "rules", "steering", "commit", "method", "steps", "solve", "result", "estimate", "batch", "rows",
    "hints", "rejected", "shares", "rescore", "fork", "identity",
)  # fmt: skip
CORE = ("errors", "records", "problem", "budget", "ledger", "appending", "events", "together")
MAY = {
    **dict.fromkeys(CORE, CORE),
    "trace": CORE,
    "tree": (*CORE, "trace"),
    "model": (*CORE, "trace", "model"),
    "search": (*CORE, "trace", "tree", "search"),
    "thought": (*CORE, "model", "thought"),
    **dict.fromkeys(ENGINE, (*CORE, "trace", "tree", "model", "search", "thought", *ENGINE)),
    "methods": (*CORE, "trace", "tree", "model", "search", "thought", *ENGINE, "methods"),
    "tasks": (*CORE, "trace", "tree", "model", "search", "thought", *ENGINE, "methods", "tasks", "data"),
    "data": (*CORE, "data", "model"),
    "bench": (*CORE, "trace", "tree", "model", "search", "thought", *ENGINE, "methods", "tasks", "data", "bench"),
}
"""server and cli may import anything, and nobody imports them."""


def part(file: Path) -> str:
    return file.relative_to(SOURCE).with_suffix("").parts[0]


def imports(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_imports_go_one_way(file: Path) -> None:
    here = part(file)
    if here in ("__init__", "__main__", "server", "cli"):
        return
    used = {name.split(".")[1] for name in imports(file) if name.startswith("branchwise.")}
    assert used <= set(MAY[here]), f"{here} imports {used - set(MAY[here])}"


@pytest.mark.parametrize("file", [f for f in FILES if part(f) == "search"], ids=lambda f: f.stem)
def test_a_search_knows_no_clock_no_chance_and_no_loop(file: Path) -> None:
    assert not {name.split(".")[0] for name in imports(file)} & {
        "random",
        "time",
        "datetime",
        "asyncio",
        "secrets",
        "uuid",
        "os",
        "threading",
    }


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_nothing_evaluates_text(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "__import__", "sympify", "parse_expr"}
    roots = {name.split(".")[0] for name in imports(file)}
    assert not roots & {"pickle", "marshal", "shelve", "dill", "cloudpickle", "code", "codeop"}
    if part(file) in ("search", "thought", "tree", *ENGINE):
        assert not roots & {"subprocess", "ctypes"}


@pytest.mark.parametrize("file", [f for f in FILES if f.read_text("utf-8").strip()], ids=lambda f: str(f.relative_to(SOURCE)))
def test_a_module_says_what_it_is(file: Path) -> None:
    first = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split("\n")[0]
    assert len(first) > 10
    assert first[-1] in ".:", first


def test_the_answer_key_is_reached_from_the_bench_only() -> None:
    for file in FILES:
        if part(file) not in ("bench", "cli", "server"):
            assert not any("oracle" in name or name.startswith("branchwise.bench") for name in imports(file)), file
            assert "bench.keys" not in file.read_text("utf-8"), file


def test_the_package_is_typed() -> None:
    assert (SOURCE / "py.typed").exists()


def test_the_public_names() -> None:
    assert sorted(PUBLIC) == sorted(branchwise.__all__)
    for name in PUBLIC:
        assert getattr(branchwise, name) is not None


@pytest.mark.parametrize("file", [f for f in FILES if part(f) not in ("cli", "tasks", "server")], ids=lambda f: str(f.relative_to(SOURCE)))
def test_all_names_exist(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            flat = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
            defined |= {target.id for target in flat if isinstance(target, ast.Name)}
        elif isinstance(node, (ast.ImportFrom, ast.Import)):
            defined |= {alias.asname or alias.name for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names = ast.literal_eval(node.value)
            assert set(names) <= defined
            assert len(names) == len(set(names))


PUBLIC = [
    "COMPLETE",
    "METHODS",
    "OPEN",
    "SOLVED",
    "AStar",
    "Adaptive",
    "Beam",
    "Ask",
    "BestFirst",
    "BranchwiseError",
    "Budget",
    "Chain",
    "Check",
    "Combine",
    "DepthFirst",
    "Dropped",
    "Estimate",
    "Evaluation",
    "Fate",
    "Heuristic",
    "Kind",
    "LanguageModel",
    "Likelihood",
    "Mcts",
    "Message",
    "Method",
    "MethodError",
    "ModelError",
    "Node",
    "NodeId",
    "Outcome",
    "Price",
    "Problem",
    "Proposal",
    "Proposals",
    "Propose",
    "Refine",
    "Rejected",
    "Reply",
    "Request",
    "Rescored",
    "Result",
    "RetryPolicy",
    "RewardModel",
    "Rollout",
    "Routed",
    "Sample",
    "Sampling",
    "Scale",
    "Score",
    "Scripted",
    "SelfRefine",
    "SelfRefineSearch",
    "SelfReward",
    "Size",
    "Staged",
    "State",
    "Status",
    "Steering",
    "Stop",
    "TapeModel",
    "ThenRefine",
    "TraceError",
    "Tree",
    "Usage",
    "UsageError",
    "Value",
    "Vote",
    "WeightsError",
    "WriteUp",
    "__version__",
    "best_path",
    "best_refined",
    "best_value",
    "check",
    "dead",
    "deepest",
    "estimate",
    "fork",
    "last",
    "majority",
    "most_visited",
    "open_model",
    "preset",
    "read_trace",
    "rescore",
    "solve",
    "solve_sync",
    "watch",
    "with_sampling",
]
