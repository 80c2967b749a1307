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
    done = subprocess.run([sys.executable, "-W", "error", ROOT / "examples/own_problem.py"], capture_output=True, text=True, timeout=240)
    assert done.stdout == "the waves sing all night\n", done.stderr


def test_every_link_of_the_readme_leads_to_a_file():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_the_readme_names_both_commands():
    assert "make demo" in README
    assert "make test" in README


def test_the_python_block_runs_as_it_stands(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    code = next(block for block in blocks if "open_model" in block)
    script = ROOT / "examples/game24_script.jsonl"
    path = tmp_path / "block.py"
    path.write_text(code.replace("examples/game24_script.jsonl", str(script)), "utf-8")
    done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, timeout=240, cwd=tmp_path)
    assert done.stdout.startswith("(13 - 9) * (10 - 4) = 24 True solved "), done.stderr


def test_a_block_of_commands_holds_no_choice_that_a_shell_would_read_as_pipes():
    for block in re.findall(r"```\n(.*?)```", README, re.DOTALL):
        assert not re.search(r"\w\|\w", block), block


def test_every_extra_is_named_for_a_clone_too():
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        if path.name != "cli.md":
            for line in path.read_text("utf-8").splitlines():
                assert "pip install 'branchwise[" not in line or "clone" in line, (path, line)
