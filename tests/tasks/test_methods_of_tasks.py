"""Which methods a task takes: help lists those, they are accepted, and all others are refused in the same words."""

from __future__ import annotations

import dataclasses
import re

import pytest

from branchwise.cli.options import methods_by_task_help
from branchwise.cli.settings import merge
from branchwise.errors import MethodError, UnknownName
from branchwise.methods import METHODS
from branchwise.server.asked import read_name
from branchwise.server.config import Config
from branchwise.server.faults import Refusal
from branchwise.tasks import TASKS

EVERY = [(task, method) for task in TASKS for method in METHODS]
UNSUITED = [(task, method) for task, method in EVERY if method not in TASKS[task].methods]


def listed() -> dict[str, set[str]]:
    """What help says, read as a person reads it: tasks before the colon, methods after it."""
    text = re.sub(r"\n    +", " ", methods_by_task_help())
    lines = [line.strip().partition(": ") for line in text.splitlines()]
    return {task: set(methods.split(", ")) for tasks, _, methods in lines for task in tasks.split(", ")}


def test_help_lists_every_task_with_the_methods_that_it_takes() -> None:
    assert listed() == {name: set(task.methods) for name, task in TASKS.items()}


def test_a_task_names_methods_that_there_are_and_gives_a_reason_for_all_others() -> None:
    for task in TASKS.values():
        assert len(task.methods) == len(set(task.methods))
        assert {*task.methods, *task.refused} == set(METHODS)
        assert not set(task.methods) & set(task.refused)


@pytest.mark.parametrize(("task", "method"), EVERY, ids=" ".join)
def test_what_is_listed_is_accepted(task: str, method: str) -> None:
    flags = {"task": task, "method": method, "problem": "x"}
    if (task, method) not in UNSUITED:
        assert method in listed()[task]
        assert merge(flags).make_method().name == method
        return
    expected = f"task {task} has no use for method {method}: {TASKS[task].refused[method]}; it takes {', '.join(TASKS[task].methods)}"
    with pytest.raises(MethodError) as refused:
        merge(flags)
    assert str(refused.value) == expected
    with pytest.raises(MethodError) as refused:
        TASKS[task].method(method)
    assert str(refused.value) == expected


def test_a_server_refuses_in_the_same_words() -> None:
    for task, method in UNSUITED:
        with pytest.raises(Refusal) as refused:
            read_name(f"{task}/{method}", Config(tasks=TASKS), {"local": "local"})
        with pytest.raises(MethodError, match=re.escape(str(refused.value))):
            TASKS[task].check_method(method)


def test_a_task_without_a_reason_says_the_rest() -> None:
    task = dataclasses.replace(TASKS["game24"], refused={}, methods=("io", "cot"))
    with pytest.raises(MethodError) as refused:
        task.check_method("mcts")
    assert str(refused.value) == "task game24 has no use for method mcts; it takes io, cot"


def test_a_method_that_nobody_knows_is_an_unknown_name() -> None:
    for task in TASKS.values():
        with pytest.raises(UnknownName, match=f"unknown method of task {task.name} 'nothing'"):
            task.check_method("nothing")
