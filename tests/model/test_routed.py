"""Models by role."""

from pathlib import Path

import pytest

from branchwise import Beam, Method, Propose, Routed, TapeModel, UsageError, Value, solve
from branchwise.model.base import LanguageModel
from branchwise.model.scripted import Scripted
from support.models import FakeModel
from support.worlds import Toy


@pytest.mark.parametrize("judge", [False, True])
async def test_a_recorded_run_is_not_one_of_several_models(tmp_path: Path, judge: bool) -> None:
    """It answers in every role: what another model says in its place is not what its tree was made of, nor is its cost as recorded."""
    toy = Toy()
    method = Method(name="m", generate=Propose(k=2), evaluate=Value(samples=1), search=Beam(breadth=1, depth=1))
    await solve(toy, method, FakeModel(toy.reply), seed=1, trace=tmp_path / "t.jsonl")
    tape, other = TapeModel.open(tmp_path / "t.jsonl"), Scripted([{"replies": ["x"]}])
    pair: tuple[LanguageModel, LanguageModel] = (other, tape) if judge else (tape, other)
    with pytest.raises(UsageError, match=r"t\.jsonl is a recorded run, which answers in every role"):
        Routed(pair[0], {"evaluate": pair[1]})
    assert Routed(tape, {}).name == tape.name
