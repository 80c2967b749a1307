"""Where the command line keeps things: the only reader of the environment. Knows no run."""

from __future__ import annotations

import os
import secrets
from datetime import datetime
from pathlib import Path

__all__ = ["CACHE", "DATA", "HOME", "MODELS", "cache_file", "data_folder", "environment", "home", "new_trace", "task_data", "weights_folder"]

HOME = "BRANCHWISE_HOME"
"""The folder for traces; default: `branchwise` in the user's state folder."""
MODELS = "BRANCHWISE_MODELS"
"""The folder for weights; default: `branchwise/models` in the user's cache."""
CACHE = "BRANCHWISE_CACHE"
"""The file of the reply cache; default: `branchwise/replies.db` in the user's cache."""
DATA = "BRANCHWISE_DATA"
"""The folder for public data sets; default: `branchwise/data` in the user's cache."""


def home() -> Path:
    """Where runs are kept."""
    own = os.environ.get(HOME, "").strip()
    if own:
        return Path(own).expanduser()
    from platformdirs import user_state_dir

    return Path(user_state_dir("branchwise"))


def weights_folder() -> Path | None:
    """Where weights are kept; `None` for the default."""
    own = os.environ.get(MODELS, "").strip()
    return Path(own).expanduser() if own else None


def data_folder() -> Path | None:
    """Where public data sets are kept; `None` for the default."""
    own = os.environ.get(DATA, "").strip()
    return Path(own).expanduser() if own else None


def task_data(task: str, given: Path | None) -> Path | None:
    """The file or folder that a task's items come from: the one given, else the named folder if it holds the task's set, else its own list."""
    from branchwise.data.sets import DATASETS

    folder, entry = data_folder(), DATASETS.get(task)
    if given is not None or folder is None or entry is None:
        return given
    return entry.path_in(folder)


def new_trace() -> Path:
    """A file name for the trace of a new run: date, time, and four digits that keep runs of one second apart."""
    return home() / "runs" / f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}.jsonl"


def cache_file() -> Path:
    """The file of the reply cache."""
    own = os.environ.get(CACHE, "").strip()
    if own:
        return Path(own).expanduser()
    from branchwise.model.cache import cache_path

    return cache_path()


def environment() -> dict[str, str]:
    """The environment, where keys of model servers are looked up."""
    return dict(os.environ)
