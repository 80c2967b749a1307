"""Files of others: never changed, never followed into endless work, and told apart with a clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchwise.cli.record import Record
from branchwise.errors import PromptError, TraceError, UsageError
from branchwise.rows import Rows
from branchwise.tasks.yaml_file import read_yaml
from branchwise.thought.prompts import load_folder
from branchwise.trace import Birth, Expanded, Recorder, Started, Steered, read_trace


@pytest.mark.parametrize("text", ["my only copy", "a,b\n1,2\nlast line", '{"mine": 1}', '{"id": 1}\ncut', "{"])
def test_a_foreign_results_file_is_left_byte_for_byte(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    if text == "{":  # what a kill can leave of a header
        with Rows(path, {}):
            return
    with pytest.raises(UsageError), Rows(path, {}):
        pass
    assert path.read_text() == text


def test_a_cut_row_of_our_own_results_is_still_dropped(tmp_path: Path) -> None:
    path, notices = tmp_path / "rows.jsonl", []
    with Rows(path, {"seed": 0}) as rows:
        rows.append({"id": "1", "stop_reason": "solved"})
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id": "2", "st')
    with Rows(path, {"seed": 0}, notice=notices.append) as rows:
        assert set(rows.done) == {"1"}
    assert path.read_bytes() == whole
    assert len(notices) == 1


def test_a_trace_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first = Recorder(path)
    with pytest.raises(TraceError, match="another run is writing"):
        Recorder(path)
    first.close()
    Recorder(path).close()


@pytest.mark.parametrize("event", [Expanded(1, 7), Expanded(1, 0, [Birth(1, 0, 5)])])  # type: ignore[arg-type]
def test_events_that_do_not_fit_are_a_trace_error(tmp_path: Path, event: Expanded) -> None:
    recorder = Recorder(tmp_path / "run.jsonl")
    recorder.write(Started({}, {}))
    recorder.write(event)
    recorder.close()
    with pytest.raises(TraceError, match="do not fit together"):
        Record.read(tmp_path / "run.jsonl")


@pytest.mark.parametrize(
    "fields",
    [
        {"act": 7}, {"after": "1"}, {"after": None}, {"after": True}, {"node": "2"}, {"text": ["x"]}, {"label": 1}, {"by": {}},
        {"budget": [1]}, {"budget": {"calls": "many"}}, {"budget": {"calls": None}}, {"dropped": [1, "2"]}, {"dropped": 5},
    ],
)  # fmt: skip
def test_an_act_of_odd_types_is_no_line_of_a_trace(tmp_path: Path, fields: dict[str, object]) -> None:
    """It would be done again where the trace is replayed."""
    act = {"act": "prune", "after": 1, "node": 2, "label": "0", "text": "t", "budget": {}, "dropped": [3], "by": "me"}
    recorder = Recorder(tmp_path / "run.jsonl")
    recorder.write(Started({}, {}))
    recorder.write(Steered(**act))  # type: ignore[arg-type]
    recorder.write(Steered(**{**act, **fields}))  # type: ignore[arg-type]
    recorder.close()
    events = read_trace(tmp_path / "run.jsonl")
    assert [type(next(events)) for _ in range(2)] == [Started, Steered]
    with pytest.raises(TraceError, match="line 3: not a line of a Branchwise trace"):
        next(events)


def test_aliases_do_not_multiply(tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    nested = "".join(f"  a{i}: &a{i} {{p: *a{i - 1}, q: *a{i - 1}}}\n" for i in range(1, 40))
    path.write_text(f"prompts:\n  a0: &a0 {{p: x}}\n{nested}")
    assert "prompts" in read_yaml(path).data
    lists = "".join(f", &b{i} [{', '.join([f'*b{i - 1}'] * 10)}]" for i in range(1, 12))
    path.write_text(f"summary: [&b0 [x, x]{lists}]\n")
    with pytest.raises(UsageError, match="must be a text, not a list"):
        read_yaml(path).get("summary", str, "")


def test_a_prompt_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "propose.txt").write_bytes(b"\xff")
    with pytest.raises(PromptError, match="not UTF-8 text"):
        load_folder(tmp_path, ["propose"])
