"""Tokens and what a key may spend: files are checked, budgets hold exactly, and no token is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from branchwise import Budget, Usage, UsageError
from branchwise.server.keys import OPEN_DOOR, Account, Keys, Spent

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"


def file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "tokens"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_file_of_tokens_with_limits(tmp_path: Path) -> None:
    text = f"# who may ask\nann {TOKEN} max_calls=10 max_cost=0.5\n\nbob {OTHER}  # no limits of his own\n"
    keys = Keys.load(file(tmp_path, text), {"tokens": 1000})
    assert keys.needed
    ann, bob = keys.find(TOKEN), keys.find(OTHER)
    assert ann is not None
    assert bob is not None
    assert (ann.name, ann.limits) == ("ann", {"tokens": 1000, "calls": 10, "cost": 0.5})
    assert (bob.name, bob.limits) == ("bob", {"tokens": 1000})
    for wrong in ("", TOKEN[:-1], TOKEN + "0", "ann"):
        assert keys.find(wrong) is None
    assert TOKEN not in repr(vars(keys))


def test_a_token_alone_is_a_key_of_its_own_name(tmp_path: Path) -> None:
    found = Keys.load(file(tmp_path, TOKEN + "\n")).find(TOKEN)
    assert found is not None
    assert found.name == "default"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no token"), ("# nothing\n", "no token"), ("ann short", "too short"), (f"ann {TOKEN}\nann {OTHER}", "twice"),
        (f"ann {TOKEN}\nbob {TOKEN}", "twice"), (f"ann {TOKEN} max_call=3", "did you mean 'max_calls'"), (f"ann {TOKEN} max_calls=0", "positive"),
        (f"ann {TOKEN} max_cost=inf", "positive"), (f"ann {TOKEN} max_calls=x", "positive"), (f"anonymous {TOKEN}", "name of everybody"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_refused_with_the_line_and_no_token(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as error:
        Keys.load(file(tmp_path, text))
    assert TOKEN not in str(error.value)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="chmod 600"):
        Keys.load(file(tmp_path, TOKEN, 0o644))
    with pytest.raises(UsageError, match="cannot be read"):
        Keys.load(tmp_path / "none")


def test_without_tokens_everybody_is_one_key() -> None:
    keys = Keys(limits={"calls": 5})
    assert not keys.needed
    found = keys.find("anything")
    assert found is keys.find("")
    assert found is not None
    assert (found.name, found.limits) == (OPEN_DOOR, {"calls": 5})


def test_what_is_held_and_spent_lowers_the_next_budget_and_what_was_not_spent_comes_back() -> None:
    account = Account("ann", {"calls": 10, "cost": 1.0})
    first, hold = account.hold(Budget(calls=6))
    assert (first.calls, first.cost) == (6, 1.0)
    with pytest.raises(Spent) as spent:
        account.hold(Budget())
    assert (spent.value.limit, spent.value.held) == ("cost", True)
    hold.settle(Usage(calls=2, cost=250_000))
    second, other = account.hold(Budget(calls=400, seconds=3))
    assert (second.calls, second.cost, second.seconds) == (8, 0.75, 3)
    other.settle(Usage(calls=8))
    with pytest.raises(Spent) as spent:
        account.hold(Budget())
    assert (spent.value.limit, spent.value.held) == ("calls", False)


def test_a_key_without_limits_lowers_nothing() -> None:
    budget = Budget(calls=3)
    assert Account("ann").hold(budget)[0] == budget
