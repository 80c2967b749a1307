"""Writes the conformance table in docs/models.md from the tests of the fault server's quirks. Run it after a change there; a test compares.

python tools/conformance.py
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests" / "model" / "test_quirks.py"
QUIRKS = ROOT / "tests" / "fault_quirks.py"
PAGE = ROOT / "docs" / "models.md"
BEGIN, END = "<!-- conformance: made by tools/conformance.py -->", "<!-- end of conformance -->"


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The top-level functions of a file that have a docstring, in order."""
    nodes = ast.parse(path.read_text("utf-8")).body
    return [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(n)]


def rows() -> list[tuple[str, str, str]]:
    """(quirks, what the gateway does, test) from the docstrings "quirk, quirk: behaviour"."""
    found = []
    for function in functions(TESTS):
        quirks, _, behaviour = " ".join((ast.get_docstring(function) or "").split()).partition(": ")
        if function.name.startswith("test_"):
            found.append((quirks, behaviour, function.name))
    return found


def tested() -> set[str]:
    """Names of quirks that a row speaks of."""
    words = " ".join(quirks for quirks, _, _ in rows())
    return {word.strip("(),") for word in words.split()}


def table() -> str:
    """The generated part of the page."""
    lines = ["| quirk of the server | what the gateway does | test |", "|---|---|---|"]
    lines += [f"| {quirks} | {behaviour.rstrip('.')} | `{test}` |" for quirks, behaviour, test in rows()]
    lines += ["", "What each quirk is (`python tests/fault_server.py --list`):", "", "| quirk | what the server does |", "|---|---|"]
    described = sorted((f.name, " ".join((ast.get_docstring(f) or "").split())) for f in functions(QUIRKS) if f.decorator_list)
    lines += [f"| `{name}` | {text} |" for name, text in described]
    return "\n".join(lines)


def page(text: str) -> str:
    """`text` of the page with its generated part made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
