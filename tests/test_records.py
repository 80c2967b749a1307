"""Values that are frozen for the type checker only are otherwise what a frozen dataclass is."""

import copy
import dataclasses
import pickle

import pytest

from branchwise import Evaluation, Message, Proposal, Reply, Request, Usage
from branchwise.model.base import Sample
from branchwise.records import record
from branchwise.trace import Birth, Expanded

VALUES = [
    Usage(1, 2), Message("user", "a"), Proposal("a", 0.5), Evaluation(0.5, (0.5, None)), Sample("a", usage=Usage(1)), Reply((Sample("a"),), "m"),
    Request((Message("user", "a"),)), Expanded(1, 0, (Birth(1, 0, "a"),)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_they_are_compared_hashed_copied_and_replaced(value: object) -> None:
    assert dataclasses.is_dataclass(value)
    first = dataclasses.fields(value)[0].name
    for same in (copy.deepcopy(value), pickle.loads(pickle.dumps(value)), dataclasses.replace(value)):  # type: ignore[type-var]
        assert same == value
        assert hash(same) == hash(value)
    assert dataclasses.replace(value, **{first: 0.25}) != value  # type: ignore[type-var]
    assert not hasattr(value, "__dict__")


def test_a_frozen_class_of_a_users_own_can_inherit_from_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Weighed(Evaluation):
        weight: float = 1.0

    found = Weighed(0.5, weight=2.0)
    assert (found.value, found.weight) == (0.5, 2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.value = 0.1  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):

        @dataclasses.dataclass
        class Loose(Evaluation):  # type: ignore[misc]
            weight: float = 1.0


def test_a_loose_record_is_no_value() -> None:
    @record(frozen=False, slots=True)
    class Open:
        x: int = 0

    with pytest.raises(TypeError, match="unhashable"):
        hash(Open())
