"""Prices of models, by exact name and dated. Knows no model's behaviour; an unknown price stays unknown and is never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from branchwise.budget import Price
from branchwise.errors import UsageError, nearest

__all__ = ["Prices"]

_KEYS = ("prompt", "completion", "cached_prompt", "aliases", "host")


@dataclass(frozen=True, slots=True)
class _Entry:
    price: Price
    host: str = ""


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per million tokens by exact model name or listed alias, as of `date`.

    A dated name such as NAME-2024-08-06 has the price of NAME only where it is listed: other dates had other prices. A price holds for the
    provider it was published by (`host`), not for another server that offers a model of the same name.
    """

    date: str
    entries: Mapping[str, _Entry] = field(repr=False)

    @classmethod
    def builtin(cls) -> Prices:
        """The table that ships with this version."""
        return _parse(resources.files("branchwise.model").joinpath("prices.json").read_bytes(), "the built-in price table")

    @classmethod
    def load(cls, path: Path) -> Prices:
        """The built-in table with the entries of a file of the same form in front. Raises `UsageError`."""
        try:
            own = _parse(path.read_bytes(), f"price file {path}")
        except OSError as error:
            raise UsageError(f"price file {path} cannot be read: {error.strerror}") from None
        base = cls.builtin()
        return cls(own.date or base.date, {**base.entries, **own.entries})

    def get(self, model: str, *, host: str = "https://api.openai.com") -> Price | None:
        """The price of exactly this model at `host` (an address), or `None` where it is unknown."""
        entry = self.entries.get(model)
        if entry is None or (entry.host and entry.host != (urlsplit(host).hostname or "")):
            return None
        return entry.price


def _parse(data: bytes, where: str) -> Prices:
    try:
        table = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"{where}: line {error.lineno}: {error.msg}") from None
    models = table.get("models") if isinstance(table, Mapping) else None
    if not isinstance(models, Mapping):
        raise UsageError(f'{where}: must be {{"date": "YYYY-MM-DD", "models": {{"NAME": {{"prompt": USD, "completion": USD}}}}}}')
    entries: dict[str, _Entry] = {}
    for name, item in models.items():
        entry = _entry(item, f"{where}: model {name!r}")
        entries |= dict.fromkeys((name, *item.get("aliases", ())), entry)
    return Prices(str(table.get("date", "")), entries)


def _entry(item: Any, where: str) -> _Entry:
    if not isinstance(item, Mapping):
        raise UsageError(f"{where}: must be an object with prompt and completion, in dollars per million tokens")
    for key in item:
        if key not in _KEYS:
            raise UsageError(f"{where}: unknown key {key!r}{nearest(str(key), _KEYS)}")
    numbers = [item.get("prompt"), item.get("completion"), item.get("cached_prompt")]
    for key, value in zip(_KEYS, numbers, strict=False):
        if (value is None and key != "cached_prompt") or (value is not None and not (isinstance(value, int | float) and value >= 0)):
            raise UsageError(f"{where}: {key} must be dollars per million tokens, 0 or more, not {value!r}")
    prompt, completion, cached = numbers
    return _Entry(Price(float(prompt), float(completion), None if cached is None else float(cached)), str(item.get("host", "")))  # type: ignore[arg-type]
