"""Writes the generated parts of docs/tasks.md from the code. Run it after a change of a task or a method; a test compares.

python tools/task_docs.py
"""

from __future__ import annotations

from pathlib import Path

from branchwise.bench.keyring import GRADED, JUDGED
from branchwise.data.sets import DATASETS
from branchwise.errors import UsageError
from branchwise.methods import METHODS
from branchwise.tasks import TASKS

PAGE = Path(__file__).parents[1] / "docs" / "tasks.md"
BEGIN, END = "<!-- made by tools/task_docs.py -->", "<!-- end -->"


def own(name: str) -> str:
    """How many items of its own a task has."""
    try:
        return f"{len(TASKS[name].items()):,}"
    except UsageError:
        return "none: give your own"


def graded(name: str) -> str:
    """Who says whether an answer is right."""
    return "the constraint; marks by a judge" if name in JUDGED else "yes" if name in GRADED else ""


def tasks() -> list[str]:
    """A line a task."""
    lines = ["| task | what | default method | own items | public set | graded by a program |", "|---|---|---|---|---|---|"]
    for name, task in TASKS.items():
        entry = DATASETS.get(name)
        public = "" if entry is None else f"{entry.items:,} ({entry.licence})"
        lines.append(
            f"| `{name}` | {task.summary} | `{task.default_method}` | {own(name)} | {public} | {graded(name)} |"
        )
    return lines


def groups() -> list[list[str]]:
    """Tasks that take and refuse the same methods, together."""
    found: dict[tuple[object, ...], list[str]] = {}
    for name, task in TASKS.items():
        found.setdefault((task.default_method, task.methods, tuple(sorted(task.refused))), []).append(name)
    return list(found.values())


def matrix() -> list[str]:
    """Methods by tasks: ● the default, ○ works, - refused (the reason is below), empty: unknown to the task."""
    columns = groups()
    lines = ["| method | " + " | ".join(", ".join(names) for names in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for method in METHODS:
        cells = []
        for names in columns:
            task = TASKS[names[0]]
            cells.append("●" if method == task.default_method else "○" if method in task.methods else "-" if method in task.refused else "")
        lines.append(f"| `{method}` | " + " | ".join(cells) + " |")
    return lines


def refusals() -> list[str]:
    """Why what is refused is refused."""
    lines = []
    for names in groups():
        reasons: dict[str, list[str]] = {}
        for method, reason in TASKS[names[0]].refused.items():
            reasons.setdefault(reason, []).append(f"`{method}`")
        lines += [f"- {', '.join(names)}: {', '.join(methods)}: {reason}." for reason, methods in reasons.items()]
    return lines


def settings() -> list[str]:
    """The settings that differ from a preset's own."""
    lines = ["| tasks | method | settings |", "|---|---|---|"]
    for names in groups():
        for method, values in TASKS[names[0]].settings.items():
            shown = ", ".join(f"{key} {value}" for key, value in values.items())
            lines.append(f"| {', '.join(names)} | `{method}` | {shown} |")
    return lines


def generated() -> str:
    """All tables."""
    parts = [
        *tasks(),
        "",
        "## Methods",
        "",
        "● the default, ○ works, - refused with the reason below, empty: not offered.",
        "",
        *matrix(),
        "",
    ]
    parts += ["What is refused, and why:", "", *refusals(), "", "Settings that differ from those of the method:", "", *settings()]
    return "\n".join(parts)


def page(text: str) -> str:
    """`text` of the page with its generated part made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
