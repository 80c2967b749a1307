"""Settings that could only hang or fill the memory, or that mean nothing, are refused when the part is built."""

import pytest

from branchwise import (
    Beam,
    BestFirst,
    Chain,
    DepthFirst,
    Mcts,
    Propose,
    Sample,
    Score,
    SelfReward,
    UsageError,
    Value,
    Vote,
    preset,
    solve_sync,
)
from support.models import FakeModel
from support.worlds import Toy

HUGE = 10**21
NAN = float("nan")


@pytest.mark.parametrize(
    "build",
    [
        lambda: Value(samples=HUGE), lambda: Vote(votes=HUGE), lambda: Score(samples=HUGE), lambda: SelfReward(samples=HUGE),
        lambda: Sample(k=HUGE), lambda: Propose(k=HUGE), lambda: Propose(repeats=HUGE), lambda: Beam(depth=HUGE), lambda: Chain(depth=HUGE),
        lambda: DepthFirst(depth=HUGE), lambda: BestFirst(depth=HUGE), lambda: Beam(prune_below=NAN), lambda: BestFirst(prune_below=NAN),
        lambda: DepthFirst(prune_at=NAN), lambda: Mcts(exploration=NAN),
    ],
)  # fmt: skip
def test_a_setting_without_sense_is_refused_at_once(build):
    with pytest.raises(UsageError):
        build()


async def test_solve_sync_in_a_running_loop_says_what_to_write():
    toy = Toy()
    with pytest.raises(UsageError, match="await solve"):
        solve_sync(toy, preset("io").make(), FakeModel(toy.reply))
