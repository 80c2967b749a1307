"""A model that answers from a script: for tests, examples and dry runs. Knows no network; its replies depend on the request only."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from branchwise.budget import Usage
from branchwise.errors import ModelError, UsageError, nearest
from branchwise.model.base import Outcome, Reply, Request, Sample

__all__ = ["Rule", "Scripted"]

Answer = Callable[[Request, int], "str | Sample"]
"""The reply to a request, given the index of the sample (counted over the whole run, see `Request.first`)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`replies`, taken in turn by the index of the sample, for requests of `role` whose last message holds every text of `contains`.

    Both conditions may be left out. Case matters.
    """

    replies: tuple[str, ...]
    role: str | None = None
    contains: tuple[str, ...] = ()

    def matches(self, request: Request) -> bool:
        """Whether this rule answers `request`."""
        return (self.role is None or self.role == request.role) and all(text in prompt_of(request) for text in self.contains)


class Scripted:
    """A LanguageModel that answers from a function or from rules, the first match in order; the same request always gets the same reply.

    `latency` is awaited before each reply, with the request; replies do not depend on who comes first. `calls` counts samples, `requests`
    keeps each request for assertions. Usage is a quarter of the UTF-8 bytes, rounded down, at least 1.
    """

    def __init__(
        self,
        answers: Answer | Sequence[Rule | Mapping[str, Any]],
        *,
        name: str = "script",
        latency: Callable[[Request], Awaitable[object]] | None = None,
    ) -> None:
        self._answer = answers if callable(answers) else _by_rules([_rule(r, f"rule {i + 1}") for i, r in enumerate(answers)])
        self._name, self._latency = name, latency
        self.calls = 0
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        """`script`, or `script:FILE`."""
        return self._name

    @property
    def identity(self) -> str:
        """The same as `name`: a script has no address."""
        return self._name

    @classmethod
    def load(cls, path: Path) -> Scripted:
        """The rules in a JSON file (a list) or JSONL file (one rule a line). Raises `UsageError` with the line and what is wrong there."""
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"script {path} cannot be read: {error.strerror}") from None
        return cls(list(_read_rules(data, path)), name=f"script:{path}")

    async def sample(self, request: Request) -> Reply:
        """`request.n` samples. Raises `ModelError` where no rule matches, and whatever error the function raises."""
        self.requests.append(request)
        self.calls += request.n
        if self._latency is not None:
            await self._latency(request)
        return Reply(tuple(self._sample(request, i) for i in range(request.n)), model=self._name)

    def _sample(self, request: Request, i: int) -> Sample:
        found = self._answer(request, request.first + i)
        sample = found if isinstance(found, Sample) else Sample(found, Outcome.OK if found.strip() else Outcome.EMPTY, finish="stop")
        if sample.usage != Usage(calls=1):
            return sample
        prompt = tokens("".join(m.content for m in request.messages)) if i == 0 else 0
        return replace(sample, usage=Usage(1, 1 if i == 0 else 0, 0, prompt, 0, tokens(sample.text), tokens(sample.reasoning)))


def tokens(text: str) -> int:
    """A quarter of the UTF-8 bytes, at least 1 unless empty."""
    return max(1, len(text.encode("utf-8", "surrogatepass")) // 4) if text else 0


def prompt_of(request: Request) -> str:
    """The text of the last message."""
    return request.messages[-1].content if request.messages else ""


def _by_rules(rules: Sequence[Rule]) -> Answer:
    def answer(request: Request, index: int) -> str:
        for rule in rules:
            if rule.matches(request):
                return rule.replies[index % len(rule.replies)]
        raise ModelError(f"no rule of the script answers role {request.role!r} with the prompt ending in {prompt_of(request)[-200:]!r}")

    return answer


def _rule(data: Rule | Mapping[str, Any], where: str) -> Rule:
    """A rule from its JSON. Raises `UsageError` that says `where`."""
    if isinstance(data, Rule):
        return data
    if not isinstance(data, Mapping):
        raise UsageError(f"{where}: a rule is an object with the keys role, contains, replies; not {type(data).__name__}")
    known = ("role", "contains", "replies")
    for key in data:
        if key not in known:
            raise UsageError(f"{where}: unknown key {key!r}{nearest(str(key), known)}")
    replies, contains, role = data.get("replies"), data.get("contains", []), data.get("role")
    replies = [replies] if isinstance(replies, str) else replies
    contains = [contains] if isinstance(contains, str) else contains
    if not isinstance(replies, list | tuple) or not replies or not all(isinstance(r, str) for r in replies):
        raise UsageError(f"{where}: replies must be a list of at least one text")
    if not isinstance(contains, list | tuple) or not all(isinstance(c, str) for c in contains):
        raise UsageError(f"{where}: contains must be a text or a list of texts")
    if role is not None and not isinstance(role, str):
        raise UsageError(f"{where}: role must be a text, such as generate or evaluate")
    return Rule(tuple(replies), role, tuple(contains))


def _read_rules(data: bytes, path: Path) -> list[Rule]:
    data = data.removeprefix(BOM_UTF8)  # Windows editors write one
    rules = []
    if data.lstrip()[:1] == b"[":
        try:
            items = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"script {path}: line {error.lineno}: {error.msg}") from None
        rules = [_rule(item, f"script {path}: rule {i + 1}") for i, item in enumerate(items)]
    else:
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                try:
                    rules.append(_rule(orjson.loads(line), f"script {path}: line {number}"))
                except orjson.JSONDecodeError as error:
                    raise UsageError(f"script {path}: line {number}: {error.msg}") from None
    if not rules:
        raise UsageError(f'script {path} holds no rules; a line looks like {{"role": "generate", "replies": ["text"]}}')
    return rules
