"""How fast the local engines are at the work of a search: tokens a second, cold and warm, at several widths, both engines in one run.

    python benchmarks/local.py [--quick] [--json] [--model local:smollm2-135m] [--widths 1,8,16,64] [--engines llama,openvino]

`propose` is a prompt of some 400 shared tokens with replies of 60; `value` the same with replies of 10. Cold is the first round, in which
the shared beginning is computed; warm is the next. Replies are cut at these lengths, so that rounds are alike. `--quick` measures
propose at 16 only, which takes longest. Each row is printed as it is measured; nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from typing import Any

from branchwise.model.base import LanguageModel, Message, Request
from branchwise.model.local import LocalSettings
from branchwise.model.openvino import installed
from branchwise.model.registry import open_model

STEP = "Input: 4 9 10 13\n13 - 9 = 4 (left: 4 4 10)\n10 - 4 = 6 (left: 4 6)\n4 * 6 = 24 (left: 24)\n"
SHAPES = {"propose": ("Worked examples of next steps.\n" + STEP * 6, 60), "value": ("Worked examples of judgements.\n" + STEP * 6, 10)}
WIDTHS = (1, 8, 16, 64)


async def one_round(model: LanguageModel, shape: str, width: int, salt: int) -> dict[str, float]:
    """`width` requests at once: tokens a second, and the share of prompt tokens that the engine says it did not compute."""
    shared, length = SHAPES[shape]
    requests = [
        Request(
            (Message("user", f"{shared}Input: {salt + i} {i + 2} 6 7\nTell a long story of it."),), max_tokens=length, seeds=(salt + i,)
        )
        for i in range(width)
    ]
    start = time.perf_counter()
    replies = await asyncio.gather(*map(model.sample, requests))
    seconds = time.perf_counter() - start
    usages = [s.usage for r in replies for s in r.samples]
    tokens, prompt = sum(u.completion_tokens for u in usages), sum(u.prompt_tokens for u in usages)
    cached = sum(u.cached_prompt_tokens for u in usages)
    return {"seconds": round(seconds, 2), "tokens_per_second": round(tokens / seconds, 1), "cached": round(cached / max(1, prompt), 3)}


def cases(engines: list[str], widths: list[int], quick: bool) -> Iterator[tuple[str, int, str]]:
    """(engine, width, shape) of each measurement."""
    for engine in engines:
        for width in widths:
            for shape in SHAPES:
                if not (quick and shape == "propose" and width != 16):
                    yield engine, width, shape


async def measure(spec: str, engine: str, width: int, shape: str) -> list[dict[str, Any]]:
    """A cold and a warm row, in a new engine, so that cold is cold."""
    settings = LocalSettings(slots=width, context=1024)
    joint = "&" if "?" in spec else "?"
    start = time.perf_counter()
    async with open_model(f"{spec}{joint}engine={engine}", settings=settings) as model:
        what = {"engine": engine, "width": width, "shape": shape, "load": round(time.perf_counter() - start, 1)}
        return [what | {"round": name} | await one_round(model, shape, width, salt) for name, salt in (("cold", 0), ("warm", 1000))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--model", default="local")
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    parser.add_argument("--engines", default="llama,openvino" if installed() else "llama")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for case in cases(options.engines.split(","), [int(w) for w in options.widths.split(",")], options.quick):
        for row in asyncio.run(measure(options.model, *case)):
            rows.append(row)
            print("  ".join(f"{k} {v}" for k, v in row.items()), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps({"model": options.model, "cores": os.cpu_count(), "machine": platform.machine(), "rows": rows}))


if __name__ == "__main__":
    main()
