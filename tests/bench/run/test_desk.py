"""The run folder: what may change between two starts and what may not; nothing is lost, nothing is mixed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from branchwise.bench.book import SPENT, Sum, sum_of
from branchwise.bench.desk import Desk
from branchwise.bench.grading.verdicts import Gold
from branchwise.bench.overrides import override
from branchwise.bench.rows import MANIFEST, ROWS, TRACES, read_manifest, read_rows
from branchwise.budget import Budget, Price, Usage
from branchwise.errors import PermanentError, TransientError, UsageError
from branchwise.model.base import Request
from branchwise.model.scripted import Scripted, tokens
from support.bench_grid import by_unit, grid, run

HANDS = "Rank,Puzzles\n1,1 1 4 6\n2,1 1 11 11\n3,1 1 3 8\n"
SAID = Scripted([{"replies": ["Answer: (1 + 1) * 4 * 3 = 24"]}])


def counting() -> tuple[Scripted, list[str]]:
    asked: list[str] = []

    def answer(request: Request, index: int) -> str:
        asked.append(request.messages[-1].content)
        return "The answer is 3."

    return Scripted(answer), asked


def test_started_again_it_runs_nothing_and_changes_nothing(tmp_path: Path) -> None:
    model, asked = counting()
    made = grid(methods=["io", "cot"])
    rows = run(made, tmp_path, model, command="first")
    before, count = (tmp_path / ROWS).read_bytes(), len(asked)
    assert run(made, tmp_path, model, command="second") == rows
    assert len(asked) == count
    assert (tmp_path / ROWS).read_bytes() == before
    manifest = read_manifest(tmp_path)
    assert [entry["command"] for entry in manifest["commands"]] == ["first", "second"]
    assert all(entry["versions"]["branchwise"] for entry in manifest["commands"])
    assert manifest["prompts"]["gsm8k"]
    assert manifest["data"]["gsm8k"]["sha256"]
    assert manifest["settings_hash"] == made.manifest()["settings_hash"]


@pytest.mark.parametrize(
    "more",
    [
        {"methods": ["io", "cot", "cot_sc?k=2"]},
        {"seeds": [0, 1]},
        {"tasks": [{"task": "gsm8k", "items": "1:3"}]},
        {"tasks": [{"task": "gsm8k", "items": "1:2"}, {"task": "svamp", "items": "1"}]},
        {"models": [{"label": "m", "model": "local"}, {"label": "n", "model": "local"}]},
    ],
)
def test_a_grid_may_grow(tmp_path: Path, more: dict[str, Any]) -> None:
    model, asked = counting()
    base: dict[str, Any] = {"methods": ["io", "cot"]}
    first = by_unit(run(grid(**base), tmp_path, model))
    count = len(asked)
    second = by_unit(run(grid(**{**base, **more}), tmp_path, model))
    assert {unit: second[unit] for unit in first} == first
    assert len(second) > len(first)
    assert len(asked) - count == len(second) - len(first) + sum(row.method == "cot_sc?k=2" for row in second.values())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"budget": {"calls": 9}}, "budget"),
        ({"temperature": 0.1}, "temperature"),
        ({"max_tokens": 50}, "max tokens"),
        ({"equal": "tokens"}, "equal budget"),
        ({"methods": [{"label": "io", "method": "io", "samples": 2}]}, "method io"),
        ({"models": [{"label": "m", "model": "http://127.0.0.1:9/v1#another"}]}, "model under the name m"),
        ({"methods": ["cot"]}, "does not name"),
        ({"tasks": [{"task": "gsm8k", "items": "1"}]}, "does not name"),
        ({"overrides": {"gsm8k": {"own-01": Gold("5", note="x")}}}, "does not name"),
    ],
)
def test_a_changed_setting_is_refused_unless_forced(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    model, _ = counting()
    first = run(grid(), tmp_path, model)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(UsageError, match=told):
        run(grid(**change), tmp_path, model)
    assert files == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}, "nothing was touched"
    said: list[str] = []
    rows = run(grid(**change), tmp_path, model, force=True, said=said)
    assert {row.unit for row in rows} == {unit.id for unit in grid(**change).units}
    assert "set aside" in said[0]
    assert (tmp_path / f"{ROWS}.1.old").read_bytes() == files[ROWS]
    kept = by_unit(rows)
    assert all(kept[row.unit] == row for row in first if row.unit in kept), "rows that the change leaves as they are stay"


def test_another_version_of_a_data_file_is_refused_and_forced_it_runs_what_changed(tmp_path: Path) -> None:
    """Case 37."""
    data, out = tmp_path / "24.csv", tmp_path / "out"
    data.write_text(HANDS)
    where: dict[str, Any] = {"data": data, "tasks": [{"task": "game24", "items": "1:3"}]}
    first = by_unit(run(grid(**where), out, SAID))
    data.write_text(HANDS.replace("1 1 11 11", "1 1 11 12"))
    with pytest.raises(UsageError, match="data of game24"):
        run(grid(**where), out, SAID)
    second = by_unit(run(grid(**where), out, SAID, force=True))
    assert len(second) == 3
    assert {row.item for unit, row in second.items() if unit not in first} == {"2"}
    assert {row.data for row in first.values()} != {row.data for unit, row in second.items() if unit not in first}


def test_rows_without_a_manifest_are_refused(tmp_path: Path) -> None:
    """Case 84: the check is not skipped because the file with the settings is gone."""
    model, _ = counting()
    rows = run(grid(), tmp_path, model)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(UsageError, match=f"no {MANIFEST}"):
        run(grid(), tmp_path, model)
    assert run(grid(), tmp_path, model, force=True) == rows


def test_a_cut_row_is_run_again(tmp_path: Path) -> None:
    """Case 84: the cut line is dropped with a notice, its unit run again from its trace, and appended on a fresh line."""
    model, asked = counting()
    rows = run(grid(), tmp_path, model)
    path = tmp_path / ROWS
    path.write_bytes(path.read_bytes()[:-20])
    count, said = len(asked), list[str]()
    assert run(grid(), tmp_path, model, said=said) == rows
    assert any("the last line is cut" in text for text in said)
    assert len(asked) == count, "the trace has its replies"
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_failed_units_are_run_again_when_that_is_asked_for(tmp_path: Path) -> None:
    broken = True

    def answer(request: Request, index: int) -> str:
        if broken:
            raise TransientError("the server is away")
        return "The answer is 3."

    model = Scripted(answer)
    assert {row.status for row in run(grid(), tmp_path, model)} == {"failed"}
    broken = False
    assert {row.status for row in run(grid(), tmp_path, model)} == {"failed"}
    rows = run(grid(), tmp_path, model, retry_failed=True)
    assert {(row.status, row.answer) for row in rows} == {("ok", "3")}
    assert read_rows(tmp_path) == rows
    assert len(list((tmp_path / TRACES).glob("*.old"))) == 2


def failing_second() -> tuple[Scripted, list[Usage]]:
    """A model whose every second call fails for good, paid for with 5 and 2 tokens; and what it was asked for, as its server bills it."""
    billed: list[Usage] = []

    async def fails(request: Request) -> None:
        if len(billed) % 2:
            billed.append(Usage(calls=1, prompt_tokens=5, completion_tokens=2))
            error = PermanentError("away")
            error.spent = (5, 2)
            raise error

    def answer(request: Request, index: int) -> str:
        text = "The answer is 3."
        billed.append(Usage(calls=1, prompt_tokens=tokens("".join(m.content for m in request.messages)), completion_tokens=tokens(text)))
        return text

    return Scripted(answer, latency=fails), billed


def billed_sum(billed: list[Usage]) -> Sum:
    price = Price(1, 1)
    return sum((sum_of(usage.costing(price.cost(usage.prompt_tokens, usage.completion_tokens))) for usage in billed), Sum())


def test_what_was_paid_for_failed_units_counts_for_ever(tmp_path: Path) -> None:
    """A unit of which every second call fails, five starts with a limit of 6 calls: 2, 4, 6 were sent, then nothing more."""
    model, billed = failing_second()
    made = grid(tasks=[{"task": "gsm8k", "items": "1"}], methods=["refine?rounds=2"])
    sent: list[int] = []
    for number in range(5):
        rows = run(made, tmp_path, model, limits=Budget(calls=6), price=Price(1, 1), retry_failed=number > 0)
        sent.append(len(billed))
        assert [row.status for row in rows] == (["failed"] if number < 3 else [])
        with Desk(made, tmp_path) as desk:
            assert desk.spent() == billed_sum(billed)
    assert sent == [2, 4, 6, 6, 6]
    assert billed_sum(billed).tokens == billed_sum(billed).cost > 6 * 7


@pytest.mark.parametrize("limit", ["tokens", "cost"])
def test_tokens_and_dollars_that_were_paid_count_for_ever_too(tmp_path: Path, limit: str) -> None:
    """A limit that two starts and the worst case of another request fill: the server is never asked for more, however often one tries again."""
    made = grid(tasks=[{"task": "gsm8k", "items": "1"}], methods=["refine?rounds=2"], max_tokens=50)
    model, billed = failing_second()
    run(made, tmp_path / "free", model, price=Price(1, 1))
    twice = billed_sum(billed) + billed_sum(billed)
    model, billed = failing_second()
    room = twice.tokens + 4000
    limits = Budget(tokens=room) if limit == "tokens" else Budget(cost=room / 1e6)
    for number in range(400):
        run(made, tmp_path / "limited", model, limits=limits, price=Price(1, 1), retry_failed=number > 0)
        if len(billed) < 2 * (number + 1):
            break
    assert 4 < len(billed) < 800
    count = len(billed)
    run(made, tmp_path / "limited", model, limits=limits, price=Price(1, 1), retry_failed=True)
    assert len(billed) == count
    assert billed_sum(billed).tokens <= room
    with Desk(made, tmp_path / "limited") as desk:
        assert desk.spent() == billed_sum(billed)


def test_what_was_paid_for_rows_that_force_sets_aside_counts_for_ever(tmp_path: Path) -> None:
    """Two calls under one setting, two under the next: with a limit of 5, one more; then none, also when rows and traces are gone."""
    model, asked = counting()
    for number, (temperature, sent) in enumerate([(0.1, 2), (0.2, 4), (0.3, 5), (0.4, 5)]):
        run(grid(temperature=temperature), tmp_path, model, limits=Budget(calls=5), force=number > 0, jobs=1)
        assert len(asked) == sent
    (tmp_path / ROWS).unlink()
    shutil.rmtree(tmp_path / TRACES)
    run(grid(temperature=0.4), tmp_path, model, limits=Budget(calls=5))
    assert len(asked) == 5
    with Desk(grid(temperature=0.4), tmp_path) as desk:
        assert desk.spent().calls == 5


def test_a_folder_without_a_book_begins_one_with_what_its_rows_and_traces_tell(tmp_path: Path) -> None:
    """As an earlier version left it: two calls in rows that are set aside, two in rows that stay."""
    model, asked = counting()
    run(grid(temperature=0.1), tmp_path, model)
    run(grid(temperature=0.2), tmp_path, model, force=True)
    (tmp_path / SPENT).unlink()
    for _ in range(2):
        with Desk(grid(temperature=0.2), tmp_path) as desk:
            assert desk.spent().calls == 4 == len(asked)
    (tmp_path / SPENT).unlink()
    with Desk(grid(temperature=0.3), tmp_path, force=True) as desk:
        assert desk.spent().calls == 4, "counted before rows are set aside"


def test_two_benches_do_not_write_to_one_folder(tmp_path: Path) -> None:
    with Desk(grid(), tmp_path), pytest.raises(UsageError, match="another process"), Desk(grid(), tmp_path):
        pass


def test_a_trace_of_other_settings_is_set_aside_and_the_unit_begins_anew(tmp_path: Path) -> None:
    model, _ = counting()
    made = grid(tasks=[{"task": "gsm8k", "items": "1"}])
    trace = tmp_path / TRACES / f"{made.units[0].id}.jsonl"
    trace.parent.mkdir(parents=True)
    trace.write_text('{"something": "else"}\n')
    said: list[str] = []
    (row,) = run(made, tmp_path, model, said=said)
    assert row.status == "ok"
    assert "cannot be gone on with" in said[0]
    assert trace.with_suffix(".old").exists()


def test_servers_of_a_model_may_come_and_go(tmp_path: Path) -> None:
    model, asked = counting()
    address = "http://127.0.0.1:{}/v1#m"
    first = run(grid(models=[{"label": "m", "model": address.format(9)}]), tmp_path, model)
    more = grid(models=[{"label": "m", "model": [address.format(8), address.format(7)]}], methods=["io", "cot"])
    count = len(asked)
    rows = by_unit(run(more, tmp_path, model))
    assert len(asked) == count + 2
    assert all(rows[row.unit] == row for row in first)


def test_a_gold_that_is_overridden_otherwise_is_refused_by_its_item(tmp_path: Path) -> None:
    def own(gold: str) -> dict[str, Any]:
        return {"overrides": {"gsm8k": {"own-01": override(gold, "as the book says")}}}

    model, _ = counting()
    run(grid(**own("5")), tmp_path, model)
    with pytest.raises(UsageError, match=r"another gold of gsm8k item own-01 \(5, now 6\)"):
        run(grid(**own("6")), tmp_path, model)
