"""What a task is: a name, how to make its problems, which methods suit it, and a list of inputs. Knows no answer key and no model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from branchwise.data.sets import data_file
from branchwise.errors import MethodError, UnknownName, UsageError
from branchwise.method import Method, with_sampling
from branchwise.methods import METHODS, preset
from branchwise.problem import Problem

__all__ = ["Item", "Task", "package_prompts", "select"]


@dataclass(frozen=True, slots=True)
class Item:
    """One input of a task. `id` names it in results; `rank` is its rank in a published list, `None` where the list has none."""

    id: str
    input: str
    rank: int | None = None


def _as_it_is(method: Method, settings: Mapping[str, Any]) -> Method:
    return method


@dataclass(frozen=True, kw_only=True)
class Task:
    """A kind of problem. Holds no answers: only the bench can reach those."""

    name: str
    summary: str
    """One line for lists and help."""
    default_method: str
    methods: tuple[str, ...]
    """Names of the methods that suit it, the default among them."""
    make: Callable[[str, Mapping[str, str]], Problem]
    """A problem from the text of an input and prompt texts by name. Raises `UsageError` that shows a valid input."""
    load: Callable[[Path | None], Sequence[Item]]
    """The inputs of a data file, or of the task's own list for `None`."""
    prompts: Mapping[str, str]
    """The task's own wording by prompt name."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Method name to the reason why it makes no sense here."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Method name to the settings that differ here from the preset's own."""
    sampling: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`role` or `method/role` (roles generate, evaluate, answer) to sampling settings that differ here; the longer name wins."""

    adapt: Callable[[Method, Mapping[str, Any]], Method] = _as_it_is
    """The last word on a method, given the settings that the user chose: other parts than the preset's."""
    material: Callable[[str, str], str] | None = None
    """An input with material to read for it; `None` where that makes no sense."""

    def problem(self, text: str, prompts: Mapping[str, str] | None = None) -> Problem:
        """The problem that `text` states. `prompts` replace the task's own wording by name. Raises `UsageError`."""
        for name in prompts or {}:
            if name not in self.prompts:
                raise UnknownName(f"prompt of task {self.name}", name, self.prompts)
        return self.make(text, {**self.prompts, **(prompts or {})})

    def items(self, data: Path | None = None) -> list[Item]:
        """The inputs of the task's own list, or of a data file, or of a folder of public sets. Raises `UsageError` for one that it cannot read."""
        return list(self.load(None if data is None else data_file(self.name, data)))

    def method(self, name: str | None = None, settings: Mapping[str, Any] | None = None) -> Method:
        """A method by name (`None`: the task's default) with the task's own settings, `settings` on top. Raises `UsageError`."""
        name = self.check_method((name or self.default_method).lower())
        method = self.adapt(preset(name).build(name, {**self.settings.get(name, {}), **(settings or {})}), settings or {})
        generate = with_sampling(method.generate, **self._sampling(name, "generate"))
        evaluate = with_sampling(method.evaluate, **self._sampling(name, "evaluate"))
        answer = with_sampling(method.answer, **self._sampling(name, "answer"))
        return replace(method, generate=generate, evaluate=evaluate, answer=answer)

    def _sampling(self, name: str, role: str) -> dict[str, Any]:
        return {**self.sampling.get(role, {}), **self.sampling.get(f"{name}/{role}", {})}

    def check_method(self, name: str) -> str:
        """`name`, if it suits this task. Raises `MethodError` with the reason and the methods that it takes if not, `UnknownName` for no method."""
        if name in self.methods:
            return name
        if name in self.refused or name in METHODS:
            reason = f": {self.refused[name]}" if name in self.refused else ""
            raise MethodError(f"task {self.name} has no use for method {name}{reason}; it takes {', '.join(self.methods)}")
        raise UnknownName(f"method of task {self.name}", name, self.methods)


@lru_cache(maxsize=64)
def _package_prompts(package: str) -> tuple[tuple[str, str], ...]:
    folder = resources.files(package) / "prompts"
    return tuple(sorted((f.name.removesuffix(".txt"), f.read_text("utf-8")) for f in folder.iterdir() if f.name.endswith(".txt")))


def package_prompts(package: str) -> dict[str, str]:
    """Texts of the prompts/*.txt that lie beside a task's code, by name without .txt."""
    return dict(_package_prompts(package))


def select(items: Sequence[Item], span: str) -> list[Item]:
    """The part of `items` that `span` names: `7`, `901:910` (both ends included, counted from 1), `:5` or `20:`.

    Where the items have ranks of a published list, ranks are meant; otherwise places in the list. Raises `UsageError`.
    """
    match = re.fullmatch(r"\s*(\d{0,9})\s*(:?)\s*(\d{0,9})\s*", span)
    if match is None or not (match[1] or match[3]) or (not match[2] and match[3]):
        raise UsageError(f"items are given as 7, 901:910, :5 or 20: (both ends included, counted from 1), not {span!r}")
    places = [item.rank if item.rank is not None else place for place, item in enumerate(items, 1)]
    top = max(places, default=0)
    low = int(match[1] or 1)
    high = int(match[3] or top) if match[2] else low
    chosen = [item for item, place in zip(items, places, strict=True) if low <= place <= high]
    if low < 1 or low > high or high > top or not chosen:
        raise UsageError(f"items {span}: there are {len(items)}, counted from 1 to {top}")
    return chosen
