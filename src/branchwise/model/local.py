"""A model on this machine: llama.cpp inside this process, spoken to like any other server. Knows no retries, budget or tree."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import os
import secrets as random_secrets
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.errors import ModelError, PermanentError, UsageError, WeightsError, install
from branchwise.model.abilities import Abilities
from branchwise.model.base import Reply, Request
from branchwise.model.parts import caught, joined, part
from branchwise.model.secrets import Secret
from branchwise.model.slots import SlotBook, group_of, scratch

if TYPE_CHECKING:
    from branchwise.model.openai_http import OpenAIChat

__all__ = ["Local", "LocalSettings"]

INSTALL = install("local")


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """How the engine runs. `slots` is how many samples it works on at once; each has `context` tokens for prompt and reply together.

    `threads` is how many cores it uses, 0 for all that this process may use. `log` lets the engine write to standard error.
    `alternatives` says that the run reads log-probabilities of tokens not chosen, which one of the engines does not give.
    """

    slots: int = 8
    context: int = 4096
    threads: int = 0
    log: bool = False
    alternatives: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.slots <= 256:
            raise UsageError(f"slots must be 1 to 256, not {self.slots}")
        if self.context < 256:
            raise UsageError(f"a context of {self.context} tokens is too small; give at least 256")

    @property
    def total(self) -> int:
        """Tokens of context over all slots."""
        return self.slots * self.context


class Local:
    """The model in the GGUF file `path`. Use it as `async with Local(path) as model:`; the engine starts on entry and is gone on exit.

    `reasons` says whether it thinks before it answers, where that is known. The same seed gives the same text where
    nothing else is asked for at that time; parallel calls are computed in batches, and rounding may then differ.
    """

    def __init__(
        self, path: Path, *, name: str = "", digest: str = "", settings: LocalSettings | None = None, reasons: bool | None = None
    ) -> None:
        self._path, self._settings = path, settings or LocalSettings()
        self._name = name or f"local:{path}"
        self._digest, self._reasons = digest, reasons
        self._server: Any = None
        self._chat: OpenAIChat | None = None
        self._book: SlotBook | None = None
        self._http: Any = None
        self._scratch: Path | None = None

    @property
    def name(self) -> str:
        """`local:NAME` or `local:/path/file.gguf`."""
        return self._name

    @property
    def identity(self) -> str:
        """Engine and content of the weights, wherever the file lies."""
        self._digest = self._digest or digest_of(self._path)
        return f"llama.cpp:{self._digest[:16]}"

    @property
    def settings(self) -> LocalSettings:
        """As given, with the number of threads filled in once it runs."""
        return self._settings

    @property
    def address(self) -> str:
        """Where the engine listens (loopback, a port of its own, and a key that only this process has)."""
        return str(self._server.listening_address) if self._server is not None else ""

    async def __aenter__(self) -> Local:
        import openai  # takes half a second, so it is not imported with this module

        from branchwise.model.openai_http import OpenAIChat

        check_gguf(self._path)
        engine = _engine()
        self._settings = replace(self._settings, threads=self._settings.threads or cores())
        key = Secret(random_secrets.token_urlsafe(24))
        self._scratch = scratch()
        params = _params(engine, self._path, self._settings, key, self._name)
        params.slot_save_path = f"{self._scratch}/"
        start = asyncio.ensure_future(asyncio.to_thread(engine.Server, params))
        try:
            self._server = await asyncio.shield(start)
        except asyncio.CancelledError:  # loading cannot be broken off: wait, so that no engine is left behind
            with contextlib.suppress(Exception):
                self._server = await start
            await self.aclose()
            raise
        except Exception as error:
            await self.aclose()
            raise PermanentError(f"{self._name}: the engine cannot load {self._path} ({error}); is there enough memory?") from None
        self._chat = OpenAIChat(
            self._name,
            f"{self.address}/v1",
            key=key,
            name=self._name,
            timeout=3600.0,
            abilities=Abilities(self._name, max_n=1, reasons=self._reasons, choice_mode="grammar"),
            context_note=context_note(self._settings),
        )
        headers = {"Authorization": f"Bearer {key.reveal()}"}
        self._http = openai.DefaultAsyncHttpxClient(base_url=self.address, headers=headers, trust_env=False)
        self._book = SlotBook(self._settings.slots, self._http, self._scratch)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the engine; calls in flight are broken off. May be called twice."""
        chat, self._chat = self._chat, None
        http, self._http, self._book = self._http, None, None
        if chat is not None:
            await chat.aclose()
        if http is not None:
            await http.aclose()
        server, self._server = self._server, None
        if server is not None:
            await asyncio.shield(asyncio.to_thread(_stop, [server]))
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    async def sample(self, request: Request) -> Reply:
        """`request.n` samples, each drawn by itself with its own seed."""
        return joined(await asyncio.gather(*(caught(self._one(part(request, i, 1))) for i in range(request.n))), request.n)

    async def _one(self, request: Request) -> Reply:
        """One sample, in a slot that holds the beginning of its prompt where an earlier one began alike."""
        chat, book = self._chat, self._book
        if chat is None or book is None:
            raise ModelError(f"{self._name} does not run; use it inside `async with`")
        group = group_of(request)
        first = await book.is_first(group)
        good = False
        try:
            async with book.slot(group) as slot:
                reply = await chat.sample(request, {"id_slot": slot})
                if first:
                    await book.saved(group, slot)
                good = True
                return reply
        finally:
            if first and not good:
                await book.saved(group, None)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _stop(holder: list[Any]) -> None:
    """Drop the last reference, which stops the engine, here and not in the event loop."""
    holder.clear()


def _engine() -> Any:
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        raise UsageError(f"a local model needs the llama.cpp engine ({error}); run: {INSTALL}") from None


def _params(engine: Any, path: Path, settings: LocalSettings, key: Secret, name: str) -> Any:
    params = engine.CommonParams()
    params.model.path = str(path)
    params.model_alias = {name}
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key.reveal()]
    params.n_parallel, params.n_ctx = settings.slots, settings.total
    params.kv_unified = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings.threads
    params.cache_prompt, params.cache_ram_mib = True, 0  # states are kept by slots.py
    params.endpoint_metrics, params.ui, params.warmup = True, False, False
    params.verbosity = 3 if settings.log else 0
    return params


def context_note(settings: LocalSettings) -> str:
    """What to do about a prompt that is too long, with both numbers."""
    return (
        f"the engine's context of {settings.total} tokens is divided by its {settings.slots} parallel slots, {settings.context} for one"
        f" prompt and its reply; give each more with --model 'local?context={settings.context * 2}', or shorten the prompt"
    )


def check_gguf(path: Path) -> None:
    """Raises `WeightsError` where `path` is no GGUF file: the engine itself would say little."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error.strerror}") from None
    if magic != b"GGUF":
        raise WeightsError(f"{path} is no GGUF file")


def digest_of(path: Path) -> str:
    """Over the size and the first megabyte, which holds the metadata: enough to tell models apart, and fast."""
    hasher = hashlib.sha256(str(path.stat().st_size).encode())
    with path.open("rb") as file:
        hasher.update(file.read(1 << 20))
    return hasher.hexdigest()
