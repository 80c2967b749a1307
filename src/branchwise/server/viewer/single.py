"""A run as one HTML file that needs nothing else: the same page, with the trace inside as inert JSON. Knows no server."""

from __future__ import annotations

import base64
import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from branchwise.errors import TraceError
from branchwise.server.viewer.files import asset, scripts

__all__ = ["single_page"]

_WORTH = 40
"""Texts of at least this many characters that occur again are written once: prompts repeat a lot."""


def single_page(trace: Path) -> str:
    """The HTML of one run. Nothing in the trace can become markup: in the data every `<`, `>` and `&` is written as an escape.

    A cut last line is left out. Raises `TraceError` for a file that is no trace.
    """
    style, script = asset("page.css"), joined()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        '<meta name="policy">': f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<link rel="stylesheet" href="viewer/page.css">': f"<style>{style}</style>",
        '<script type="module" src="viewer/main.js"></script>': (
            f'<script type="application/json" id="data">{_data(trace)}</script>\n<script type="module">{script}</script>'
        ),
    }
    page = asset("page.html")
    for place, text in parts.items():
        before, found, after = page.partition(place)
        if not found:
            raise AssertionError(f"the page lacks {place}")
        page = before + text + after
    return page


def joined() -> str:
    """All scripts of the page as one: each file after those that it imports, without the lines that import and the word export."""
    order: list[str] = []

    def visit(name: str) -> None:
        for other in re.findall(r'^import .* from "\./(.+)";$', asset(name), re.MULTILINE):
            if other not in order:
                visit(other)
        if name not in order:
            order.append(name)

    visit("main.js")
    unused = set(scripts()) - set(order)
    if unused:
        raise AssertionError(f"no script imports {unused}")
    return "\n".join(re.sub(r"^export ", "", re.sub(r"^import .*\n", "", asset(name), flags=re.MULTILINE), flags=re.MULTILINE) for name in order)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(trace: Path) -> str:
    numbers: dict[str, int] = {}
    try:
        events = [_shared(event, numbers) for event in _events(trace)]
        data = orjson.dumps({"name": trace.name.removesuffix(".jsonl"), "texts": list(numbers), "events": events}).decode()
    except (RecursionError, orjson.JSONEncodeError) as error:
        raise TraceError(f"{trace} holds something that is nested too deeply: it is not a trace of this version of Branchwise") from error
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


def _events(trace: Path) -> Iterator[dict[str, Any]]:
    at = 0
    try:
        with open(trace, "rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return
                event = orjson.loads(line.removeprefix(BOM_UTF8))
                if not isinstance(event, dict):
                    raise ValueError("not an event")
                event["at"] = at
                if event.get("event") == "call":
                    for sample in event["samples"]:
                        sample.pop("logprobs", None)
                yield event
                at += len(line)
    except OSError as error:
        raise TraceError(f"cannot read the trace {trace}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise TraceError(f"{trace}, byte {at}: not a line of a Branchwise trace") from error


def _shared(value: Any, numbers: dict[str, int]) -> Any:
    """The same value with long texts as `{"$": number}`."""
    if isinstance(value, str):
        return {"$": numbers.setdefault(value, len(numbers))} if len(value) >= _WORTH else value
    if isinstance(value, list):
        return [_shared(item, numbers) for item in value]
    if isinstance(value, dict):
        return {key: _shared(item, numbers) for key, item in value.items()}
    return value
