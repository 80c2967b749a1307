"""Why a run ended, in words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from branchwise.cli.ends import reason
from branchwise.methods import METHODS
from branchwise.server.viewer.files import asset
from support.program import HAND, Program


@pytest.mark.parametrize(
    ("stop", "method", "with_answer", "without"),
    [
        ("max_depth", "io", "its one reply was made", "its one reply held no answer"),
        ("max_depth", "cot", "its one reply was made", "its one reply held no answer"),
        ("exhausted", "cot", "its one reply was made", "its one reply held no answer"),
        ("max_depth", "cot_sc", "all its replies were made", "none of its replies held an answer"),
        ("max_depth", "best_of_n", "all its replies were made", "none of its replies held an answer"),
        ("max_depth", "cot_sc?k=5", "all its replies were made", "none of its replies held an answer"),
        ("max_depth", "cot@gsm8k", "its one reply was made", "its one reply held no answer"),
        ("max_depth", "refine", "the chain is at its end", "the chain is at its end"),
        ("exhausted", "refine", "nothing was left to try", "nothing was left to try"),
        ("max_depth", "tot_bfs", "the search reached its depth", "the search reached its depth"),
        ("max_depth", "a method of yours", "the search reached its depth", "the search reached its depth"),
        ("budget:calls", "io", "the limit on calls was reached", "the limit on calls was reached"),
        ("solved", "io", "a solution was proven", "a solution was proven"),
        ("new word", "io", "new word", "new word"),
    ],
)
def test_an_end_in_words(stop: str, method: str, with_answer: str, without: str) -> None:
    assert (reason(stop, method), reason(stop, method, answered=False)) == (with_answer, without)


def test_a_method_of_one_level_is_never_said_to_have_reached_a_depth() -> None:
    shallow = {name for name in METHODS if reason("max_depth", name) != "the search reached its depth"}
    assert shallow == {"io", "cot", "cot_sc", "best_of_n", "refine", "tot_dfs_no_backtrack"}


@pytest.mark.parametrize(("method", "said"), [("cot", "its one reply held no answer"), ("cot_sc", "none of its replies held an answer")])
def test_solve_and_show_say_the_same_and_the_trace_keeps_the_machines_word(program: Program, tmp_path: Path, method: str, said: str) -> None:
    (tmp_path / "s.jsonl").write_text('{"replies": ["nothing comes to mind"]}\n')
    trace = tmp_path / "t.jsonl"
    flags = ("--task", "game24", "--model", f"script:{tmp_path / 's.jsonl'}", "--method", method, "--trace", trace)
    assert f"Stopped: max_depth ({said})" in program("solve", HAND, *flags).stdout
    assert f"Stopped: max_depth ({said})" in program("show", trace).stdout
    assert json.loads(program("show", trace, "--json").stdout)["stop_reason"] == "max_depth"


def test_a_row_of_many_problems_says_it_in_words(program: Program, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"replies": ["nothing comes to mind"]}\n')
    flags = ("--task", "game24", "--model", f"script:{tmp_path / 's.jsonl'}", "--method", "io", "--items", "1:1", "--out", tmp_path / "o.jsonl")
    said = program("solve", *flags).stderr
    assert ": no answer, its one reply held no answer (1 call, " in said


def test_the_page_says_the_same() -> None:
    script = asset("ends.js")
    one = dict(re.findall(r'^  (\w+): "(.*)",$', script, re.M))
    two = {name: (first, second) for name, first, second in re.findall(r'^  (\w+): \["(.*)", "(.*)"\],$', script, re.M)}
    assert one == {stop: reason(stop) for stop in ("solved", "exhausted", "max_depth", "approved", "cancelled", "failed")}
    shallow = {name for name in METHODS if reason("exhausted", name) != reason("exhausted")}
    assert two == {name: (reason("max_depth", name), reason("max_depth", name, answered=False)) for name in shallow}
