"""Prompt templates: text with named {{placeholders}}, checked when loaded. Any other brace is text. Knows no model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path

from branchwise.errors import PromptError, nearest
from branchwise.model.base import Message, Role
from branchwise.problem import Problem, State, field_bytes, fields, prompts
from branchwise.thought.base import Size

__all__ = ["MESSAGE_BYTES", "PLACEHOLDERS", "Prompt", "generic_names", "generic_text", "load_folder", "prompt_for"]

PLACEHOLDERS = frozenset({"prompt", "thoughts", "last", "k", "choices", "critique", "rejected"})
"""What every prompt may name; a task declares more by its `fields`."""

_ONE_ONLY = {"vote": frozenset({"choices"}), "rewrite": frozenset({"critique"}), "answer": frozenset({"rejected"})}
"""What is given to one generic prompt alone."""

MESSAGE_BYTES = 64
"""What a chat template can add to one message, in tokens: an upper bound for the templates that we know."""

SYSTEM = "You solve problems step by step and follow the format that you are shown exactly."
_MARK = re.compile(r"\{\{([A-Za-z_]\w*)\}\}")
_TURN = re.compile(r"\n---(user|assistant)---\n")
_SYSTEM_SPLIT = re.compile(r"\A---system---\n(.*?)\n---user---\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One template. `text` is the user message; `system` the instruction before it. Placeholders stand as late as possible, so that
    the shared beginning stays byte-identical and a prefix cache works. `---assistant---` and `---user---` lines in `text` make turns of a
    conversation: examples that a small model follows far better than examples inside one message."""

    name: str
    text: str
    system: str = SYSTEM
    _turns: tuple[Message | tuple[Role, tuple[str, ...]], ...] = field(init=False, repr=False, compare=False)
    """The messages in order: whole where they are the same each time, else the role with text and placeholder in turn."""

    def __post_init__(self) -> None:
        first, *rest = _TURN.split(self.text)
        turns = [_turn("system", self.system), _turn("user", first)]
        turns += [_turn("assistant" if role == "assistant" else "user", text) for role, text in zip(rest[::2], rest[1::2], strict=True)]
        object.__setattr__(self, "_turns", tuple(turns))

    @classmethod
    def parse(cls, name: str, text: str, extra: Iterable[str] = ()) -> Prompt:
        """Read a template; an optional `---system---`/`---user---` head sets the system message. Raises `PromptError` by placeholder name."""
        system = SYSTEM
        if match := _SYSTEM_SPLIT.match(text):
            system, text = match[1].strip(), text[match.end() :]
        allowed = (PLACEHOLDERS | set(extra)) - _never_given(name)
        for mark in _MARK.findall(system + text):
            if mark not in allowed:
                raise PromptError(f"prompt {name!r} has an unknown placeholder {{{{{mark}}}}}{nearest(mark, allowed)}")
        if not _MARK.search(text):
            raise PromptError(f"prompt {name!r} names no placeholder, so the model would never see the problem; write {{{{prompt}}}} where it goes")
        roles = _TURN.split(text)[1::2]
        if roles != ["assistant", "user"] * (len(roles) // 2):
            raise PromptError(f"prompt {name!r}: ---assistant--- and ---user--- take turns, and the last turn is the user's")
        return cls(name, text.rstrip("\n"), system)

    def render(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages, each placeholder replaced once (values are never expanded again). Raises `PromptError` for one without a value."""

        try:
            return tuple([turn if isinstance(turn, Message) else Message(turn[0], _filled(turn[1], values)) for turn in self._turns])
        except KeyError as error:
            mark = str(error.args[0])
            raise PromptError(f"prompt {self.name!r}: this problem has no value for {{{{{mark}}}}}{nearest(mark, values)}") from None

    def tokens(self, problem: Problem, size: Size, choices: int = 0) -> int:
        """An upper bound for the prompt's tokens on a state of `size`: no tokeniser makes more tokens than there are bytes.

        A critique, and what is told of rejected branches, are not counted: who writes them knows how long they can be.
        """
        total = len(self.system.encode()) + len(self.text.encode()) + (2 + len(_TURN.findall(self.text))) * MESSAGE_BYTES
        for mark in _MARK.findall(self.system + self.text):
            if mark == "prompt":
                total += size.prompt
            elif mark == "k":
                total += 8
            elif mark in ("thoughts", "last"):
                total += size.state
            elif mark in ("critique", "rejected"):
                continue
            elif mark == "choices":
                total += choices * (size.state + 32)
            else:
                total += size.prompt + size.state + field_bytes(problem)
        return total


def _never_given(name: str) -> frozenset[str]:
    """The placeholders that a generic prompt never has a value for; one of a user's own name may be anybody's."""
    base = name.removesuffix("_first")
    return frozenset().union(*_ONE_ONLY.values()) - _ONE_ONLY.get(base, frozenset()) if base in generic_names() else frozenset()


def _turn(role: Role, text: str) -> Message | tuple[Role, tuple[str, ...]]:
    pieces = tuple(_MARK.split(text))
    return Message(role, text) if len(pieces) == 1 else (role, pieces)


def _filled(pieces: tuple[str, ...], values: Mapping[str, str]) -> str:
    """Text, placeholder, text, ...: each placeholder is replaced once."""
    out = list(pieces)
    for i in range(1, len(out), 2):
        out[i] = values[out[i]]
    return "".join(out)


@lru_cache(maxsize=256)
def _parsed(name: str, text: str, extra: frozenset[str]) -> Prompt:
    return Prompt.parse(name, text, extra)


@lru_cache(maxsize=64)
def generic_text(name: str) -> str:
    """The generic wording of a prompt. Raises `PromptError` for a name that has none."""
    try:
        return (resources.files("branchwise.thought") / "generic" / f"{name}.txt").read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise PromptError(f"there is no prompt {name!r}: the task does not have it, and it is not one of the generic ones") from None


@lru_cache(maxsize=1)
def generic_names() -> tuple[str, ...]:
    """The names of the generic prompts."""
    folder = resources.files("branchwise.thought") / "generic"
    return tuple(sorted(file.name.removesuffix(".txt") for file in folder.iterdir() if file.name.endswith(".txt")))


def prompt_for(
    problem: Problem, name: str, state: State = (), first: bool | None = None, marks: Iterable[str] | None = None
) -> Prompt:  # fmt: skip
    """The problem's own wording of `name`, else the generic one; at the root (or where `first` says so) its `name_first`, if it has one.

    `marks` are the names of the problem's `fields`, where they are known already.
    """
    texts = prompts(problem)
    at_root = f"{name}_first" in texts and (not state if first is None else first)
    own = texts.get(f"{name}_first" if at_root else name)
    text = generic_text(name) if own is None else own
    return _parsed(name, text, frozenset(fields(problem, state) if marks is None else marks))


def load_folder(folder: Path, known: Iterable[str]) -> dict[str, str]:
    """Prompt texts of a user's folder, by file name without .txt. Raises `PromptError` for a name that nothing uses."""
    found = {path.stem: _read(path) for path in sorted(folder.glob("*.txt"))} if folder.is_dir() else {}
    if not found:
        raise PromptError(f"no .txt prompts in {folder}")
    names = set(known)
    for name in found:
        if name not in names:
            raise PromptError(f"{folder}/{name}.txt: nothing uses a prompt of that name{nearest(name, names)}")
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read the prompt {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
