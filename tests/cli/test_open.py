"""The open task, own tasks, models by role, a person at the terminal, rescore and fork on the command line."""

from __future__ import annotations

import json
import os
import pty
import select
import time
from pathlib import Path
from typing import Any

import pytest

from branchwise import read_trace
from branchwise.trace import Call, Started
from support.program import HAND, SCRIPT, Program, spawn

EXAMPLE = Path(__file__).parents[2] / "examples" / "postmortem.yaml"
QUESTION = "Should the service cache its sessions?"
RULES: list[dict[str, Any]] = [
    {"role": "generate", "contains": ["different directions"], "replies": ["1. Cache them, because reads dominate\n2. maybe do nothing"]},
    {"role": "generate", "contains": ["next steps"], "replies": ["1. First measure the hit rate\n2. That is impossible"]},
    {"role": "evaluate", "contains": ["maybe do nothing"], "replies": ['{"reason": "vague", "score": 0.2}']},
    {"role": "evaluate", "replies": ['{"reason": "sound", "score": 0.8}']},
    {"role": "answer", "replies": ["Answer: yes, cache them; doing nothing was the runner-up."]},
]


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(RULES), "utf-8")
    return f"script:{path}"


def test_a_question_is_answered_with_directions_steps_scores_and_what_was_pruned(program: Program, script: str) -> None:
    result = program("solve", QUESTION, "--model", script, "--evaluate", "score", "--depth", "2")
    assert result.exit_code == 0, result.output
    for said in (
        "Answer: yes, cache them; doing nothing was the runner-up.",
        "Confidence: 0.80",
        "1. Cache them, because reads dominate   value 0.8",
        "maybe do nothing  [pruned: value 0.2 is below 0.3]",
        "That is impossible  [dead end: it says 'impossible']",
        "Strongest branch that was not taken: maybe do nothing",
        "not known: no program can tell",
    ):
        assert said in result.stdout, result.stdout


def test_a_problem_without_words_needs_a_task(program: Program) -> None:
    result = program("solve", "4 9 10 13")
    assert result.exit_code == 2
    assert "--task NAME" in result.stderr


@pytest.mark.parametrize("how", ["file", "stdin"])
def test_the_question_comes_from_a_file_or_standard_input(program: Program, script: str, tmp_path: Path, how: str) -> None:
    path = tmp_path / "question.txt"
    path.write_text(QUESTION + "\n", "utf-8")
    given = ("-", QUESTION) if how == "stdin" else (f"@{path}", None)
    trace = tmp_path / "t.jsonl"
    result = program("solve", given[0], "--model", script, "--trace", trace, input=given[1])
    assert result.exit_code == 0, result.output
    started = next(iter(read_trace(trace)))
    assert isinstance(started, Started)
    assert started.run["problem"]["prompt"] == QUESTION


def test_material_is_in_every_prompt_and_resume_does_not_need_the_file(program: Program, script: str, tmp_path: Path) -> None:
    material, trace = tmp_path / "design.md", tmp_path / "t.jsonl"
    material.write_text("The cache is a plain dictionary.", "utf-8")
    arguments = ("--model", script, "--context", material)
    assert program("solve", QUESTION, *arguments, "--trace", trace).exit_code == 0
    calls = [event for event in read_trace(trace) if isinstance(event, Call)]
    assert calls
    assert all("plain dictionary" in call.messages[-1]["content"] for call in calls)
    material.unlink()
    assert program("solve", "--resume", trace).exit_code == 0


def test_context_is_refused_where_it_makes_no_sense(program: Program, script: str, tmp_path: Path) -> None:
    for arguments, said in (
        (("solve", HAND, *SCRIPT, "--context", __file__), "no use for --context"),
        (("solve", QUESTION, "--model", script, "--context", tmp_path / "none"), "cannot read the context"),
        (("solve", f"@{tmp_path}/none"), "cannot read the problem"),
    ):
        result = program(*arguments)
        assert result.exit_code == 2, result.output
        assert said in result.stderr


def test_branching_is_k_and_max_nodes_is_the_searchs_own(program: Program, script: str) -> None:
    first = json.loads(program("estimate", QUESTION, "--model", script, "--branching", "2", "--max-nodes", "4", "--json").stdout)
    assert first == json.loads(program("estimate", QUESTION, "--model", script, "--k", "2", "--max-nodes", "4", "--json").stdout)
    more = json.loads(program("estimate", QUESTION, "--model", script, "--k", "2", "--max-nodes", "40", "--json").stdout)
    assert first["expansions"] < more["expansions"] == 7


def test_branch_explosion_is_told_before_it_is_paid(program: Program, script: str) -> None:
    result = program("solve", QUESTION, "--model", script, "--k", "9", "--depth", "6", "--max-nodes", "none", "--max-calls", "3")
    assert "branch explosion" not in result.stderr
    told = program("estimate", QUESTION, "--k", "9", "--depth", "6", "--max-nodes", "none")
    assert "branch explosion" in told.stdout


def test_another_model_judges_and_another_writes(program: Program, script: str, tmp_path: Path) -> None:
    judge, writer = tmp_path / "judge.json", tmp_path / "writer.json"
    judge.write_text(json.dumps([{"role": "evaluate", "replies": ['{"reason": "other", "score": 0.9}']}]), "utf-8")
    writer.write_text(json.dumps([{"role": "answer", "replies": ["Answer: from the writer"]}]), "utf-8")
    models = ("--model", script, "--evaluator-model", f"script:{judge}", "--answer-model", f"script:{writer}")
    trace = tmp_path / "t.jsonl"
    result = program("solve", QUESTION, *models, "--evaluate", "score", "--depth", "1", "--json", "--trace", trace)
    data = json.loads(result.stdout)
    assert data["answer"] == "from the writer"
    assert data["confidence"] == pytest.approx(0.9)
    assert set(data["usage"]["by_role"]) == {"generate", "evaluate", "answer"}
    again = json.loads(program("solve", "--resume", trace, "--json").stdout)
    assert again["answer"] == "from the writer"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--evaluate", "ask"), "must be a terminal"),
        (("--evaluate", "reward", "--model", "local"), "go together"),
        (("--evaluator-model", "reward:http://127.0.0.1:9/x", "--model", "local"), "go together"),
        (("--model", "reward:http://127.0.0.1:9/x"), "gives values only"),
        (("--method", "io", "--evaluator-model", "local"), "--evaluator-model would do nothing"),
        (("--method", "cot_sc",), "no majority"),
        (("--pick", "best"), "--pick"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(program: Program, flags: tuple[str, ...], said: str) -> None:
    result = program("solve", QUESTION, *flags)
    assert result.exit_code == 2, result.output
    assert said in result.stderr


def test_another_pick_is_taken(program: Program, script: str) -> None:
    result = program("solve", QUESTION, "--model", script, "--evaluate", "score", "--pick", "best_value", "--json")
    assert result.exit_code == 0, result.output


def test_a_task_of_ones_own_is_solved_estimated_and_resumed(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = tmp_path / "own.json"
    replies.write_text(json.dumps([{"role": "evaluate", "replies": ['{"reason": "x", "score": 0.8}']}, {"replies": ["1. CAUSE: the disk"]}]))
    flags = ("--task", EXAMPLE, "--model", f"script:{replies}")
    trace = tmp_path / "t.jsonl"
    result = program("solve", "logins time out", *flags, "--trace", trace, "--json")
    assert json.loads(result.stdout)["answer"] == "the disk"
    monkeypatch.chdir(tmp_path)
    assert json.loads(program("solve", "--resume", trace, "--json").stdout)["answer"] == "the disk"
    assert program("estimate", "logins time out", *flags).exit_code == 0
    many = program("solve", *flags, "--items", "1:2", "--out", tmp_path / "rows.jsonl", "--json")
    assert json.loads(many.stdout)["items"] == 2


def test_a_mistake_in_a_task_file_is_told_with_its_line(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nprompt: '{{input}}'\nmethds: io\n", "utf-8")
    result = program("solve", "x", "--task", path)
    assert result.exit_code == 2
    assert "line 3: methds: unknown key; did you mean 'method'" in result.stderr


def test_rescore_and_fork(program: Program, script: str, tmp_path: Path) -> None:
    trace, new, other = (tmp_path / name for name in ("t.jsonl", "new.jsonl", "fork.jsonl"))
    assert program("solve", QUESTION, "--model", script, "--trace", trace, "--max-nodes", "3").exit_code == 0
    result = program("rescore", trace, "--evaluate", "score", "--out", new)
    assert result.exit_code == 0, result.output
    assert "Chosen: the same path as before" in result.stdout
    assert program("show", new).exit_code == 0
    picked = json.loads(program("rescore", trace, "--pick", "best_value", "--json").stdout)
    assert picked["usage"]["calls"] == 0
    assert program("rescore", trace).exit_code == 2
    assert program("solve", "--resume", new).exit_code == 2
    made = program("fork", trace, "--out", other, "--seed", "3")
    assert f"branchwise solve --resume {other}" in made.stdout
    assert json.loads(program("solve", "--resume", other, "--max-nodes", "9", "--json").stdout)["seed"] == 3
    assert program("fork", trace, "--out", other).exit_code == 2


def test_a_person_judges_at_the_terminal(script: str, tmp_path: Path) -> None:
    """On a pseudo-terminal: one value, one that cannot be read and its repetition, one skip."""
    lead, follow = pty.openpty()
    flags = ("--model", script, "--evaluate", "ask", "--depth", "1", "--json", "--trace", tmp_path / "t.jsonl")
    child = spawn("solve", QUESTION, *flags, stdin=follow)
    told = ""
    try:
        for typed in ("0.9\n", "9\n", "\n"):
            asked = told.count("How good is it?")
            end = time.monotonic() + 120
            while told.count("How good is it?") == asked:
                assert time.monotonic() < end, told
                assert child.stderr is not None
                if select.select([child.stderr], [], [], 0.1)[0]:
                    told += os.read(child.stderr.fileno(), 4096).decode()
            os.write(lead, typed.encode())
        out, _ = child.communicate(timeout=240)
    finally:
        os.close(lead)
        os.close(follow)
    assert child.returncode == 0, told
    data = json.loads(out)
    assert data["confidence"] == pytest.approx(0.9)
    assert data["usage"]["by_role"]["evaluate"]["calls"] == 0
    assert "from 0 to 1" in told
