"""Regular expressions from a task file, held to a form that cannot run for ever on model text. Knows no task.

Python's engine backtracks: `(a+)+b` takes 2^n steps. So what multiplies is refused when the file is read, and what remains is a
polynomial of low degree on lines of bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from branchwise.thought.parsing import sentences, strip_reasoning

__all__ = ["LINE", "TEXT", "compiled", "first_match"]

LINE = 400
"""Characters of one line that are looked at; a longer line is taken by its sentences."""
TEXT = 4000
"""Characters of one thought that are looked at, from its end."""
_REPEATS = 2
_CHOICES = 8
_COUNT = re.compile(r"\{(\d{0,4})(,?)(\d{0,4})\}")
_OPENINGS = ("?:", "?=", "?!", "?<=", "?<!")


@dataclass(slots=True)
class _Group:
    repeats: bool = False
    """Whether something in it can be of several lengths or several kinds."""


def compiled(pattern: str) -> re.Pattern[str]:
    """`pattern`, case-sensitive unless it begins with (?i), ^ and $ at every line. Raises `ValueError` with what to write instead."""
    if len(pattern) > 1000:
        raise ValueError("it is longer than 1000 characters")
    body = pattern.removeprefix("(?i)")
    _check(body)
    try:
        return re.compile(body, re.MULTILINE | (re.IGNORECASE if body != pattern else re.NOFLAG))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"it is no regular expression: {error}") from None


def _check(pattern: str) -> None:
    """Refuse what can take more than polynomial time of degree 3: repeats of repeats or of choices, references back, many of either."""
    stack, closed, at = [_Group()], None, 0
    repeats = choices = 0
    while at < len(pattern):
        char = pattern[at]
        step, count = 1, _COUNT.match(pattern, at)
        if char in "*+?" or (char == "{" and count is not None and count[0] not in ("{}", "{,}")):
            step = 1 if count is None or char != "{" else count.end() - at
            fixed = count is not None and char == "{" and not count[2]
            if char != "?" and closed is not None and closed.repeats:
                raise ValueError("it repeats a part that repeats or has choices itself, which can take for ever; repeat a plain part only")
            repeats += char != "?" and not fixed
            choices += char == "?"
            stack[-1].repeats |= not fixed
            step += pattern[at + step : at + step + 1] in ("?", "+")
            closed = None
        elif char == "(":
            step += _opening(pattern, at)
            stack.append(_Group())
            closed = None
        elif char == ")" and len(stack) > 1:
            closed = stack.pop()
            stack[-1].repeats |= closed.repeats
        else:
            if char == "|" and len(stack) > 1:
                choices += 1
                stack[-1].repeats = True
            step = _atom(pattern, at)
            closed = None
        at += step
    if repeats > _REPEATS or choices > _CHOICES:
        raise ValueError(f"it has {repeats} repeats and {choices} choices; at most {_REPEATS} and {_CHOICES}: write several patterns")


def _opening(pattern: str, at: int) -> int:
    """Characters of a group's opening behind the parenthesis."""
    rest = pattern[at + 1 :]
    if not rest.startswith("?"):
        return 0
    if named := re.match(r"\?P<\w{1,40}>", rest):
        return named.end()
    for opening in _OPENINGS:
        if rest.startswith(opening):
            return len(opening)
    raise ValueError(f"it uses ({rest[:3]}, which is not taken here; groups, (?:, (?P<name>, look-around and a leading (?i) are")


def _atom(pattern: str, at: int) -> int:
    """Characters of the atom at `at`."""
    if pattern[at] == "\\":
        if re.match(r"\\[1-9]", pattern[at:]):
            raise ValueError("it refers back to a group, which can take for ever")
        return 2
    if pattern[at] == "[":
        end = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL).match(pattern, at)
        return 1 if end is None else end.end() - at
    return 1


def _pieces(text: str) -> Iterator[str]:
    """The lines of the end of a thought, none longer than `LINE`."""
    for line in strip_reasoning(text)[-TEXT:].splitlines():
        if len(line) <= LINE:
            yield line.strip()
        else:
            yield from (sentence[:LINE] for sentence in sentences(line))


def first_match(patterns: Iterable[re.Pattern[str]], text: str, last: bool = False) -> re.Match[str] | None:
    """The match of the first pattern that matches a line of `text`: its first matching line, or its last."""
    pieces = list(_pieces(text))
    for pattern in patterns:
        for piece in reversed(pieces) if last else pieces:
            if found := pattern.search(piece):
                return found
    return None
