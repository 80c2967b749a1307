"""The README keeps its promises: its own problem is the example, which runs, and its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_own_problem_in_the_readme_is_the_example_and_short():
    code = (ROOT / "examples/own_problem.py").read_text("utf-8")
    shown = code[code.index("import branchwise") :].rstrip()
    assert shown in README
    lines = shown.splitlines()
    whole = next(i for i, line in enumerate(lines) if line.startswith("words ="))
    assert whole < 30, "an own problem fits in 30 lines"


def test_the_own_problem_runs():
    done = subprocess.run([sys.executable, "-W", "error", ROOT / "examples/own_problem.py"], capture_output=True, text=True, timeout=60)
    assert done.stdout == "the waves sing all night\n", done.stderr


def test_every_link_of_the_readme_leads_to_a_file():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_the_readme_names_both_commands():
    assert "make demo" in README
    assert "make test" in README
