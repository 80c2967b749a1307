"""A thread that drives OpenVINO's continuous batching: work goes in, the engine is stepped, results come out. Knows no outcomes or budget.

Everything of the engine is touched in this one thread. Of works that begin alike (a group) the first is started alone; the others join when
it has its first token, because the engine takes a shared beginning from its prefix cache only when that has been computed.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any

from branchwise.errors import BranchwiseError, ContextOverflow, ModelError, Unsupported

__all__ = ["Done", "Stepper", "Work"]

WARM = 256
"""How many groups are remembered; one that was forgotten is merely started alone again."""


@dataclass(frozen=True, slots=True)
class Done:
    """One finished generation. `finish` is stop or length; `tokens` has each token's text and log-probability where those were asked for."""

    text: str
    finish: str
    prompt: int
    generated: int
    tokens: tuple[tuple[str, float], ...] = ()


@dataclass(slots=True, eq=False)
class Work:
    """What is to be generated. `settings` go to the engine's GenerationConfig, `structure` to its StructuredOutputConfig.

    It ends early at any of `stops`, which stays in the text: the engine's own stop strings lose tokens before a stop of several tokens.
    """

    messages: Sequence[Mapping[str, str]]
    settings: dict[str, Any]
    structure: dict[str, str] = field(default_factory=dict)
    group: str = ""
    stops: tuple[str, ...] = ()
    result: Future[Done] = field(default_factory=Future)
    handle: Any = None
    prompt: int = 0
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str = ""


class Stepper:
    """`load` makes the pipeline, in the thread. `width` works run at once; one has `context` tokens for prompt and reply together.

    `note` is added to errors of too long a prompt.
    """

    def __init__(self, engine: Any, load: Callable[[], Any], *, width: int, context: int, note: str) -> None:
        self._engine, self._load, self._width, self._context, self._note = engine, load, width, context, note
        self._wake = threading.Condition()
        self._held: deque[Work] = deque()
        self._active: list[Work] = []
        self._first: dict[str, Work] = {}
        self._warm: dict[str, None] = {}
        self._closed, self._next = False, 0
        self.ready: Future[None] = Future()
        """Done when the engine is loaded; its exception says why it is not."""
        self._thread = threading.Thread(target=self._run, name="branchwise-openvino", daemon=True)
        atexit.register(self.stop)

    def start(self) -> None:
        """Begin to load, which nothing can break off."""
        self.ready.set_running_or_notify_cancel()
        self._thread.start()

    def submit(self, work: Work) -> Future[Done]:
        """The result to be; cancelling it takes the work out of the engine at the next step."""
        with self._wake:
            if self._closed:
                raise ModelError("the local engine has stopped")
            self._held.append(work)
            self._wake.notify()
        return work.result

    def stop(self) -> None:
        """End after the present step; what is not finished fails. Waits for the thread. May be called twice."""
        atexit.unregister(self.stop)
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            self._pipe = self._load()
            self._tokenizer = self._pipe.get_tokenizer()
            self._ends = {*self._pipe.get_config().stop_token_ids, self._tokenizer.get_eos_token_id()}
        except BaseException as error:
            self._closed = True
            self.ready.set_exception(error)
            return
        self.ready.set_result(None)
        while self._work_to_do():
            try:
                self._admit()
                if self._active:
                    self._pipe.step()
                    self._collect()
            except Exception as error:  # of the engine: what it works on is lost, and told so
                self._fail(ModelError(f"the local engine failed: {_short(error)}"))
        self._fail(ModelError("the local engine was stopped"))
        with contextlib.suppress(Exception):
            self._pipe.step()  # lets go of what was cancelled: the engine complains aloud otherwise
        del self._pipe, self._tokenizer  # the engine ends here, in its own thread

    def _work_to_do(self) -> bool:
        with self._wake:
            while not (self._closed or self._held or self._active):
                self._wake.wait()
            return not self._closed

    def _admit(self) -> None:
        with self._wake:
            waiting, self._held = self._held, deque()
        later: list[Work] = []
        for work in waiting:
            if work.result.cancelled():
                continue
            cold = bool(work.group) and work.group not in self._warm
            if len(self._active) >= self._width or (cold and work.group in self._first):
                later.append(work)
                continue
            try:
                self._add(work)
            except BranchwiseError as error:
                _settle(work, error)
                continue
            self._active.append(work)
            if cold:
                self._first[work.group] = work
        with self._wake:
            self._held.extendleft(reversed(later))

    def _add(self, work: Work) -> None:
        """Hand `work` to the engine. Raises errors of ours only."""
        engine = self._engine
        try:
            text = self._tokenizer.apply_chat_template([dict(m) for m in work.messages], add_generation_prompt=True)
            ids = self._tokenizer.encode(text, add_special_tokens=False).input_ids
        except Exception as error:
            raise ModelError(f"the local engine cannot read the prompt: {_short(error)}") from None
        work.prompt = int(ids.shape[-1])
        room = self._context - work.prompt
        if room < 1:
            raise ContextOverflow(f"the prompt has {work.prompt} tokens; {self._note}")
        settings = {**work.settings, "max_new_tokens": min(room, work.settings["max_new_tokens"]), "stop_token_ids": self._ends}
        try:
            if work.structure:
                settings["structured_output_config"] = engine.StructuredOutputConfig(**work.structure)
            self._next += 1
            work.handle = self._pipe.add_request(self._next, ids, engine.GenerationConfig(**settings))
        except Exception as error:
            kind = Unsupported if work.structure else ModelError
            raise kind(f"the local engine refuses the request: {_short(error)}") from None

    def _collect(self) -> None:
        running = self._engine.GenerationStatus.RUNNING
        left: list[Work] = []
        for work in self._active:
            if work.result.cancelled():
                work.handle.cancel()
                self._leave(work)
                continue
            ended = work.handle.get_status() != running  # asked first: what is read after it is then complete
            before = len(work.ids)
            while work.handle.can_read():
                for output in work.handle.read().values():
                    work.ids.extend(output.generated_ids)
                    work.logprobs.extend(output.generated_log_probs)
                    work.finish = output.finish_reason.name.lower()
            if work.ids and work.group and work.group not in self._warm:
                self._warm[work.group] = None
                while len(self._warm) > WARM:
                    del self._warm[next(iter(self._warm))]
            if not ended and work.stops and len(work.ids) > before and self._stopped(work, before):
                work.handle.cancel()
                work.finish, ended = "stop", True
            if ended:
                self._leave(work)
                _settle(work, self._done(work))
            else:
                left.append(work)
        self._active = left

    def _stopped(self, work: Work, before: int) -> bool:
        """Whether a stop ends in the tokens from `before` on. A token is a byte at least, so that no more of them need be looked at."""
        reach = max(len(stop.encode("utf-8", "surrogatepass")) for stop in work.stops)
        text = self._tokenizer.decode(work.ids[max(0, before - reach) :], skip_special_tokens=True)
        return any(stop in text for stop in work.stops)

    def _done(self, work: Work) -> Done | ModelError:
        if work.finish not in ("stop", "length"):
            return ModelError("the local engine has no memory left for this prompt; give it fewer slots or a smaller context")
        tokens: tuple[tuple[str, float], ...] = ()
        if work.settings.get("logprobs"):
            texts = (self._tokenizer.decode([i], skip_special_tokens=False) for i in work.ids)
            tokens = tuple(zip(texts, work.logprobs, strict=False))
        return Done(self._tokenizer.decode(work.ids, skip_special_tokens=True), work.finish, work.prompt, len(work.ids), tokens)

    def _leave(self, work: Work) -> None:
        """`work` is out of the engine: another of its group may be the first."""
        if self._first.get(work.group) is work:
            del self._first[work.group]

    def _fail(self, error: ModelError) -> None:
        with self._wake:
            lost, self._active = self._active, []
            if self._closed:
                lost += self._held
                self._held.clear()
        self._first.clear()
        for work in lost:
            if work.handle is not None:
                with contextlib.suppress(Exception):
                    work.handle.cancel()
            _settle(work, error)


def _settle(work: Work, result: Done | BranchwiseError) -> None:
    """The result, unless nobody waits for it any more."""
    with contextlib.suppress(InvalidStateError):
        if isinstance(result, Done):
            work.result.set_result(result)
        else:
            work.result.set_exception(result)


def _short(error: BaseException) -> str:
    """The last line that says something: the engine's messages begin with places in its sources."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
