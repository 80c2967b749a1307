"""A task without Python: `--task FILE.yaml`. All of the file is data; nothing in it is run. `docs/own-task.md` describes the keys."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from branchwise.errors import BranchwiseError, MethodError, PromptError, UsageError, nearest
from branchwise.method import Method
from branchwise.methods import EVALUATORS, METHODS, preset
from branchwise.problem import COMPLETE, OPEN, SOLVED, State, Status, dead
from branchwise.tasks.base import Item, Task
from branchwise.tasks.open.rules import normal
from branchwise.tasks.open.task import with_material
from branchwise.tasks.patterns import compiled, first_match
from branchwise.tasks.yaml_file import Section, read_yaml
from branchwise.thought.asking import Sampling
from branchwise.thought.parsing import final_answer
from branchwise.thought.prompts import Prompt, generic_names
from branchwise.thought.propose import Propose
from branchwise.thought.refine import Refine
from branchwise.thought.sample import Sample
from branchwise.thought.self_refine import SelfRefine

__all__ = ["GENERATORS", "FileProblem", "Rules", "is_task_file", "task_from_file"]

GENERATORS: Mapping[str, Any] = {"propose": Propose, "sample": Sample, "refine": Refine, "self_refine": SelfRefine}
"""Generators by name."""
_KEYS = (
    "name", "summary", "prompt", "method", "generate", "evaluate", "prompts", "status", "answer", "provable", "reversible", "inputs",
)  # fmt: skip
_NAMING = ("prompt", "first", "critique", "rewrite")
"""Settings of generators and evaluators that name a prompt."""
_INPUT = "{{input}}"


@dataclass(frozen=True, slots=True)
class Rules:
    """What the patterns of a file say of a thought. Without `complete`, a line that begins with "Answer:" makes an answer."""

    solved: tuple[re.Pattern[str], ...] = ()
    complete: tuple[re.Pattern[str], ...] = ()
    dead: tuple[re.Pattern[str], ...] = ()
    answer: tuple[re.Pattern[str], ...] = ()

    def status(self, thought: str) -> Status:
        """Dead before solved before complete."""
        if found := first_match(self.dead, thought):
            return dead(f"it says {found[0][:60]!r}")
        if first_match(self.solved, thought):
            return SOLVED
        done = first_match(self.complete, thought) if self.complete else final_answer(thought)
        return OPEN if done is None else COMPLETE

    def read(self, thought: str) -> str | None:
        """The first group (else the match) of the answer pattern in its last matching line; without one, what follows "Answer:"."""
        if not self.answer:
            return final_answer(thought) or thought.strip() or None
        found = first_match(self.answer, thought, last=True)
        return None if found is None else ((found[1] if found.re.groups else found[0]) or "").strip() or None

    def __str__(self) -> str:
        return json.dumps({name: [p.pattern for p in getattr(self, name)] for name in ("solved", "complete", "dead", "answer")})


@dataclass(frozen=True)
class FileProblem:
    """One input of a task file."""

    prompt: str
    input: str
    prompts: Mapping[str, str] = field(compare=False)
    patterns: Rules = field(compare=False)
    provable: bool = False
    reversible: bool = True

    @property
    def rules(self) -> str:
        """The patterns, which may not change on resume."""
        return str(self.patterns)

    def status(self, state: State) -> Status:
        """By the patterns, on the last thought."""
        return self.patterns.status(state[-1]) if state else OPEN

    def key(self, state: State) -> Hashable:
        """The thoughts in order, without differences of case, width, spacing and punctuation."""
        return tuple(map(normal, state))

    def answer(self, state: State) -> str | None:
        """By the answer pattern, where the state is an answer."""
        return self.patterns.read(state[-1]) if state and self.status(state) in (COMPLETE, SOLVED) else None

    def fields(self, state: State) -> dict[str, str]:
        """`input`: the input by itself."""
        return {"input": self.input}

    def whole(self, state: State, text: str) -> str:
        """A whole answer; "Answer:" is put in front where the file says nothing of how an answer looks, and the reply has none."""
        plain = not self.patterns.complete and not self.patterns.solved and final_answer(text) is None
        return f"Answer: {text}" if plain else text


def is_task_file(name: str) -> bool:
    """Whether `--task NAME` names a file: only by its ending, so that no file is read because it happens to lie there."""
    return name.lower().endswith((".yaml", ".yml"))


def task_from_file(path: Path) -> Task:
    """The task that a file describes. Raises `UsageError` with the line and, for an unknown name, the nearest ones."""
    top = read_yaml(path)
    top.only(_KEYS)
    template = top.get("prompt", str, "")
    if _INPUT not in template:
        top.fail("prompt", f"needs a text with {_INPUT} where the input goes")
    generate = _part(top, "generate", GENERATORS)
    evaluate = _part(top, "evaluate", {name: type(make(1)) for name, make in EVALUATORS.items()})
    prompts = _prompts(top, [getattr(part, name) for part in (generate, evaluate) for name in _NAMING if hasattr(part, name)])
    patterns, provable = _rules(top), top.get("provable", bool, False)
    if patterns.solved and not provable:
        top.fail("status", "solved says what is proven: set provable: true, or use complete for answers that no rule can prove")
    chosen = top.section("method", "use")
    name = chosen.get("use", str, "best_first")
    make = partial(_make, template, patterns, provable, top.get("reversible", bool, True))
    task = Task(
        name=top.get("name", str, path.stem), summary=" ".join(top.get("summary", str, "your own task").split()),
        default_method=name, methods=tuple(METHODS), make=make, load=partial(_load, top), prompts=prompts,
        settings={name: _settings(chosen, name)}, adapt=partial(_adapt, name, generate, evaluate), material=with_material,
    )  # fmt: skip
    try:
        task.method()
    except (MethodError, TypeError) as error:
        top.fail("method" if "method" in top.data else "", str(error))
    return task


def _make(template: str, patterns: Rules, provable: bool, reversible: bool, text: str, prompts: Mapping[str, str]) -> FileProblem:
    if not text.strip():
        raise UsageError("an empty input; give some text")
    return FileProblem(template.replace(_INPUT, text.strip()).strip(), text.strip(), dict(prompts), patterns, provable, reversible)


def _load(top: Section, data: Path | None) -> Sequence[Item]:
    inputs = top.texts("inputs")
    if data is not None or not inputs:
        raise UsageError(f"{top.path} has no inputs of its own under `inputs`; give yours with --input FILE")
    return [Item(str(number), text) for number, text in enumerate(inputs, 1)]


def _settings(chosen: Section, name: str) -> dict[str, Any]:
    """The settings of the method, each of the kind of its default."""
    if name not in METHODS:
        chosen.fail("use", f"unknown method {name!r}{nearest(name, METHODS)}")
    defaults = preset(name).settings
    chosen.only(("use", *defaults))
    found = {}
    for key, default in defaults.items():
        if key in chosen.data and chosen.data[key] is not None:
            found[key] = chosen.get(key, type(default), default)
    try:
        preset(name).build(name, found)
    except BranchwiseError as error:
        chosen.fail("", str(error))
    return found


def _part(top: Section, role: str, makers: Mapping[str, Any]) -> Any:
    """The generator or evaluator of the file, or `None` where it names none."""
    section = top.section(role, "use")
    if not section.data:
        return None
    name = section.get("use", str, "")
    if name not in makers:
        section.fail("use", f"unknown name {name!r}{nearest(name, makers)}")
    make = makers[name]
    fields = {f.name: f for f in dataclasses.fields(make)}
    fields.pop("parts", None)
    drawn = [f.name for f in dataclasses.fields(Sampling)] if fields.pop("sampling", None) else []
    simple = {n: f.default for n, f in fields.items() if isinstance(f.default, (str, int, float, bool))}
    renamed = {"samples": "votes"} if name == "vote" else {}
    section.only(("use", *(key for key in simple if key not in renamed.values()), *renamed, *drawn))
    values: dict[str, Any] = {}
    for key in section.data:
        if (own := renamed.get(key, key)) in simple:
            values[own] = section.get(key, type(simple[own]), simple[own])
    try:
        if changes := {key: _drawn(section, key) for key in section.data if key in drawn}:
            values["sampling"] = replace(make(**values).sampling, **changes)
        return make(**values)
    except BranchwiseError as error:
        section.fail("", str(error))


def _drawn(section: Section, key: str) -> Any:
    if key == "stop":
        return tuple(section.texts(key))
    return section.get(key, float, 0.7) if key == "temperature" else section.get(key, int, 1024)


def _prompts(top: Section, own: Sequence[str]) -> dict[str, str]:
    """The file's prompts by name, each checked."""
    section = top.section("prompts")
    known = (*generic_names(), *own)
    section.only((*known, *(f"{name}_first" for name in known)))
    found = {}
    for name in section.data:
        found[name] = text = section.get(name, str, "")
        try:
            Prompt.parse(name, text, ("input",))
        except PromptError as error:
            section.fail(name, str(error))
    for name in own:
        if name not in generic_names() and name not in found:
            section.fail("", f"there is no prompt {name!r}, which a part of the task names{nearest(name, (*found, *generic_names()))}")
    return found


def _rules(top: Section) -> Rules:
    status = top.section("status")
    status.only(("solved", "complete", "dead"))
    read: Callable[[Section, str], tuple[re.Pattern[str], ...]] = _patterns
    return Rules(read(status, "solved"), read(status, "complete"), read(status, "dead"), read(top, "answer"))


def _patterns(section: Section, key: str) -> tuple[re.Pattern[str], ...]:
    found = []
    for text in section.texts(key):
        try:
            found.append(compiled(text))
        except ValueError as error:
            section.fail(key, f"the pattern {text!r} is refused: {error}")
    return tuple(found)


def _adapt(name: str, generate: Any, evaluate: Any, method: Method, settings: Mapping[str, Any]) -> Method:
    """The file's generator for its own method (the k of the user wins), and its evaluator wherever one judges and none was chosen."""
    changes: dict[str, Any] = {}
    if generate is not None and method.name == name:
        k = {"k": settings["k"]} if "k" in settings and "k" in {f.name for f in dataclasses.fields(generate)} else {}
        changes["generate"] = replace(generate, **k)
    if evaluate is not None and method.evaluate is not None and "evaluate" not in settings:
        samples = next((n for n in ("samples", "votes") if n in {f.name for f in dataclasses.fields(evaluate)}), None)
        changes["evaluate"] = replace(evaluate, **{samples: settings["samples"]}) if samples and "samples" in settings else evaluate
    return replace(method, **changes)
