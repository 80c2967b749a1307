"""Structured output is checked here, whatever a backend promises."""

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.model.base import Message, Outcome, Request, Sample
from branchwise.model.structure import MODES, add_structure, checked, misfit, repair
from support.pace import slowness

SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 10},
        "why": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
    },
    "required": ["score"],
}
CHOICES = ("sure", "likely", "impossible")


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"score": 7}, None),
        ({"score": 7, "why": None, "tags": ["a"], "more": 1}, None),
        ([], "must be object"),
        ({}, "lacks 'score'"),
        ({"score": "7"}, "reply.score must be integer"),
        ({"score": True}, "reply.score must be integer"),
        ({"score": 7.5}, "reply.score must be integer"),
        ({"score": 85}, "at most 10"),
        ({"score": 0}, "at least 1"),
        ({"score": 1, "why": 2}, "string or null"),
        ({"score": 1, "tags": ["a", "c"]}, r"tags\[1\] must be one of"),
    ],
)
def test_misfits_are_named(value: Any, wrong: str | None) -> None:
    found = misfit(value, SCHEMA)
    if wrong is None:
        assert found is None
    else:
        with pytest.raises(AssertionError, match=wrong):
            raise AssertionError(found)


NUMBER_OR_NONE = {"anyOf": [{"type": "number", "minimum": 0}, {"enum": ["none"]}]}


@pytest.mark.parametrize(
    ("value", "schema", "wrong"),
    [
        (7.0, {"type": "integer", "minimum": 1}, None),
        (7.5, {"type": "integer"}, "must be integer"),
        (True, {"type": ["integer", "number"]}, "must be integer or number"),
        (True, {"enum": [1, 2]}, "must be one of"),
        (1, {"const": True}, "must be True"),
        (1.0, {"const": 1}, None),
        ({"a": 1, "b": 2}, {"properties": {"a": {}}, "additionalProperties": False}, "must not have 'b'"),
        ({"a": 1}, {"properties": {"a": {}}, "additionalProperties": False}, None),
        ({"a": 1, "b": 2}, {"properties": {"a": {}}, "additionalProperties": True}, None),
        ({"a": 1, "b": "x"}, {"properties": {"a": {}}, "additionalProperties": {"type": "number"}}, "reply.b must be number"),
        ({"b": 2}, {"additionalProperties": {"type": "number"}}, None),
        ("ab", {"minLength": 3}, "at least 3 characters long"),
        ("abc", {"minLength": 3, "maxLength": 3}, None),
        ("abcd", {"maxLength": 3}, "at most 3 characters long"),
        ([1], {"minItems": 2}, "at least 2 items long"),
        ([1, 2], {"minItems": 2, "maxItems": 2}, None),
        ([1, 2, 3], {"maxItems": 2}, "at most 2 items long"),
        (5, {"maxLength": 1, "maxItems": 1}, None),
        (5, NUMBER_OR_NONE, None),
        ("none", NUMBER_OR_NONE, None),
        (-5, NUMBER_OR_NONE, r"at least 0 and the reply must be one of \['none'\]"),
        ("many", NUMBER_OR_NONE, "must be number and"),
        ({"a": [{"b": "x"}]}, {"properties": {"a": {"items": {"properties": {"b": {"minLength": 2}}}}}}, r"reply.a\[0\].b must be at least 2"),
        ({"a": 1}, {"patternProperties": {"a": {"type": "string"}}}, None),
    ],
    ids=repr,
)
def test_what_of_a_schema_is_checked(value: Any, schema: dict[str, Any], wrong: str | None) -> None:
    found = misfit(value, schema)
    assert found is None if wrong is None else found is not None and re.search(wrong, found), found


def request(**changes: Any) -> Request:
    return Request((Message("user", "Rate it."),), **changes)


@pytest.mark.parametrize(
    ("text", "outcome", "read"),
    [
        ('{"score": 7}', Outcome.OK, '{"score":7}'),
        ('```json\n{"score": 7}\n```', Outcome.OK, '{"score":7}'),
        ('\n\n```\n\n{"score": 7}\n\n```  \n', Outcome.OK, '{"score":7}'),
        ('```json \r\n{"score": 7}```', Outcome.OK, '{"score":7}'),
        ("```", Outcome.INVALID, "```"),
        ("```\n```", Outcome.INVALID, "```\n```"),
        ("``````", Outcome.INVALID, "``````"),
        ("I say 7", Outcome.INVALID, "I say 7"),
        ('{"score": 7', Outcome.INVALID, '{"score": 7'),
        ('{"score": 85}', Outcome.INVALID, '{"score": 85}'),
    ],
)
def test_json_is_read_and_checked(text: str, outcome: Outcome, read: str) -> None:
    sample = checked(Sample(text), request(schema=SCHEMA))
    assert (sample.outcome, sample.text) == (outcome, read)
    assert bool(sample.error) == (outcome is Outcome.INVALID)


@pytest.mark.parametrize("unit", ["\n", "```", "```\n", "{", "[", '{"score":', " ", "a"])
@pytest.mark.parametrize("begin", ["", "```", "```json\n"])
def test_any_text_is_checked_in_no_time(unit: str, begin: str) -> None:
    start = time.process_time()
    for end in ("", "x", "```"):
        for asked in (request(schema=SCHEMA), request(choices=CHOICES)):
            assert checked(Sample(begin + unit * (200_000 // len(unit)) + end), asked).outcome is Outcome.INVALID
    assert time.process_time() - start < 1 * slowness()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("sure", "sure"),
        (" Sure.\n", "sure"),
        ("**likely**", "likely"),
        ('{"choice": "likely"}', "likely"),
        ("surely", None),
        ("not sure", None),
        ("sure or likely", None),
        ('{"choice": 5}', None),
        ("{", None),
    ],
)
def test_a_choice_is_exactly_one_of_them(text: str, read: str | None) -> None:
    sample = checked(Sample(text), request(choices=CHOICES))
    assert (sample.text if sample.usable else None) == read


def test_other_outcomes_stay_as_they_are() -> None:
    for outcome in (Outcome.EMPTY, Outcome.FILTERED, Outcome.REFUSED, Outcome.TRUNCATED_IN_REASONING):
        assert checked(Sample("x", outcome), request(schema=SCHEMA)).outcome is outcome


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wanted", [{"schema": SCHEMA}, {"choices": ('say "yes"', "no")}])
def test_every_way_of_asking_changes_the_body(mode: str, wanted: dict[str, Any]) -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Rate it."}]}
    add_structure(body, request(**wanted), mode, mode)
    assert ("response_format" in body) == (mode == "response_format")
    assert ("extra_body" in body) == (mode in ("guided", "grammar"))
    assert (body["messages"][0]["content"] != "Rate it.") == (mode == "prompt")
    if mode == "grammar" and "choices" in wanted:
        assert body["extra_body"]["grammar"] == 'root ::= "say \\"yes\\"" | "no"'


def test_nothing_is_added_where_nothing_is_asked_for() -> None:
    body: dict[str, Any] = {"messages": []}
    add_structure(body, request(), MODES[0], MODES[0])
    assert body == {"messages": []}


def test_a_repair_names_the_fault() -> None:
    again = repair(request(schema=SCHEMA, n=3), Sample("seven", Outcome.INVALID, error="not JSON"))
    assert again.n == 1
    assert [m.role for m in again.messages] == ["user", "assistant", "user"]
    assert "not JSON" in again.messages[-1].content


@given(st.text(max_size=40))
def test_no_text_raises(text: str) -> None:
    for wanted in ({"schema": SCHEMA}, {"choices": CHOICES}):
        checked(Sample(text), request(**wanted))
