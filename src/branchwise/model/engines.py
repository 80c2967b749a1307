"""Which engine runs a model on this machine, by what is installed, how wide the run is, and what the engine can read. Knows no search."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from branchwise.errors import PermanentError, install
from branchwise.model.base import LanguageModel
from branchwise.model.local import Local, LocalSettings
from branchwise.model.openvino import OpenVINO, installed

__all__ = ["ENGINES", "WIDE", "lacking", "open_local", "to_have_again"]

ENGINES = ("llama", "openvino")
"""What `?engine=` may say."""
WIDE = 16
"""From so many samples at once OpenVINO is taken where it can be. Measured at 16: faster cold, about as fast warm (docs/models.md)."""

_BY_IDENTITY = {"llama.cpp": "llama", "openvino": "openvino"}

Say = Callable[[str], None]


@asynccontextmanager
async def open_local(
    path: Path, *, name: str, digest: str, settings: LocalSettings, reasons: bool | None, engine: str = "", say: Say | None = None
) -> AsyncIterator[LanguageModel]:
    """The model in `path`, running in the engine that is named, or else in the one that suits; `say` is told which.

    An engine that was asked for by name and cannot read the file is an error; one that was chosen here gives way to llama.cpp.
    """
    tell = say or _nothing
    wide = settings.slots >= WIDE
    if engine == "openvino" or (not engine and wide and installed() and not settings.alternatives):
        model = OpenVINO(path, name=name, digest=digest, settings=settings, reasons=reasons)
        try:
            await model.__aenter__()
        except PermanentError as error:
            if engine:
                raise PermanentError(f"{error}; leave out engine=openvino, or write engine=llama") from None
            tell(f"{error}; llama.cpp runs it instead")
        else:
            why = "" if engine else f", {settings.slots} samples at once; llama.cpp is had by ?engine=llama"
            try:
                tell(f"engine: OpenVINO{why}")
                yield model
            finally:
                await model.aclose()
            return
    async with Local(path, name=name, digest=digest, settings=settings, reasons=reasons) as local:
        better = wide and not engine and not installed() and not settings.alternatives
        hint = f"; for {WIDE} or more at once OpenVINO may be faster: {install('openvino')}" if better else ""
        why = ", which gives the log-probabilities that this run reads" if wide and settings.alternatives and not engine else ""
        tell(f"engine: llama.cpp{why}, {settings.slots} samples at once{hint}")
        yield local


def lacking(engine: str = "") -> str:
    """What is missing for a local model in `engine` (as in `?engine=`), with the command that installs it; empty where it is here."""
    name, module, extra = ("OpenVINO", "openvino_genai", "openvino") if engine == "openvino" else ("llama.cpp", "xllamacpp", "local")
    if importlib.util.find_spec(module) is not None:
        return ""
    return f"the {name} engine, which runs local models, is not installed; run: {install(extra)}"


def to_have_again(old: str, new: str) -> str:
    """What to write after `--model` where identity `new` differs from `old` in the engine; empty where that is not the difference."""
    (was, _, weights), (now, _, same) = old.partition(":"), new.partition(":")
    if was == now or weights != same or was not in _BY_IDENTITY:
        return ""
    return f"write ?engine={_BY_IDENTITY[was]} after the model's name to have its former engine, whatever --parallel is; "


def _nothing(text: str) -> None:
    """Nobody listens."""
