"""The thread that drives OpenVINO, with an engine made of Python: order, groups, cancelling, faults and the end."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from types import SimpleNamespace
from typing import Any

import pytest

from branchwise.errors import ContextOverflow, ModelError, Unsupported
from branchwise.model import openvino
from branchwise.model.base import Message, Outcome, Request
from branchwise.model.openvino import OpenVINO
from branchwise.model.stepper import Done, Stepper, Work


class Handle:
    """One request inside the fake engine: it gives its number as often as its limit says."""

    def __init__(self, number: int, config: Any) -> None:
        self.number, self.config, self.left, self.cancelled = number, config, config.max_new_tokens, False
        self.unread: list[Any] = []

    def get_status(self) -> str:
        return "CANCEL" if self.cancelled else "RUNNING" if self.left else "FINISHED"

    def can_read(self) -> bool:
        return bool(self.unread)

    def read(self) -> dict[int, Any]:
        return {0: self.unread.pop(0)}

    def cancel(self) -> None:
        self.cancelled = True


class Engine:
    """As much of openvino_genai as the stepper uses. `faults` are raised by the steps in turn."""

    GenerationStatus = SimpleNamespace(RUNNING="RUNNING")
    GenerationConfig = StructuredOutputConfig = SimpleNamespace

    def __init__(self, *faults: Exception | None, refuses: bool = False) -> None:
        self.faults, self.refuses = list(faults), refuses
        self.running: list[Handle] = []
        self.widths: list[int] = []
        self.all: list[Handle] = []

    def get_tokenizer(self) -> Any:
        return SimpleNamespace(
            get_eos_token_id=lambda: 2,
            apply_chat_template=lambda history, add_generation_prompt: history[-1]["content"],
            encode=lambda text, add_special_tokens: SimpleNamespace(input_ids=SimpleNamespace(shape=(1, len(text.split())))),
            decode=lambda ids, skip_special_tokens: " ".join(map(str, ids)),
        )

    def get_config(self) -> Any:
        return SimpleNamespace(stop_token_ids={1})

    def add_request(self, number: int, ids: Any, config: Any) -> Handle:
        if self.refuses and getattr(config, "structured_output_config", None):
            raise RuntimeError("Exception from src/x.cpp:1:\nno grammar")
        self.running.append(Handle(number, config))
        self.all.append(self.running[-1])
        return self.running[-1]

    def step(self) -> None:
        self.running = [h for h in self.running if h.left and not h.cancelled]
        self.widths.append(len(self.running))
        if self.faults and (error := self.faults.pop(0)):
            raise error
        for handle in self.running:
            handle.left -= 1
            reason = SimpleNamespace(name="NONE" if handle.left else "LENGTH")
            handle.unread.append(SimpleNamespace(generated_ids=[handle.number], generated_log_probs=[-0.5], finish_reason=reason))


def work(text: str = "a b c", limit: int = 3, group: str = "", **settings: Any) -> Work:
    return Work([{"role": "user", "content": text}], {"max_new_tokens": limit, **settings}, group=group)


@pytest.fixture
def start() -> Iterator[Any]:
    made: list[Stepper] = []

    def begin(engine: Engine, width: int = 4, context: int = 10) -> Stepper:
        made.append(Stepper(engine, lambda: engine, width=width, context=context, note="shorten it"))
        made[-1].start()
        made[-1].ready.result(240)
        return made[-1]

    yield begin
    for stepper in made:
        stepper.stop()


def test_works_run_together_and_each_has_its_own_tokens(start: Any) -> None:
    engine = Engine()
    stepper = start(engine)
    results = [stepper.submit(work(limit=limit)) for limit in (1, 2, 3)]
    assert [r.result(240) for r in results] == [Done(" ".join([str(i + 1)] * (i + 1)), "length", 3, i + 1) for i in range(3)]


def test_no_more_than_the_width_run_at_once(start: Any) -> None:
    engine = Engine()
    stepper = start(engine, width=2)
    results = [stepper.submit(work()) for _ in range(9)]
    assert [r.result(240).generated for r in results] == [3] * 9
    assert max(engine.widths) == 2


def test_the_first_of_a_group_starts_alone(start: Any) -> None:
    engine = Engine()
    stepper = start(engine, width=8)
    results = [stepper.submit(work(limit=4, group="g")) for _ in range(5)]
    assert [r.result(240).generated for r in results] == [4] * 5
    assert engine.widths[0] == 1
    engine.widths.clear()
    results = [stepper.submit(work(limit=4, group="g")) for _ in range(3)]
    assert [r.result(240).generated for r in results] == [4] * 3


def test_when_the_first_of_a_group_is_cancelled_another_takes_its_place(start: Any) -> None:
    engine = Engine()
    stepper = start(engine)
    block = stepper.submit(work(limit=7))
    first, second = work(limit=3, group="g"), work(limit=3, group="g")
    first.result.cancel()
    stepper.submit(first)
    assert stepper.submit(second).result(240).generated == 3
    assert block.result(240).generated == 7


def test_a_cancelled_work_leaves_the_engine(start: Any) -> None:
    engine = Engine()
    stepper = start(engine, context=10**9)
    long = stepper.submit(work(limit=10**8))
    while not engine.all:
        pass
    long.cancel()
    assert stepper.submit(work()).result(240).generated == 3
    assert engine.all[0].cancelled
    with pytest.raises(CancelledError):
        long.result()


def test_a_fault_of_the_engine_fails_what_runs_and_nothing_after(start: Any) -> None:
    engine = Engine(RuntimeError("Check failed at src/y.cpp:7:\nout of cheese"))
    stepper = start(engine)
    with pytest.raises(ModelError, match=r"failed: out of cheese"):
        stepper.submit(work()).result(240)
    assert stepper.submit(work()).result(240).generated == 3


def test_too_long_a_prompt_is_refused_and_a_reply_ends_at_the_context(start: Any) -> None:
    stepper = start(Engine(), context=5)
    with pytest.raises(ContextOverflow, match="5 tokens; shorten it"):
        stepper.submit(work("a b c d e")).result(240)
    assert stepper.submit(work("a b c", limit=99)).result(240) == Done("1 1", "length", 3, 2)


def test_the_end_fails_what_is_not_finished(start: Any) -> None:
    stepper = start(Engine(), width=1, context=10**9)
    results: list[Future[Done]] = [stepper.submit(work(limit=10**8)) for _ in range(3)]
    stepper.stop()
    for result in results:
        with pytest.raises(ModelError, match="stopped"):
            result.result(1)
    with pytest.raises(ModelError, match="stopped"):
        stepper.submit(work())
    stepper.stop()


def model_on(stepper: Stepper, tmp_path: Any) -> OpenVINO:
    """A model that runs on a stepper made by hand."""
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    model = OpenVINO(tmp_path / "a.gguf", reasons=False)
    model._stepper = stepper
    return model


async def test_a_refused_structure_is_asked_for_in_the_prompt_and_checked(start: Any, tmp_path: Any) -> None:
    engine = Engine(refuses=True)
    model = model_on(start(engine, context=1000), tmp_path)
    request = Request((Message("user", "Rate it."),), max_tokens=3, schema={"type": "object"})
    (sample,) = (await model.sample(request)).samples
    assert sample.outcome is Outcome.INVALID
    assert model.abilities.notices == [
        "cannot keep to this structure (the local engine refuses the request: no grammar); it is asked for in the prompt, and checked"
    ]
    assert sample.usage.prompt_tokens > 10


async def test_each_sample_has_its_own_seed_and_log_probabilities(start: Any, tmp_path: Any) -> None:
    engine = Engine()
    model = model_on(start(engine), tmp_path)
    reply = await model.sample(Request((Message("user", "x"),), n=3, max_tokens=2, seeds=(7, 8, 9), logprobs=1, temperature=0.5))
    assert [h.config.rng_seed for h in engine.all] == [7, 8, 9]
    assert [s.logprobs for s in reply.samples] == [({str(i): -0.5}, {str(i): -0.5}) for i in (1, 2, 3)]
    assert all(h.config.do_sample and h.config.temperature == 0.5 and h.config.stop_token_ids == {1, 2} for h in engine.all)
    with pytest.raises(Unsupported, match="engine=llama"):
        await model.sample(Request((Message("user", "x"),), logprobs=2))


async def test_a_cancelled_caller_takes_its_request_along(start: Any, tmp_path: Any) -> None:
    engine = Engine()
    model = model_on(start(engine, context=10**9), tmp_path)
    task = asyncio.create_task(model.sample(Request((Message("user", "x"),), max_tokens=10**8)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await model.sample(Request((Message("user", "x"),), max_tokens=2))).texts
    assert engine.all[0].cancelled


async def test_temperature_zero_is_greedy_and_stops_are_cut_here(start: Any, tmp_path: Any) -> None:
    engine = Engine()
    model = model_on(start(engine), tmp_path)
    (sample,) = (await model.sample(Request((Message("user", "x"),), temperature=0.0, max_tokens=4, stop=(" 1",)))).samples
    assert (sample.text, sample.outcome, sample.finish) == ("1", Outcome.OK, "stop")
    config = engine.all[0].config
    assert not config.do_sample
    assert not hasattr(config, "stop_strings")
    assert sample.usage.completion_tokens == 2
    assert engine.all[0].cancelled


async def test_a_caller_who_gives_up_while_it_loads_leaves_no_engine_behind(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    begun, go, ended = threading.Event(), threading.Event(), weakref.WeakSet[Engine]()

    def load(self: Any) -> Engine:
        begun.set()
        go.wait(120)
        engine = Engine()
        ended.add(engine)
        return engine

    monkeypatch.setattr(openvino, "_engine", lambda: Engine)
    monkeypatch.setattr(openvino._Load, "__call__", load)
    task = asyncio.create_task(OpenVINO(tmp_path / "a.gguf").__aenter__())
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    await asyncio.sleep(0.05)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    gc.collect()
    assert not ended
    assert not any(t.name == "branchwise-openvino" and t.is_alive() for t in threading.enumerate())
