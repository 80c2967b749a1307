"""Models by their name on the command line. Knows what a name means; knows no search and no budget."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from branchwise.budget import Price
from branchwise.errors import UnknownName, UsageError, nearest
from branchwise.model import plugins
from branchwise.model.base import LanguageModel
from branchwise.model.engines import ENGINES, open_local
from branchwise.model.local import LocalSettings
from branchwise.model.prices import Prices
from branchwise.model.scripted import Scripted
from branchwise.model.secrets import OPENAI_URL, find_key, split_userinfo
from branchwise.model.weights import DEFAULT, WEIGHTS, Progress, known, pull

__all__ = ["FORMS", "ModelSpec", "open_model", "parse_spec", "price_of"]

FORMS = ("local", "local:NAME", "local:/path/file.gguf", "openai:NAME", "http://host:port/v1#NAME", "script:FILE", "tape:FILE", "reward:URL")
"""What can be written after `--model`; `reward:URL` after `--evaluator-model` only."""

KINDS = ("local", "openai", "script", "tape", "reward", "client")
"""`client` is the model of an MCP client, which only that client can open."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What a model's name means. `kind` is local, openai, http, script, tape, reward, or that of a plug-in.

    `target` is the weights' name or path, the model's name, or the file; `url` the address of an http or reward model, which may hold a
    password and is never shown. `options` are the settings after a `?` of a local model.
    """

    kind: str
    target: str
    url: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"ModelSpec({self.kind!r}, {self.target!r})"


def parse_spec(text: str) -> ModelSpec:
    """What `text` names. Raises `UnknownName` with the nearest kind, and `UsageError` where a part is missing."""
    text = text.strip()
    if text.startswith(("http://", "https://")):
        url, _, model = text.partition("#")
        split_userinfo(url)
        if not model:
            raise UsageError(f"{split_userinfo(url)[0]} names no model; write it after a #: {split_userinfo(url)[0]}#NAME")
        return ModelSpec("http", model, url)
    kind, _, target = text.partition(":")
    options: tuple[tuple[str, str], ...] = ()
    if kind.partition("?")[0] == "local":
        base, _, query = text.partition("?")
        kind, _, target = base.partition(":")
        options = tuple(parse_qsl(query, keep_blank_values=True))
        _settings(options, LocalSettings())
        target = target or DEFAULT
        if not _is_path(target) and target not in WEIGHTS:
            raise UnknownName("local model", target, (*WEIGHTS, "/path/file.gguf"))
        return ModelSpec("local", target, options=options)
    if kind not in KINDS and kind not in plugins.names():
        raise UnknownName("model", text, (*FORMS, *(f"{name}:TARGET" for name in plugins.names())))
    if not target:
        raise UsageError(f"{kind}: needs a name after the colon; forms: {', '.join(FORMS)}")
    if kind == "reward":
        url, _, model = target.partition("#")
        split_userinfo(url)
        return ModelSpec("reward", model, url)
    return ModelSpec(kind, target)


def _is_path(target: str) -> bool:
    return "/" in target or os.sep in target or target.endswith(".gguf")


def _path(target: str) -> Path:
    return Path(target).expanduser()


def _settings(options: tuple[tuple[str, str], ...], settings: LocalSettings) -> LocalSettings:
    """`settings` with those after the `?` of a name. Raises `UsageError` for an unknown or unfit one."""
    names = ("slots", "context", "threads", "engine")
    values: dict[str, Any] = {}
    for key, value in options:
        if key == "engine" and value not in ENGINES:
            raise UnknownName("engine of a local model", value, ENGINES)
        if key == "engine":
            continue
        if key not in names:
            raise UsageError(f"unknown setting {key!r} of a local model{nearest(key, names)}")
        if not value.isdigit():
            raise UsageError(f"{key} of a local model must be a whole number, not {value!r}")
        values[key] = int(value)
    return replace(settings, **values)


@asynccontextmanager
async def open_model(
    spec: str | ModelSpec,
    *,
    environ: Mapping[str, str] | None = None,
    key_file: Path | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
    settings: LocalSettings | None = None,
    patience: float = 600.0,
    say: Callable[[str], None] | None = None,
) -> AsyncIterator[LanguageModel]:
    """The backend that `spec` names, ready for calls, and closed at the end. `tape` is not opened here: a tape is read by the engine.

    `environ` is where keys are looked up (default: none), `key_file` a file with the key; `folder` holds weights, which are downloaded when
    they are missing, reported to `progress`; `patience` is seconds for one HTTP request; `say` is told which engine
    runs a local model. Raises `UsageError`, `WeightsError`, `ModelError`.
    """
    spec = parse_spec(spec) if isinstance(spec, str) else spec
    if spec.kind == "local":
        async with _local(spec, folder, progress, settings or LocalSettings(), say) as model:
            yield model
    elif spec.kind in ("openai", "http"):
        url = spec.url or OPENAI_URL
        key = find_key(url, environ or {}, key_file)
        if key is None and spec.kind == "openai":
            raise UsageError("openai: needs a key; set OPENAI_API_KEY, or give --key-file FILE")
        from branchwise.model.openai_http import OpenAIChat  # its client takes half a second to import

        async with OpenAIChat(spec.target, url, key=key, timeout=patience) as chat:
            yield chat
    elif spec.kind == "reward":
        from branchwise.model.reward import RewardEndpoint

        async with RewardEndpoint(spec.url, spec.target, key=find_key(spec.url, environ or {}, key_file), timeout=patience) as endpoint:
            yield endpoint
    elif spec.kind == "script":
        yield Scripted.load(Path(spec.target))
    elif spec.kind not in ("tape", "client"):
        async with plugins.factory(spec.kind)(spec.target) as plugged:
            yield plugged
    else:
        raise UsageError(f"{spec.kind}:{spec.target} cannot be opened as a backend; {_NOT_OPENED[spec.kind]}")


_NOT_OPENED = {"tape": "a tape is replayed by the engine", "client": "only `branchwise mcp` reaches the model of its client"}


@asynccontextmanager
async def _local(
    spec: ModelSpec, folder: Path | None, progress: Progress | None, settings: LocalSettings, say: Callable[[str], None] | None
) -> AsyncIterator[LanguageModel]:
    path, name, digest, reasons = _path(spec.target), spec.target, "", None
    if not _is_path(spec.target):
        entry = known(spec.target)
        path = await asyncio.to_thread(pull, entry.name, folder, progress)
        name, digest, reasons = entry.name, entry.sha256, False
    engine = dict(spec.options).get("engine", "")
    settings = _settings(spec.options, settings)
    opening = open_local(path, name=f"local:{name}", digest=digest, settings=settings, reasons=reasons, engine=engine, say=say)
    async with opening as model:
        yield model


def price_of(spec: str | ModelSpec, prices: Prices) -> Price | None:
    """The price of what `spec` names: nothing for local models and scripts, `None` where it is unknown."""
    spec = parse_spec(spec) if isinstance(spec, str) else spec
    if spec.kind in ("local", "script"):
        return Price(0.0, 0.0, 0.0)
    if spec.kind == "openai":
        return prices.get(spec.target)
    return prices.get(spec.target, host=split_userinfo(spec.url)[0]) if spec.kind == "http" else None
