"""A scripted model's replies depend on the request only."""

import asyncio
import random
from pathlib import Path

import pytest

from branchwise.errors import ModelError, UsageError
from branchwise.model.base import Message, Outcome, Request, Sample
from branchwise.model.scripted import Rule, Scripted


def request(text: str = "prompt", **changes: object) -> Request:
    return Request((Message("user", text),), **changes)  # type: ignore[arg-type]


async def test_a_function_is_asked_for_each_sample() -> None:
    model = Scripted(lambda r, i: f"{r.role} {i}")
    assert (await model.sample(request(n=2, first=3))).texts == ["generate 3", "generate 4"]
    assert model.calls == 2
    assert len(model.requests) == 1


async def test_the_first_matching_rule_answers_in_turn() -> None:
    model = Scripted(
        [
            {"role": "evaluate", "replies": ["sure"]},
            {"contains": ["4", "9"], "replies": ["a", "b"]},
            {"contains": "4", "replies": ["c"]},
            Rule(("rest",)),
        ]
    )
    assert (await model.sample(request("4 9", role="evaluate"))).texts == ["sure"]
    assert (await model.sample(request("4 9", n=3))).texts == ["a", "b", "a"]
    assert (await model.sample(request("4 9", first=1))).texts == ["b"]
    assert (await model.sample(request("4"))).texts == ["c"]
    assert (await model.sample(request("x"))).texts == ["rest"]


async def test_replies_do_not_depend_on_who_comes_first() -> None:
    async def run(seed: int) -> list[str]:
        delays = random.Random(seed)
        model = Scripted(lambda r, i: f"{r.messages[0].content} {i}", latency=lambda r: asyncio.sleep(delays.random() / 100))
        replies = await asyncio.gather(*(model.sample(request(str(i), n=2)) for i in range(20)))
        return [t for r in replies for t in r.texts]

    assert await run(1) == await run(2)


async def test_usage_is_a_quarter_of_the_bytes() -> None:
    reply = await Scripted(lambda r, i: "12345678" * (i + 1)).sample(request("x" * 40, n=2))
    assert [(s.usage.prompt_tokens, s.usage.completion_tokens, s.usage.requests) for s in reply.samples] == [(10, 2, 1), (0, 4, 0)]


async def test_a_sample_can_be_given_whole() -> None:
    reply = await Scripted(lambda r, i: Sample("", Outcome.FILTERED)).sample(request())
    assert reply.samples[0].outcome is Outcome.FILTERED
    assert (await Scripted(lambda r, i: " ").sample(request())).samples[0].outcome is Outcome.EMPTY


async def test_a_request_that_no_rule_answers_is_shown() -> None:
    with pytest.raises(ModelError, match=r"'vote'.*the end'$"):
        await Scripted([{"role": "x", "replies": ["y"]}]).sample(request("b" * 300 + "the end", role="vote"))


async def test_rules_are_read_from_both_kinds_of_file(tmp_path: Path) -> None:
    lines, array = tmp_path / "a.jsonl", tmp_path / "a.json"
    lines.write_text('{"contains": "x", "replies": ["1"]}\n\n{"replies": "2"}\n')
    array.write_text('[{"contains": "x", "replies": ["1"]}, {"replies": "2"}]')
    marked = [path.with_name(f"bom-{path.name}") for path in (lines, array)]
    for path, copy in zip((lines, array), marked, strict=True):
        copy.write_text(path.read_text(), "utf-8-sig")
    for path in (lines, array, *marked):
        model = Scripted.load(path)
        assert model.name == f"script:{path}"
        assert (await model.sample(request("x"))).texts == ["1"]
        assert (await model.sample(request("y"))).texts == ["2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"replies": ["a"]}\n{"repliez": ["a"]}', "line 2: unknown key 'repliez'; did you mean 'replies'"),
        ('{"replies": ["a"]}\n{"replies": [', "line 2"),
        ('{"replies": []}', "line 1: replies must be"),
        ('{"replies": [1]}', "line 1: replies must be"),
        ('{"replies": ["a"], "contains": 5}', "line 1: contains"),
        ('{"replies": ["a"], "role": 5}', "line 1: role"),
        ("[1]", "rule 1: a rule is an object"),
        ("", "no rules"),
        ("[]", "no rules"),
        ("\ufeff[]", "no rules"),
        ("\n\n", "no rules"),
        ('[{"replies": ["a"]},\n}', "line 2"),
    ],
)
def test_a_wrong_file_says_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        Scripted.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        Scripted.load(tmp_path / "nowhere")
