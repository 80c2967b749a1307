"""A person as evaluator: free, on the tape, never asked twice; what was typed is read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchwise import BestFirst, Budget, Combine, Heuristic, Method, Propose, Result, Routed, best_path, solve
from branchwise.errors import Unsupported
from branchwise.model.base import Message, Request
from branchwise.model.person import Person
from branchwise.model.scripted import Scripted
from branchwise.thought.ask import Ask, asks, read_judgement
from support.worlds import PROMPTS, Drawn


class Task(Drawn):
    prompts = PROMPTS


METHOD = Method(generate=Propose(k=2), evaluate=Ask(), search=BestFirst(depth=1), pick=best_path)


async def run(typed: list[str], **settings: object) -> tuple[Result, list[str]]:
    shown: list[str] = []

    async def ask(text: str) -> str:
        shown.append(text)
        return typed.pop(0)

    generate = Scripted([{"replies": ["1. one\n2. two"]}])
    model = Routed(generate, {"evaluate": Person(ask)})
    return await solve(Task({}), METHOD, model, **settings), shown  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("0.7", 0.7), ("0,7", 0.7), (" 1 ", 1.0), ("0", 0.0), ("70%", 0.7), ("sure", 1.0), ("L", 0.5), ("imp", 0.0), ("unlikely", 0.2),
        ("skip", None), ("", None), ("?", None),
    ],
)  # fmt: skip
def test_a_value_a_label_or_skip_is_read(typed: str, value: float | None) -> None:
    assert read_judgement(typed) == value


@pytest.mark.parametrize("typed", ["7", "-0.1", "1.01", "nan", "inf", "good", "0.5 or so", "101%"])
def test_anything_else_is_no_judgement(typed: str) -> None:
    with pytest.raises(ValueError, match="from 0 to 1, sure, likely"):
        read_judgement(typed)


async def test_a_person_values_states_and_costs_no_call() -> None:
    result, shown = await run(["0.4", "sure"], budget=Budget(calls=1))
    assert [node.value for node in result.tree] == [0.4, 1.0]
    assert result.usage.calls == 1
    assert result.by_role["evaluate"].calls == 0
    assert len(shown) == 2
    assert "one" in shown[0]


async def test_skip_is_unknown_and_does_not_count_as_unreadable() -> None:
    result, _ = await run(["", "0.4"])
    assert [node.value for node in result.tree] == [None, 0.4]
    assert result.tree.unparsed == 0


async def test_nobody_is_asked_again_on_resume(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    first, _ = await run(["0.4", "skip"], trace=trace)
    again, shown = await run([], resume=trace)
    assert shown == []
    assert [node.value for node in again.tree] == [node.value for node in first.tree] == [0.4, None]


async def test_a_run_cut_in_the_middle_asks_only_what_is_missing(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    await run(["0.4", "0.6"], trace=trace)
    lines = trace.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"call"' in line or b'"started"' in line][:3]
    trace.write_bytes(b"".join(kept))
    again, shown = await run(["0.9"], resume=trace)
    assert len(shown) == 1
    assert [node.value for node in again.tree] == [0.4, 0.9]


async def test_a_person_writes_no_thoughts() -> None:
    async def ask(text: str) -> str:
        raise AssertionError

    with pytest.raises(Unsupported):
        await Person(ask).sample(Request((Message("user", "x"),)))


def test_who_asks_is_known_also_inside_a_combination() -> None:
    assert asks(Ask())
    assert asks(Combine(Heuristic(), Ask()))
    assert not asks(Combine(Heuristic()))
    assert not asks(None)
