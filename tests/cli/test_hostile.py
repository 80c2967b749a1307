"""Text of a model is text: no escape, markup or hidden character of it reaches the terminal, in any command."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path

import pytest

from branchwise.cli.text import document, line, plain, shorten
from support.program import DATA, HAND, Program, spawn

NASTY = "\x1b[2J\x1b]0;owned\x07[bold red]x[/bold red] [link=file:///etc]y[/] :smile: \u202etxet\u202c \u200bz \x9b31m \r\b\x00 [/nope"
BAD = set("\x1b\x07\x9b\x08\x00\u202e\u202c\u200b\r")


def script(tmp_path: Path) -> str:
    path = tmp_path / "nasty.jsonl"
    steps = f"13 - 9 = 4 (left: 4 4 10) {NASTY}\n{NASTY}\n9 - 4 = 5 (left: 5 10 13)"
    rules = [
        {"role": "generate", "contains": ["STATE 4 9 10 13 END"], "replies": [steps]},
        {"role": "generate", "contains": ["STATE"], "replies": [NASTY]},
        {"role": "evaluate", "replies": [f"likely {NASTY}", NASTY]},
        {"replies": [f"{NASTY}\nAnswer: {NASTY} = 24"]},
    ]
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    return f"script:{path}"


@pytest.mark.parametrize("method", ["tot_bfs", "tot_dfs", "io", "cot_sc"])
def test_nothing_of_it_reaches_the_output(program: Program, tmp_path: Path, method: str) -> None:
    trace = tmp_path / "t.jsonl"
    flags = ("--task", "game24", "--model", script(tmp_path), "--prompts", DATA / "prompts", "--method", method)
    outputs = [program("solve", HAND, *flags, "--trace", trace), program("solve", HAND, *flags, "--json")]
    outputs += [program("show", trace), program("show", trace, "--all"), program("show", trace, "--json")]
    for result in outputs:
        assert result.exit_code in (0, 3), result.output
        assert not BAD & set(result.output)
    assert "[bold red]x[/bold red]" in outputs[3].stdout
    assert ":smile:" in outputs[3].stdout
    shown = json.dumps(json.loads(outputs[4].stdout), ensure_ascii=False)
    assert "\u202e" in shown, "the document holds the text as it was"


def test_nor_on_a_terminal(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    flags = ("--task", "game24", "--model", script(tmp_path), "--prompts", DATA / "prompts", "--trace", tmp_path / "t.jsonl")
    child = spawn("solve", HAND, *flags, stdout=follower, stderr=follower)
    os.close(follower)
    drawn = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        drawn += part
    child.communicate(timeout=240)
    os.close(leader)
    text = drawn.decode()
    assert not set("\x07\x9b\x00\u202e\u202c\u200b") & set(text)
    assert "owned" not in text.replace("\\x1b]0;owned", "")
    assert "\x1b[2J" not in text


def test_a_hostile_problem_and_path_are_harmless_in_errors(program: Program) -> None:
    for arguments in (
        ["solve", NASTY.replace("\x00", ""), "--task", "game24"],
        ["show", "/tmp/\x1b[2J"],
        ["solve", "x", "--task", "\x1b[31m"],
    ):
        result = program(*arguments)
        assert result.exit_code == 2
        assert not BAD & set(result.output)


def test_plain_text_stays_as_it_is() -> None:
    for text in ("4 × 6 = 24", "日本語\n한국어\tx", "é ü", "a [b] {c}", "🙂"):
        assert plain(text) == text
    assert plain("\ud800") == "\\ud800"
    assert line("a\n  b\r\nc") == "a ⏎ b ⏎ c"
    assert shorten("abcdef", 4) == "abc…"


def test_documents_keep_the_data() -> None:
    data = {"a": NASTY, "b": ["日本", None, 1.5]}
    text = document(data)
    assert json.loads(text) == data
    assert not BAD & set(text)
    assert "日本" in text
