"""How fast the local engines are at the work of a search: tokens a second, cold and warm, at several widths, both engines in one run.

    python benchmarks/local.py [--quick] [--json] [--model local:smollm2-135m] [--widths 1,8,16,64] [--engines llama,openvino]

`propose` is a prompt of some 400 shared tokens with replies of 60; `value` the same with replies of 10. Cold is the first round, in which
the shared beginning is computed; warm is the next. Each pair of rounds has a beginning of its own. llama.cpp is loaded anew for each width,
with as many slots; OpenVINO once, since it is the same at any width up to 64. Replies are cut at these lengths, so that rounds are alike.
`--quick` measures propose at 16 only, which takes longest. Each row is printed as it is measured; nothing else should run on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import AsyncIterator, Iterator
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
            (Message("user", f"Set {width}. {shared}Input: {salt + i} {i + 2} 6 7\nTell a long story of it."),), max_tokens=length, seeds=(salt + i,)
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


def cases(engines: list[str], widths: list[int], quick: bool) -> Iterator[tuple[str, int, list[tuple[int, str]]]]:
    """(engine, slots, [(width, shape)]): what is measured in one loading of an engine."""
    for engine in engines:
        pairs = [(width, shape) for width in widths for shape in SHAPES if not (quick and shape == "propose" and width != 16)]
        if engine == "openvino":
            yield engine, max(widths), pairs
        else:
            yield from ((engine, width, [pair for pair in pairs if pair[0] == width]) for width in widths)


async def measure(spec: str, engine: str, slots: int, pairs: list[tuple[int, str]]) -> AsyncIterator[dict[str, Any]]:
    """A cold and a warm row for each width and shape."""
    settings = LocalSettings(slots=slots, context=1024)
    joint = "&" if "?" in spec else "?"
    start = time.perf_counter()
    async with open_model(f"{spec}{joint}engine={engine}", settings=settings) as model:
        load = round(time.perf_counter() - start, 1)
        for width, shape in pairs:
            what = {"engine": engine, "width": width, "shape": shape, "load": load}
            for name, salt in (("cold", 0), ("warm", 1000)):
                yield what | {"round": name} | await one_round(model, shape, width, salt)


async def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every row, told as it comes."""
    rows: list[dict[str, Any]] = []
    for case in cases(options.engines.split(","), [int(w) for w in options.widths.split(",")], options.quick):
        async for row in measure(options.model, *case):
            rows.append(row)
            print("  ".join(f"{k} {v}" for k, v in row.items()), file=sys.stderr if options.json else sys.stdout, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--model", default="local")
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)))
    parser.add_argument("--engines", default="llama,openvino" if installed() else "llama")
    options = parser.parse_args()
    rows = asyncio.run(run(options))
    if options.json:
        print(json.dumps({"model": options.model, "cores": os.cpu_count(), "machine": platform.machine(), "rows": rows}))


if __name__ == "__main__":
    main()
