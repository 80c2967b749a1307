"""docs/tasks.md is what tools/task_docs.py makes of the code, and every task × method works or is refused with a reason."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from branchwise import MethodError
from branchwise.errors import UnknownName
from branchwise.methods import METHODS
from branchwise.tasks import TASKS

ROOT = Path(__file__).parents[2]


def test_the_tables_are_those_of_the_code() -> None:
    spec = importlib.util.spec_from_file_location("task_docs", ROOT / "tools" / "task_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (ROOT / "docs" / "tasks.md").read_text("utf-8")
    assert text == module.page(text), "run: python tools/task_docs.py"


@pytest.mark.parametrize("name", TASKS)
def test_every_method_works_or_is_refused_by_name(name: str) -> None:
    for method in METHODS:
        if method in TASKS[name].methods:
            assert TASKS[name].method(method).name == method
        else:
            with pytest.raises((MethodError, UnknownName), match=method):
                TASKS[name].method(method)
