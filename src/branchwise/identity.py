"""What makes a run the same run when it is gone on with: problem, method, model, seed and window. Knows no file and no budget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from branchwise.errors import TraceError
from branchwise.method import Method, describe
from branchwise.model.base import LanguageModel
from branchwise.model.engines import to_have_again
from branchwise.problem import Problem, prompts, rules

__all__ = ["agree", "run_identity"]

_ENDS = ("max_nodes", "rollouts", "max_steps")
"""Settings of searches that say when they end, and nothing else: they may change on resume."""


def run_identity(problem: Problem, method: Method, model: LanguageModel, seed: int) -> dict[str, Any]:
    """What may not change on resume."""
    what = {"is": type(problem).__qualname__, "prompt": problem.prompt, "prompts": dict(prompts(problem))}
    if more := rules(problem):
        what["rules"] = more
    parts = {key: value for key, value in describe(method).items() if key != "window"}
    parts["search"] = {key: value for key, value in parts["search"].items() if key != "max_nodes"}
    return {
        "problem": what, "method": parts, "model": model.identity, "seed": seed if abs(seed) < 1 << 63 else str(seed),
        "window": min(method.steps_in_flight, 1 << 30),
    }  # fmt: skip


def agree(old: Mapping[str, Any], identity: Mapping[str, Any], trace: Path) -> None:
    """Refuse to go on with the run of another identity, by the first thing that differs. Raises `TraceError`."""
    for key, new in identity.items():
        if _endless(old.get(key)) != _endless(new):
            raise TraceError(
                f"{trace} was made with another {key} ({_difference(old.get(key), new)}); "
                + (to_have_again(str(old.get(key)), str(new)) if key == "model" else "")
                + "resume with the same problem, method, model, seed and window: budget, rollouts, parallelism and prices may change"
            )


def _endless(part: Any) -> Any:
    """`part` of an identity without what only ends a search: a run is gone on with under more rollouts as under more calls."""
    if isinstance(part, dict) and isinstance(part.get("search"), dict):
        return {**part, "search": {key: value for key, value in part["search"].items() if key not in _ENDS}}
    return part


def _difference(old: Any, new: Any, where: str = "") -> str:
    """The first place where two descriptions differ: "search.breadth: 5, now 3"."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*new, *old)):
            if old.get(key) != new.get(key):
                return _difference(old.get(key), new.get(key), f"{where}.{key}" if where else str(key))
    texts = [text if len(text) <= 80 else text[:77] + "..." for text in (str(old), str(new))]
    return f"{where + ': ' if where else ''}{texts[0]}, now {texts[1]}"
