"""Run folders of a bench, made up: rows of a scripted noisy method, with or without traces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import orjson

from branchwise import Usage
from branchwise.bench.rows import MANIFEST, ROWS, Row


def usage(calls: int = 1, prompt: int = 100, reply: int = 50, cost: int | None = 0) -> dict[str, Any]:
    return Usage(calls, calls, prompt_tokens=prompt, completion_tokens=reply, cost=cost).to_json()


def row(task: str, item: str, method: str, *, score: float = 1.0, model: str = "m", seed: int = 0, **more: Any) -> Row:
    """A row with a verdict that fits its score, and some spending."""
    spent = more.pop("usage", usage())
    settings: dict[str, Any] = {
        "verdict": "correct" if score == 1 else "wrong", "score": score, "oracle_score": score, "answer": "42" if score == 1 else "41",
        "samples": [score], "votes": ["42" if score == 1 else "41"], "stop_reason": "exhausted", "usage": spent, "by_role": {"generate": spent},
        "nodes": {"generated": 3, "kept": 2, "pruned": 1, "merged": 0, "dropped": 0}, "seconds": 1.5, "model_reported": model,
    }  # fmt: skip
    unit = f"{task}-{item}-{method}-{model}-{seed}"
    return Row(unit=unit, task=task, item=item, method=method, model=model, seed=seed, **(settings | more))


def noisy(accuracies: Mapping[str, float], items: int, seed: int, *, task: str = "gsm8k", model: str = "m") -> list[Row]:
    """Each method is right on each item with its own probability."""
    rng = Random(seed)
    return [
        row(task, str(item), method, score=float(rng.random() < share), model=model) for item in range(items) for method, share in accuracies.items()
    ]


def write(folder: Path, rows: Iterable[Row], methods: Sequence[str] = (), **manifest: Any) -> Path:
    """The folder that `bench run` would have written."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(rows)
    tasks = sorted({one.task for one in found})
    spec = {"methods": {task: [{"label": name, "method": name} for name in methods] for task in tasks}}
    about = {"format": 1, "spec": spec, "settings_hash": "abc", "data": {t: {"source": f"our own list of {t}", "sha256": "d"} for t in tasks}}
    (folder / MANIFEST).write_bytes(orjson.dumps(about | {"prompts": {}, "versions": {}, "equal": None, "units": len(found)} | manifest))
    (folder / ROWS).write_bytes(b"".join(orjson.dumps(one.to_json(), option=orjson.OPT_APPEND_NEWLINE) for one in found))
    return folder
