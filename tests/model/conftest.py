"""A fault server for each test that asks, and requests to send to it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from branchwise.model.base import Message, Request


def _load_fault_server() -> Any:
    if "fault_server" not in sys.modules:
        path = Path(__file__).parents[1] / "fault_server.py"
        spec = importlib.util.spec_from_file_location("fault_server", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["fault_server"] = module
        spec.loader.exec_module(module)
    return sys.modules["fault_server"]


@pytest.fixture
async def faults() -> AsyncIterator[Any]:
    """A running fault server."""
    async with _load_fault_server().FaultServer() as server:
        yield server


@pytest.fixture
def ask() -> Callable[..., Request]:
    """Makes a request of one user message."""

    def make(text: str = "What is 4 + 8?", **changes: Any) -> Request:
        return Request((Message("user", text),), **changes)

    return make
