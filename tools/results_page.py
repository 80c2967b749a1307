"""A page from a results file: what each problem came to, and what was spent, as it was. Prints Markdown.

    python tools/results_page.py RESULTS.jsonl "TITLE" "COMMAND" > docs/PAGE.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def page(path: Path, title: str, command: str) -> str:
    """The page of one results file."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    header = next((line for line in lines if "id" not in line), {})
    rows = [line for line in lines if "id" in line]
    out = [f"# {title}", "", f"```\n{command}\n```", ""]
    versions = rows[0].get("versions") or header.get("versions") or {}
    if versions:
        out += ["Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ".", ""]
    heads = ("item", "solved", "answer", "ended", "calls", "prompt tokens", "of them cached", "reply tokens", "seconds")
    out += ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows:
        usage = row["usage"]
        answer = "-" if row["answer"] is None else f"`{row['answer']}`"
        cells = (
            row["id"], "yes" if row["solved"] else "no", answer, row["stop_reason"], usage["calls"], usage["prompt_tokens"],
            usage["cached_prompt_tokens"], usage["completion_tokens"], round(row["seconds"]),
        )  # fmt: skip
        out.append("| " + " | ".join(map(str, cells)) + " |")
    names = ("calls", "prompt_tokens", "cached_prompt_tokens", "completion_tokens")
    total = {name: sum(row["usage"][name] for row in rows) for name in names}
    solved, seconds = sum(bool(row["solved"]) for row in rows), sum(row["seconds"] for row in rows)
    out += [
        "",
        f"**{solved} of {len(rows)} solved** with {total['calls']:,} calls, {total['prompt_tokens']:,} prompt tokens "
        f"({total['cached_prompt_tokens']:,} of them from the engine's cache), {total['completion_tokens']:,} reply tokens, {seconds:,.0f} seconds.",
    ]
    return "\n".join(out) + "\n"


def main() -> None:
    """Print the page."""
    path, title, command = sys.argv[1:4]
    sys.stdout.write(page(Path(path), title, command))


if __name__ == "__main__":
    main()
