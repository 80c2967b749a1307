"""A model on this machine, by OpenVINO's continuous batching: for wide runs on x86 processors. Knows no retries, budget or tree.

It reads the same GGUF files as llama.cpp where it knows their quantisation. The engine's thread is in `stepper`.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from branchwise.errors import ContextOverflow, ModelError, PermanentError, Unsupported, UsageError, install
from branchwise.model.abilities import Abilities
from branchwise.model.base import Reply, Request
from branchwise.model.local import LocalSettings, check_gguf, cores, digest_of
from branchwise.model.parts import caught, joined, part
from branchwise.model.replies import cut, read_reply
from branchwise.model.slots import group_of
from branchwise.model.stepper import Done, Stepper, Work
from branchwise.model.structure import MODES, add_structure, checked

__all__ = ["OpenVINO", "installed"]

INSTALL = install("openvino")
WIDTH = 64
"""How many samples it works on at once, or more where there are more slots: it gains from width far beyond llama.cpp's slots."""
MOST_TOKENS = 131_072
"""Tokens of state kept over all samples; some 16 KB each of the 1.5 B model. Beyond it the engine computes anew."""
BLOCK = 32
BATCH = 512
"""Tokens of one step: a step cannot be interrupted, and nothing else of Python runs during it."""
SAMPLING: dict[str, Any] = {"do_sample": True, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
"""What llama.cpp does unless told otherwise, so that both engines draw from the same distribution."""


def installed() -> bool:
    """Whether the engine can be imported; it is not imported to find out."""
    return importlib.util.find_spec("openvino_genai") is not None


class OpenVINO:
    """The model in the GGUF file `path`. Use it as `async with OpenVINO(path) as model:`; the engine starts on entry and is gone on exit.

    `reasons` says whether it thinks before it answers, where that is known. The same seed mostly gives the same text; what the
    prefix cache held can change a rounding, and so a text. How much of a
    prompt came from the prefix cache is not told by the engine, and counted as none.
    """

    def __init__(
        self, path: Path, *, name: str = "", digest: str = "", settings: LocalSettings | None = None, reasons: bool | None = None
    ) -> None:
        self._path, self._settings, self._digest = path, settings or LocalSettings(), digest
        self._name = name or f"local:{path}"
        self._stepper: Stepper | None = None
        self.abilities = Abilities(self._name, max_n=1, reasons=reasons, choice_mode="grammar")

    @property
    def name(self) -> str:
        """`local:NAME` or `local:/path/file.gguf`."""
        return self._name

    @property
    def identity(self) -> str:
        """Engine and content of the weights, wherever the file lies."""
        self._digest = self._digest or digest_of(self._path)
        return f"openvino:{self._digest[:16]}"

    @property
    def settings(self) -> LocalSettings:
        """As given, with the number of threads filled in once it runs."""
        return self._settings

    async def __aenter__(self) -> OpenVINO:
        check_gguf(self._path)
        engine = _engine()
        self._settings = settings = replace(self._settings, threads=self._settings.threads or cores())
        note = f"the local engine has {settings.context} tokens for one prompt and its reply; give each more with --model "
        note += f"'local?engine=openvino&context={settings.context * 2}', or shorten the prompt"
        load = _Load(engine, self._path, settings)
        stepper = Stepper(engine, load, width=max(WIDTH, settings.slots), context=settings.context, note=note)
        stepper.start()
        try:
            await asyncio.wrap_future(stepper.ready)
        except asyncio.CancelledError:  # loading cannot be broken off: wait, so that no engine is left behind
            await asyncio.shield(asyncio.to_thread(stepper.stop))
            raise
        except Exception as error:
            await asyncio.to_thread(stepper.stop)
            reason = (str(error).strip().splitlines() or [type(error).__name__])[-1][:200]
            raise PermanentError(f"{self._name}: OpenVINO cannot load {self._path.name} ({reason})") from None
        self._stepper = stepper
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the engine; calls in flight are broken off. May be called twice."""
        stepper, self._stepper = self._stepper, None
        if stepper is not None:
            await asyncio.shield(asyncio.to_thread(stepper.stop))

    async def sample(self, request: Request) -> Reply:
        """`request.n` samples, each drawn by itself with its own seed. Raises `ModelError` and its kinds only."""
        if request.logprobs > 1:
            raise Unsupported(
                f"{self._name} on OpenVINO gives the log-probability of the chosen token only; use --model 'local?engine=llama' for more"
            )
        return joined(await asyncio.gather(*(caught(self._one(part(request, i, 1))) for i in range(request.n))), request.n)

    async def _one(self, request: Request) -> Reply:
        stepper = self._stepper
        if stepper is None:
            raise ModelError(f"{self._name} does not run; use it inside `async with`")
        try:
            return self._read(await asyncio.wrap_future(stepper.submit(self._work(request))), request)
        except Unsupported as refused:
            kind = "choice_mode" if request.choices else "schema_mode"
            if getattr(self.abilities, kind) == MODES[-1]:
                raise
            setattr(self.abilities, kind, MODES[-1])
            self.abilities.note(f"cannot keep to this structure ({refused}); it is asked for in the prompt, and checked")
            return await self._one(request)
        except ContextOverflow as error:
            raise ContextOverflow(f"{self._name}: {error}") from None

    def _work(self, request: Request) -> Work:
        able = self.abilities
        body: dict[str, Any] = {"messages": [{"role": m.role, "content": m.content} for m in request.messages]}
        add_structure(body, request, able.schema_mode, able.choice_mode)
        structure: dict[str, str] = {}
        if "response_format" in body:
            structure["json_schema"] = orjson.dumps(body["response_format"]["json_schema"]["schema"]).decode()
        elif "extra_body" in body:
            structure["grammar"] = body["extra_body"]["grammar"]
        settings: dict[str, Any] = {"max_new_tokens": request.max_tokens, "apply_chat_template": False, "logprobs": request.logprobs}
        settings |= {**SAMPLING, "temperature": request.temperature} if request.temperature > 0 else {"do_sample": False}
        settings["rng_seed"] = request.seeds[0] if request.seeds else secrets.randbits(31)
        # stops end it early only where there is no reasoning that they could end; the text is cut in `_read` in any case
        stops = tuple(s for s in request.stop if s) if able.reasons is False else ()
        return Work(body["messages"], settings, structure, group_of(request), stops)

    def _read(self, done: Done, request: Request) -> Reply:
        """`done` through the same reading as every server's reply."""
        able = self.abilities
        choice: dict[str, Any] = {"message": {"content": done.text}, "finish_reason": done.finish}
        if done.tokens:
            choice["logprobs"] = {"content": [{"token": token, "logprob": value} for token, value in done.tokens]}
        usage = {"prompt_tokens": done.prompt, "completion_tokens": done.generated}
        reply = read_reply({"choices": [choice], "usage": usage, "model": self._name}, request, self._name)
        (sample,) = reply.samples
        if sample.reasoning:
            able.reasons = True
        elif able.reasons is None and sample.usable:
            able.reasons = False
        sample = cut(sample, request.stop)
        if request.schema is not None or request.choices:
            sample = checked(sample, request)
        return replace(reply, samples=(sample,))


class _Load:
    """Makes the pipeline, when and where it is called."""

    def __init__(self, engine: Any, path: Path, settings: LocalSettings) -> None:
        self._engine, self._path, self._settings = engine, path, settings

    def __call__(self) -> Any:
        settings = self._settings
        scheduler = self._engine.SchedulerConfig()
        scheduler.enable_prefix_caching = True
        scheduler.dynamic_split_fuse = True
        scheduler.num_kv_blocks = -(-min(MOST_TOKENS, max(WIDTH, settings.slots) * settings.context) // BLOCK)
        scheduler.max_num_batched_tokens = BATCH
        scheduler.max_num_seqs = max(WIDTH, settings.slots)
        properties = {"INFERENCE_NUM_THREADS": settings.threads}
        return self._engine.ContinuousBatchingPipeline(str(self._path), scheduler, "CPU", properties)


def _engine() -> Any:
    try:
        return importlib.import_module("openvino_genai")
    except ImportError as error:
        raise UsageError(f"this engine needs OpenVINO ({error}); run: {INSTALL}") from None
