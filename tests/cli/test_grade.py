"""`branchwise grade`: counts and shares by name, one JSON document, broken files, the data that golds are taken from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.data import SHARED, shared
from support.program import Program


def write(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n", "utf-8")
    return path


def test_four_samples_of_two_items(program: Program, tmp_path: Path) -> None:
    samples = ["#### 1", "#### 2", "#### 3", "no idea"]
    path = write(tmp_path / "o.jsonl", {"id": "a", "outputs": samples, "gold": "1"}, {"id": "b", "outputs": samples, "gold": "9"})
    result = program("grade", "--task", "gsm8k", path, "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert {key: data["summary"][key] for key in ("mean_at_k", "pass_at_k", "k", "correct", "no_answer", "outputs")} == {
        "mean_at_k": 0.125, "pass_at_k": 0.5, "k": 4, "correct": 1, "no_answer": 2, "outputs": 8,
    }  # fmt: skip
    assert {"id", "verdict", "extracted", "gold"} <= set(data["items"][0])
    text = program("grade", "--task", "gsm8k", path).stdout
    assert "mean_at_k       12.5 %" in text
    assert "pass_at_k       50.0 %" in text


def test_a_broken_file_has_failed_rows_and_no_crash(program: Program, tmp_path: Path) -> None:
    path = write(
        tmp_path / "o.jsonl",
        "{",
        {"id": "own-01"},
        {"id": "own-01", "output": "Answer: 14"},
        "\x00\x1b[31m",
        {"id": "\x1b[2Jx", "output": "y"},
    )
    result = program("grade", "--task", "svamp", path)
    assert result.exit_code == 0
    assert "failed             4" in result.stdout
    assert "\x1b" not in result.stdout


def test_mathematics_is_graded_and_a_tower_is_no_hang(program: Program, tmp_path: Path) -> None:
    outputs = {
        "own-03": r"$x=\boxed{4}$ and $x=\boxed{-1}$", "own-02": r"\boxed{5/3}", "own-01": r"\boxed{5^{5^{5^{5^5}}}}", "own-05": r"\boxed{(-1,4)}",
    }  # fmt: skip
    path = write(tmp_path / "o.jsonl", *({"id": key, "output": text} for key, text in outputs.items()))
    data = json.loads(program("grade", "--task", "math500", path, "--json").stdout)
    assert [row["verdict"] for row in data["items"]] == ["correct", "correct", "failed", "wrong"]
    assert "unknown (limit)" in data["items"][2]["reason"]


@pytest.mark.parametrize(
    ("name", "line", "verdict"),
    [
        ("gsm8k", {"index": 1, "output": "#### 18"}, "correct"),
        ("game24", {"index": 901, "output": "Answer: (10 - 6) * 5 + 4 = 24"}, "correct"),
        ("game24", {"id": "901", "output": "Answer: (10 - 4) * (9 - 5) = 24"}, "wrong"),
        ("math500", {"id": "test/precalculus/807.json", "output": r"\boxed{(3, \pi/2)}"}, "correct"),
        ("strategyqa", {"id": "e0044a7b4d146d611e73", "output": "The answer is no"}, "correct"),
        ("odyssey", {"id": "Problem_1", "output": "Answer: 16"}, "correct"),
        ("aime24", {"index": 1, "output": "Answer: 204"}, "correct"),
        ("amc23", {"id": 0, "output": r"\boxed{27}"}, "correct"),
        ("olympiadbench", {"id": 1606, "output": r"\boxed{2}"}, "correct"),
        ("svamp", {"id": "chal-1", "output": "51 dollars"}, "correct"),
        ("gsm_hard", {"index": 1, "output": "Answer: -$9,867,630"}, "correct"),
    ],
)
@pytest.mark.parametrize("how", ["flag", "environment"])
def test_golds_of_the_public_sets(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: dict[str, Any], verdict: str, how: str
) -> None:
    shared("")
    path = write(tmp_path / "o.jsonl", line)
    if how == "environment":
        monkeypatch.setenv("BRANCHWISE_DATA", str(SHARED))
    result = program("grade", "--task", name, path, "--json", *(("--data", SHARED) if how == "flag" else ()))
    data = json.loads(result.stdout)
    assert data["items"][0]["verdict"] == verdict
    assert "the registered version" in data["summary"]["data"]


def test_an_override_is_used_and_told(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "o.jsonl", {"id": "own-01", "output": "#### 15"})
    own = write(tmp_path / "fix.jsonl", {"id": "own-01", "gold": "15", "reason": "misprint"})
    result = program("grade", "--task", "gsm8k", path, "--overrides", own)
    assert "correct            1" in result.stdout
    assert "misprint" in result.stderr
    write(own, {"id": "own-01"})
    assert program("grade", "--task", "gsm8k", path, "--overrides", own).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--task", "open", "o.jsonl"), "no program can grade"),
        (("--task", "gsm8", "o.jsonl"), "did you mean 'gsm8k'"),
        (("--task", "gsm8k", "missing.jsonl"), "cannot read"),
        (("--task", "gsm8k", "empty.jsonl"), "holds no outputs"),
        (("--task", "gsm8k", "o.jsonl", "--data", "nowhere"), "nowhere"),
    ],
)
def test_wrong_usage(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "o.jsonl", {"id": "own-01", "output": "x"})
    (tmp_path / "empty.jsonl").write_text("\n", "utf-8")
    result = program("grade", *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_standard_input(program: Program) -> None:
    result = program("grade", "--task", "gsm8k", "-", input='{"id": "own-01", "output": "#### 14"}\n')
    assert "correct            1" in result.stdout


def test_results_of_solve_and_a_folder_are_graded(program: Program, tmp_path: Path) -> None:
    script = write(tmp_path / "script.jsonl", {"contains": ["pears"], "replies": ["the answer is $14"]}, {"contains": [], "replies": ["no idea"]})
    out = tmp_path / "results.jsonl"
    flags = ("--task", "gsm8k", "--method", "io", "--items", "1:3", "--model", f"script:{script}", "--trace", "none", "--quiet")
    assert program("solve", *flags, "--out", out).exit_code == 0
    for path in (out, tmp_path):
        summary = json.loads(program("grade", "--task", "gsm8k", path, "--json").stdout)["summary"]
        assert (summary["items"], summary["correct"], summary["wrong"], summary["no_answer"]) == (3, 1, 1, 1)
    (tmp_path / "none").mkdir()
    assert program("grade", "--task", "gsm8k", tmp_path / "none").exit_code == 2


def test_crosswords_are_scored_by_letters_words_and_games(program: Program, tmp_path: Path) -> None:
    rows = ["SPARE", "COLON", "ALOUD", "RANGE", "FREED"]
    path = write(
        tmp_path / "o.jsonl",
        {"id": "1", "outputs": ["\n".join(rows), "no idea"]},
        {"id": "2", "output": "h1. THUMB"},
        {"id": "3", "answer": "CRIME LEMON INPUT FALSE FLYER"},
    )
    data = json.loads(program("grade", "--task", "crosswords", path, "--json").stdout)
    assert [row["verdict"] for row in data["items"]] == ["correct", "no_answer", "wrong", "correct"]
    assert data["items"][2]["extracted"] == "THUMB _____ _____ _____ _____"
    assert data["items"][2]["scores"] == {"letters": 0.2, "words": 0.1, "game": 0.0}
    summary = data["summary"]
    assert summary["game"] == summary["mean_at_k"] == pytest.approx(1.5 / 3)
    assert summary["pass_at_k"] == pytest.approx(2 / 3)
    assert summary["letters"] == pytest.approx((0.5 + 0.2 + 1) / 3)
    text = program("grade", "--task", "crosswords", path).stdout
    assert "letters         56.7 %" in text
    assert "words           53.3 %" in text


def test_the_published_crosswords_log_has_its_published_scores(program: Program, tmp_path: Path) -> None:
    log = shared("crosswords/infoss_dfs_prune.json")
    assert program("import", log, "--out", tmp_path / "run").exit_code == 0
    summary = json.loads(program("grade", "--task", "crosswords", tmp_path / "run", "--data", SHARED, "--json").stdout)["summary"]
    assert [round(100 * summary[name], 1) for name in ("letters", "words", "game")] == [78.0, 60.0, 20.0]


def test_writing_needs_a_judge_and_says_how_it_is_named(program: Program, tmp_path: Path) -> None:
    ends = ["The bus never came.", "She sang.", "Nobody had a clock.", "That was all."]
    passage = "\n\n".join(f"It began well. {end}" for end in ends)
    path = write(
        tmp_path / "o.jsonl",
        {"id": "a", "output": passage, "gold": ends},
        {"id": "b", "output": "One paragraph.", "gold": "\n".join(ends)},
        {"id": "c", "output": "", "gold": ends},
        {"id": "d", "output": passage, "gold": "One sentence."},
    )
    refused = program("grade", "--task", "writing", path)
    assert refused.exit_code == 2
    assert "--judge MODEL" in refused.stderr
    assert program("grade", "--task", "gsm8k", path, "--judge", "local").exit_code == 2
    data = json.loads(program("grade", "--task", "writing", path, "--judge", "none", "--json").stdout)
    assert [row["verdict"] for row in data["items"]] == ["correct", "wrong", "no_answer", "invalid_gold"]
    assert data["summary"]["constraint"] == pytest.approx(1 / 3)
    assert "judge" not in data["summary"]
    marks = ["Thus the coherency score is 7", "Thus the coherency score is 9", "I cannot say", "Thus the coherency score is 8", "8/10"]
    rules = ({"role": "judge", "contains": ["It began well."], "replies": marks}, {"contains": [], "replies": ["2/10"]})
    script = write(tmp_path / "judge.jsonl", *rules)
    data = json.loads(program("grade", "--task", "writing", path, "--judge", f"script:{script}", "--json").stdout)
    first, second, third, _ = (row.get("scores", {}) for row in data["items"])
    assert first["marks"] == [7, 9, None, 8, 8]
    assert (first["coherence"], first["spread"]) == (8, pytest.approx(0.8165, abs=1e-4))
    assert (second["coherence"], "coherence" in third) == (2, False)
    assert data["summary"]["coherence"] == 5
    judge = data["summary"]["judge"]
    assert (judge["passages"], judge["marks"], judge["unread"], judge["usage"]["calls"]) == (2, 5, 1, 10)
    text = program("grade", "--task", "writing", path, "--judge", f"script:{script}").stdout
    assert "coherence         5.00" in text


@pytest.mark.parametrize("given", ["none", "3", "0"])
def test_places_are_a_number_or_none_as_everywhere(program: Program, tmp_path: Path, given: str) -> None:
    """Case 98."""
    path = write(tmp_path / "o.jsonl", {"id": "a", "output": "#### 1", "gold": "1"})
    result = program("grade", "--task", "gsm8k", path, "--parallel", given)
    assert result.exit_code == (2 if given == "0" else 0)
