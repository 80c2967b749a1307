"""How fast the local engine is at the work of a search: tokens a second, cold and warm, at several widths.

    python benchmarks/local.py [--json] [--model local:smollm2-135m] [--widths 1,8,16]

`propose` is a prompt of some 400 shared tokens with replies of 60; `value` the same with replies of 10. Cold is the first round, in which
the shared beginning is computed; warm is the next. Replies are cut at these lengths, so that rounds are alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import replace
from typing import Any

from branchwise.model.base import LanguageModel, Message, Request
from branchwise.model.local import LocalSettings
from branchwise.model.registry import open_model, parse_spec

STEP = "Input: 4 9 10 13\n13 - 9 = 4 (left: 4 4 10)\n10 - 4 = 6 (left: 4 6)\n4 * 6 = 24 (left: 24)\n"
SHAPES = {"propose": ("Worked examples of next steps.\n" + STEP * 6, 60), "value": ("Worked examples of judgements.\n" + STEP * 6, 10)}


async def one_round(model: LanguageModel, shape: str, width: int, salt: int) -> dict[str, float]:
    """`width` requests at once: tokens a second, and the share of prompt tokens that were not computed."""
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


async def measure(spec: str, widths: list[int]) -> list[dict[str, Any]]:
    """A row for each width and shape, in a new engine each, so that cold is cold."""
    rows = []
    for width in widths:
        for shape in SHAPES:
            settings = replace(LocalSettings(), slots=width, context=1024)
            async with open_model(parse_spec(spec), settings=settings) as model:
                for temperature, salt in (("cold", 0), ("warm", 1000)):
                    rows.append({"width": width, "shape": shape, "round": temperature} | await one_round(model, shape, width, salt))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--model", default="local")
    parser.add_argument("--widths", default="1,8,16")
    options = parser.parse_args()
    rows = asyncio.run(measure(options.model, [int(w) for w in options.widths.split(",")]))
    if options.json:
        print(json.dumps({"model": options.model, "rows": rows}))
        return
    for row in rows:
        print("  ".join(f"{k} {v}" for k, v in row.items()))


if __name__ == "__main__":
    main()
