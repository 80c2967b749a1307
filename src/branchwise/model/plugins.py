"""Backends by third parties, found by entry point. Knows their names and factories; a broken one warns and is left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib.metadata import EntryPoint, entry_points

from branchwise.errors import UsageError
from branchwise.model.base import LanguageModel

__all__ = ["GROUP", "Factory", "PluginWarning", "factory", "names", "working"]

GROUP = "branchwise.models"
"""The entry point group. A name `echo` there makes `--model echo:TARGET` work."""

Factory = Callable[[str], AbstractAsyncContextManager[LanguageModel]]
"""Called with the target (what follows the colon); gives the model inside `async with`."""


class PluginWarning(UserWarning):
    """A plug-in that cannot be loaded."""


def _found() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def names() -> tuple[str, ...]:
    """The kinds that plug-ins add, without loading any."""
    return tuple(sorted(_found()))


def factory(kind: str) -> Factory:
    """The factory of `kind`. Raises `UsageError` where its plug-in is broken or absent."""
    point = _found().get(kind)
    if point is None:
        raise UsageError(f"no plug-in offers models of the kind {kind!r}")
    try:
        return _loaded(point)
    except Exception as error:
        raise UsageError(f"the plug-in {point.value} for {kind}: cannot be loaded: {type(error).__name__}: {error}") from error


def _loaded(point: EntryPoint) -> Factory:
    made: Factory = point.load()
    if not callable(made):
        raise TypeError(f"{point.value} is not callable")
    return made


def working() -> dict[str, Factory]:
    """All plug-ins that can be loaded; for each of the others one warning, and no more."""
    good: dict[str, Factory] = {}
    for name, point in _found().items():
        try:
            good[name] = _loaded(point)
        except Exception as error:  # third-party code: anything can be raised
            text = f"the model plug-in {name!r} ({point.value}) is left out: {type(error).__name__}: {error}"
            warnings.warn(text, PluginWarning, stacklevel=2)
    return good
