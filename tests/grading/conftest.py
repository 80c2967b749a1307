"""One guarded worker for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from branchwise.bench.grading.pool import Worker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """A worker with more time than usual: tests share the machine."""
    with Worker(seconds=10) as found:
        yield found
