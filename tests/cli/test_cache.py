"""`--cache`, `branchwise cache` and `branchwise doctor`, as a user types them."""

from __future__ import annotations

import json

from support.program import HAND, SCRIPT, Program


def _usage(program: Program, *flags: str) -> dict[str, int]:
    result = program("solve", HAND, *SCRIPT, "--json", *flags)
    assert result.exit_code == 0, result.stderr
    usage: dict[str, int] = json.loads(result.stdout)["usage"]
    return usage


def test_a_second_run_with_the_cache_on_pays_nothing_and_says_so(program: Program) -> None:
    first, second, third = _usage(program, "--cache", "on"), _usage(program, "--cache", "read"), _usage(program)
    assert second["calls"] == 0
    assert second["cached_calls"] == first["calls"] == third["calls"] > 0
    info = json.loads(program("cache", "info", "--json").stdout)
    assert info["entries"] == first["calls"]
    assert f"{first['calls']:,} replies removed" in program("cache", "clear").stdout
    assert json.loads(program("cache", "info", "--json").stdout)["entries"] == 0


def test_clear_refuses_a_negative_age(program: Program) -> None:
    assert program("cache", "clear", "--older-than", "-1").exit_code == 2


def test_doctor_checks_a_model_and_what_a_script_cannot_tell_is_left_out(program: Program, tmp_path) -> None:
    script = tmp_path / "m.json"
    script.write_text(json.dumps([{"replies": ["yes", "no", '{"score": 1}']}]))
    result = program("doctor", "--model", f"script:{script}", "--json")
    found = {row["check"]: row["ok"] for row in json.loads(result.stdout)["findings"]}
    assert found["model"] is True
    assert set(found) == {"model", "script", "cache", "disk"}
    assert result.exit_code == (1 if False in found.values() else 0)
