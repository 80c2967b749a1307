"""Text for terminals: model text made harmless, numbers made readable, JSON made inert. Knows no run."""

from __future__ import annotations

import json
import re
import sys
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["amount", "console", "document", "dollars", "error_console", "line", "plain", "plural", "safe_text", "seconds", "shorten", "value"]

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters (line break and tab left out), marks that reorder or hide text, and halves of characters."""


def plain(text: object) -> str:
    """`text` with everything that could steer a terminal or hide in it written out: an escape becomes `\\x1b`."""
    return _UNSAFE.sub(_written, str(text).replace("\r\n", "\n"))


def _written(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def line(text: object) -> str:
    """`text` on one line: breaks become ` ⏎ `, other space one blank."""
    return re.sub(r"[ \t]+", " ", re.sub(r"\s*\n\s*", " ⏎ ", plain(text).strip()))


def shorten(text: object, width: int) -> str:
    """`text` on one line of at most `width` characters."""
    whole = line(text)
    return whole if len(whole) <= width else whole[: max(1, width - 1)] + "…"


def safe_text(text: object, style: str = "") -> Text:
    """`text` for rich: never read as markup."""
    from rich.text import Text

    return Text(plain(text), style=style)


def console(file: IO[str] | None = None) -> Console:
    """A console on standard output. Off a terminal it writes no control characters, whatever the environment says."""
    from rich.console import Console

    stream = sys.stdout if file is None else file
    is_terminal = bool(getattr(stream, "isatty", lambda: False)())
    return Console(file=stream, force_terminal=is_terminal, markup=False, highlight=False, emoji=False, soft_wrap=True)


def error_console() -> Console:
    """The same on standard error."""
    return console(sys.stderr)


def document(data: Any) -> str:
    """One JSON document. Control and bidi characters are escaped, so that it can be shown on a terminal; the data is the same."""
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)
    return re.sub(_UNSAFE, _escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def plural(count: int, noun: str) -> str:
    """`1 call`, `2,000 calls`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def amount(limit: object) -> str:
    """A limit as it was given: `20,000`, `0.05`, `1.5`."""
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    return f"{limit:,}" if isinstance(limit, (int, float)) else str(limit)


def dollars(cost: float | None) -> str:
    """`$0.0123`, or `unknown`."""
    return "unknown" if cost is None else "$0" if not cost else f"${cost:.4f}" if cost < 1 else f"${cost:,.2f}"


def seconds(duration: float) -> str:
    """`0.42 s`, `12.3 s`, `3 min 5 s` or `62 h 35 min`."""
    if duration < 60:
        return f"{duration:.{2 if duration < 1 else 1}f} s"
    minutes = int(duration // 60)
    return f"{minutes} min {int(duration % 60)} s" if minutes < 120 else f"{minutes // 60:,} h {minutes % 60} min"


def value(number: float | None) -> str:
    """A value in [0, 1] with three digits; `?` for unknown."""
    return "?" if number is None else f"{number:.3g}"
