"""Public data files that lie beside the checkout, in ../shared/data. A test that needs one is skipped where the folder is missing."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared(path: str) -> Path:
    """The data file at `path` under ../shared/data."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is not here")
    return SHARED / path
