"""The report over many rows: seconds and memory of `bench report`, in a process of its own.

python benchmarks/bench_report.py [ROWS]     default 100,000 (wanted: 10 s and 1 GB at the most)
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

METHODS = ("io", "cot", "cot_sc", "tot_bfs", "mctsr_8")
SEEDS = 4


def made(folder: Path, rows: int) -> Path:
    """A run folder with so many rows of two tasks, five methods and four seeds. Writes line by line: the process that measures is another."""
    rng = Random(1)
    tasks = ("gsm8k", "crosswords")
    items = max(1, rows // (len(METHODS) * SEEDS * len(tasks)))
    about: dict[str, Any] = {"format": 1, "spec": {"methods": {t: [{"label": m} for m in METHODS] for t in tasks}}, "settings_hash": "made up"}
    about |= {"data": {t: {"source": f"our own list of {t}", "sha256": "made up"} for t in tasks}, "prompts": {}, "versions": {}, "equal": None}
    (folder / "bench.json").write_text(json.dumps(about), "utf-8")
    with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
        for item in range(items):
            for task in tasks:
                for method in METHODS:
                    for seed in range(SEEDS):
                        file.write(json.dumps(row(rng, task, item, method, seed), separators=(",", ":")) + "\n")
    return folder


def row(rng: Random, task: str, item: int, method: str, seed: int) -> dict[str, Any]:
    """One row, about as long as a real one."""
    score = rng.randrange(11) / 10 if task == "crosswords" else float(rng.random() < 0.5)
    spent = {"calls": 8, "requests": 4, "cached_calls": 0, "prompt_tokens": rng.randrange(2000), "cached_prompt_tokens": 0,
             "completion_tokens": rng.randrange(2000), "reasoning_tokens": 0, "cost_usd": rng.randrange(1000) / 1e6}  # fmt: skip
    return {
        "unit": f"{task}{item:08x}{method}{seed}", "task": task, "item": str(item), "rank": None, "method": method, "model": "made up", "seed": seed,
        "status": "ok", "error": None, "answer": str(rng.randrange(100)), "verdict": "correct" if score == 1 else "wrong", "score": score,
        "oracle_score": max(score, float(rng.random() < 0.5)), "samples": [float(rng.random() < 0.5) for _ in range(5)],
        "votes": [str(rng.randrange(4)) for _ in range(5)], "solved": None, "unfinished": False, "stop_reason": "exhausted",
        "nodes": {"generated": 20, "kept": 10, "pruned": 6, "merged": 2, "dropped": 2}, "usage": spent,
        "by_role": {"generate": spent, "evaluate": spent, "answer": spent}, "unparsed": 1, "replies": 12, "seconds": rng.random() * 60,
        "model_reported": "made up", "trace": [], "repeats": 1, "overshoot": None,
    }  # fmt: skip


def measured(folder: Path, *more: str) -> dict[str, float]:
    """Seconds (of the clock, and of the processor) and the largest memory in MB of one report in a process of its own."""
    code = (
        "import json, resource, sys\nfrom branchwise.cli.main import cli\ntry:\n    cli.main(sys.argv[1:])\nfinally:\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]), file=sys.stderr)\n"
    )
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, "bench", "report", str(folder), *more], capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - begun
    processor, memory = json.loads(done.stderr.splitlines()[-1])
    return {"seconds": seconds, "processor": processor, "MB": memory}


def main() -> None:
    rows = int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else 100_000
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    with tempfile.TemporaryDirectory() as name:
        folder = made(Path(name), rows)
        size = (folder / "rows.jsonl").stat().st_size / 1e6
        for more in ((), ("--json",), ("--html", f"{name}/report.html")):
            found = measured(folder, *more)
            what = more[0] if more else "tables"
            print(f"{rows:,} rows ({size:.0f} MB), {what:<7} {found['seconds']:6.1f} s, {found['processor']:6.1f} s of a core, {found['MB']:6.0f} MB")


if __name__ == "__main__":
    main()
