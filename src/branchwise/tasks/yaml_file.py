"""A YAML file as plain data with the line of each key. Loads data only: no tag makes an object. Knows no task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import yaml

from branchwise.errors import UsageError, nearest

__all__ = ["Section", "read_yaml"]

T = TypeVar("T")
_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping of the file. `at` names it, `lines` has the line of each of its keys."""

    path: Path
    data: Mapping[str, Any]
    lines: Mapping[tuple[str, ...], int] = field(repr=False)
    at: tuple[str, ...] = ()

    def fail(self, key: str, what: str) -> NoReturn:
        """Raise `UsageError` with the file, the line of `key`, its full name and what is wrong there."""
        where = (*self.at, key) if key else self.at
        line = next((self.lines[where[:n]] for n in range(len(where), -1, -1) if where[:n] in self.lines), 1)
        raise UsageError(f"{self.path}, line {line}: {'.'.join(where) + ': ' if where else ''}{what}")

    def only(self, known: Iterable[str]) -> None:
        """Refuse keys that are none of `known`."""
        names = tuple(known)
        for key in self.data:
            if key not in names:
                self.fail(key, f"unknown key{nearest(key, names)}")

    def get(self, key: str, kind: type[T], default: T) -> T:
        """The value of `key`, of that kind (a whole number is a number too). Raises `UsageError`."""
        value = self.data.get(key)
        if value is None:
            return default
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return cast(T, float(value))
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(key, f"must be {_KINDS[kind]}, not {_shown(value)}")
        return value

    def texts(self, key: str) -> list[str]:
        """A text, or a list of texts; empty where there is none."""
        value = self.data.get(key)
        found = [] if value is None else value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in found):
            self.fail(key, "must be a text, or a list of texts")
        return found

    def section(self, key: str, short: str = "") -> Section:
        """The mapping at `key`, empty where there is none; with `short`, a lone text stands for `{short: text}`."""
        value = self.data.get(key)
        if short and isinstance(value, str):
            value = {short: value}
        if value is not None and not isinstance(value, dict):
            self.fail(key, f"must be a mapping{' or a name' if short else ''}, not {_shown(value)}")
        return Section(self.path, value or {}, self.lines, (*self.at, key))


def _shown(value: object) -> str:
    """A value in an error message; never the text of a collection, which aliases can make endless."""
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else repr(str(value)[:40])


_KINDS: dict[type, str] = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def read_yaml(path: Path) -> Section:
    """The mapping in a file. Raises `UsageError` with the line for what is no YAML, no mapping, or has a key twice."""
    try:
        data = path.read_bytes()
        if len(data) > _LARGEST:
            raise UsageError(f"{path} is larger than {_LARGEST:,} bytes: it is no task file")
        text = data.decode("utf-8-sig")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines: dict[tuple[str, ...], int] = {}
        if isinstance(node, yaml.MappingNode):
            _lines(node, (), lines, path, set())
        found = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the task file {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise UsageError(f"{path}{where}: not YAML: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path}, line 1: a task file is a mapping with name, prompt, method ...; see docs/own-task.md")
    return Section(path, found, lines)


def _lines(node: yaml.MappingNode, at: tuple[str, ...], lines: dict[tuple[str, ...], int], path: Path, seen: set[int]) -> None:
    """Note the line of each key. A mapping that aliases repeat is walked once: aliases of aliases would multiply."""
    seen.add(id(node))
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            raise UsageError(f"{path}, line {line}: a key must be a text; put it in quotes")
        where = (*at, key.value)
        if where in lines:
            raise UsageError(f"{path}, line {line}: {'.'.join(where)} is there twice")
        lines[where] = line
        if isinstance(value, yaml.MappingNode) and id(value) not in seen:
            _lines(value, where, lines, path, seen)
