"""`branchwise estimate`: no model is called, no weights are loaded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from branchwise.model.prices import Prices
from support.program import HAND, SCRIPT, Program

TASK = ("--task", "game24")


def test_states_calls_tokens_dollars_and_the_formula_are_told(program: Program) -> None:
    result = program("estimate", HAND, *TASK, "--k", "3", "--breadth", "2", "--samples", "3")
    assert result.exit_code == 0, result.output
    for said in ("15 generated, 15 judged", "calls   51", "tokens", "cost    $0", "5 + 45 + 1 = 51 calls", "No budget limits it"):
        assert said in result.stdout


def test_a_hosted_model_is_priced_without_a_key_and_an_unknown_one_is_unknown(program: Program) -> None:
    known = json.loads(program("estimate", HAND, *TASK, "--model", "openai:gpt-4o-mini", "--json").stdout)
    assert known["cost_usd"] > 0
    unknown = json.loads(program("estimate", HAND, *TASK, "--model", "http://127.0.0.1:9/v1#m", "--json").stdout)
    assert unknown["cost_usd"] is None
    assert "not known" in program("estimate", HAND, *TASK, "--model", "http://127.0.0.1:9/v1#m").stdout


def test_the_date_of_the_prices_is_told(program: Program, tmp_path: Path) -> None:
    hosted = ("estimate", HAND, *TASK, "--model", "openai:gpt-4o-mini")
    date = Prices.builtin().date
    assert f"prices as of {date}" in program(*hosted).stdout
    assert json.loads(program(*hosted, "--json").stdout)["prices_date"] == date
    own = tmp_path / "prices.json"
    own.write_text('{"date": "2031-02-03", "models": {"gpt-4o-mini": {"prompt": 1, "completion": 1}}}')
    assert "prices as of 2031-02-03" in program(*hosted, "--prices", str(own)).stdout
    local = program("estimate", HAND, *TASK, "--model", "local", "--json")
    assert json.loads(local.stdout)["prices_date"] is None, "nothing was priced by the table"


def test_weights_that_are_not_here_are_not_fetched(program: Program) -> None:
    assert program("estimate", HAND, *TASK, "--model", "local").exit_code == 0
    assert program("estimate", HAND, *TASK, "--model", "local:/nowhere/file.gguf").exit_code == 0


def test_a_budget_cuts_it(program: Program) -> None:
    data = json.loads(program("estimate", HAND, *TASK, "--max-calls", "10", "--json").stdout)
    assert data["calls"] == 10
    assert data["bounded"] is True


def test_many_problems_add_up(program: Program) -> None:
    one = json.loads(program("estimate", HAND, *TASK, "--json").stdout)
    two = json.loads(program("estimate", *TASK, "--items", "1:2", "--json").stdout)
    assert (two["problems"], two["calls"]) == (2, 2 * one["calls"])
    assert program("estimate", *TASK, "--items", "1:2").exit_code == 0


@pytest.mark.parametrize("method", ["io", "cot", "cot_sc", "refine", "tot_bfs", "tot_dfs"])
def test_a_run_stays_below_it(program: Program, method: str) -> None:
    worst = json.loads(program("estimate", HAND, *SCRIPT, "--method", method, "--json").stdout)
    run = json.loads(program("solve", HAND, *SCRIPT, "--method", method, "--json", "--trace", "none").stdout)
    assert run["usage"]["calls"] <= worst["calls"]
    assert run["usage"]["prompt_tokens"] <= worst["prompt_tokens"]
    assert run["usage"]["completion_tokens"] <= worst["completion_tokens"]


def test_numbers_have_one_style_and_one_is_no_plural(program: Program) -> None:
    told = program("estimate", HAND, *TASK, "--k", "60", "--breadth", "50").stdout
    assert "expand 1 state of depth 0 × 1 call = 1\n" in told
    assert "expand 50 states of depth 1 × 1 call = 50\n" in told
    assert "judge 3,000 states of depth 2 = 9,000 calls\n" in told
    assert "write the answer = 1 call\n" in told
    assert "total 101 + 18,180 + 1 = 18,282 calls\n" in told
    assert "No budget limits it. 18,282 calls are the most that this method can make." in told
    assert "Warning: branch explosion: up to 6,060 states and 18,282 calls, and" in told
    assert not re.search(r"\b1 \w+s\b|\d{4}", told)
    assert "No budget limits it. 1 call is the most" in program("estimate", HAND, *TASK, "--method", "io").stdout


def test_the_whole_tree_is_told_in_that_style(program: Program) -> None:
    told = program("estimate", HAND, *TASK, "--method", "best_first", "--k", "12", "--max-nodes", "none").stdout
    assert "the whole tree: 12^3 = 1,728 leaves, 1,884 thoughts on all levels\n" in told
    told = program("estimate", HAND, *TASK, "--method", "best_first", "--k", "1", "--depth", "1").stdout
    assert "the whole tree: 1^1 = 1 leaf, 1 thought on all levels\n" in told
