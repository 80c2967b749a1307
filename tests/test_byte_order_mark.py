"""A trace that went through an editor of Windows begins with a byte order mark; it is read, replayed and gone on with."""

from codecs import BOM_UTF8
from pathlib import Path
from random import Random

from branchwise import Budget, TapeModel, Tree, read_trace, solve
from support.runs import random_method, run
from support.trees import snapshot
from support.worlds import Toy


async def test_a_byte_order_mark_is_no_part_of_a_trace(tmp_path: Path) -> None:
    plain, marked = tmp_path / "plain.jsonl", tmp_path / "marked.jsonl"
    toy, method = Toy(3), random_method(Random(3))
    first, _ = await run(toy, method, budget=Budget(calls=20), trace=plain)
    marked.write_bytes(BOM_UTF8 + plain.read_bytes())
    assert snapshot(Tree.fold(read_trace(marked))) == snapshot(first.tree)
    replayed = await solve(toy, method, TapeModel.open(marked), budget=Budget(calls=20))
    assert snapshot(replayed.tree) == snapshot(first.tree)
    resumed, model = await run(toy, method, budget=Budget(calls=20), resume=marked)
    assert snapshot(resumed.tree) == snapshot(first.tree)
    assert model.calls == 0
    assert len(list(read_trace(marked))) > len(list(read_trace(plain)))
