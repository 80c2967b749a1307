"""Writes the small lists of our own: inputs beside the tasks, answer keys where only the bench reaches them.

python tools/make_items.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))

from own_algebra import algebra
from own_arithmetic import arithmetic
from own_questions import QUESTIONS

SOURCE = Path(__file__).parents[1] / "src" / "branchwise"
SEED = 20260


def lists() -> dict[str, list[tuple[str, str, str]]]:
    """Task folder to (id, input, gold)."""
    made = {"numeric": arithmetic(Random(SEED)), "math": algebra(Random(SEED)), "strategyqa": QUESTIONS}
    told = {True: "yes", False: "no"}
    return {
        name: [
            (f"own-{place:02}", text, told.get(gold, str(gold)) if isinstance(gold, bool) else str(gold))
            for place, (text, gold) in enumerate(rows, 1)
        ]
        for name, rows in made.items()
    }


def files() -> dict[Path, str]:
    """Path to text of every file that is written."""
    found = {}
    for name, rows in lists().items():
        lines = [json.dumps({"id": key, "input": text}, ensure_ascii=False) for key, text, _ in rows]
        found[SOURCE / "tasks" / name / "items.jsonl"] = "\n".join(lines) + "\n"
        found[SOURCE / "bench" / "keys" / f"{name}.json"] = (
            json.dumps({key: gold for key, _, gold in rows}, ensure_ascii=False, indent=1) + "\n"
        )
    return found


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, "utf-8")
