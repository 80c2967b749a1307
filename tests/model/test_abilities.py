"""What is learned from refusals, and what is not."""

from typing import Any

import pytest

from branchwise.model.abilities import Abilities

SENT = {"model": "m", "messages": [], "max_tokens": 9, "temperature": 0.7, "n": 5, "stop": ["a"], "seed": 1, "logprobs": True}


def learned(message: str, status: int = 400, sent: dict[str, Any] = SENT, **more: Any) -> tuple[bool, Abilities]:
    able = Abilities("m")
    return able.learn(status, {"error": {"message": message, **more}}, sent), able


@pytest.mark.parametrize(
    ("message", "missing"),
    [
        ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
        ("Unrecognized request argument supplied: seed", "seed"),
        ('Unknown name "seed": Cannot find field.', "seed"),
        ("stop: Extra inputs are not permitted", "stop"),
        ("this model does not support the temperature setting", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ("reasoning models don't support temperature", "temperature"),
    ],
)
def test_a_refused_parameter_is_left_out(message: str, missing: str) -> None:
    taught, able = learned(message)
    assert taught
    assert set(SENT) - set(able.shape(SENT)) == {missing}


def test_log_probabilities_that_are_not_available_are_given_up() -> None:
    taught, able = learned("logprobs are not available for this model")
    assert (taught, able.logprobs) == (True, False)


def test_max_tokens_gets_its_other_name() -> None:
    taught, able = learned("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", param="max_tokens")
    assert taught
    assert able.shape(SENT)["max_completion_tokens"] == 9
    assert "max_tokens" not in able.shape(SENT)


def test_neither_name_is_known() -> None:
    able = Abilities("m")
    assert able.learn(400, {"error": {"message": "unsupported", "param": "max_tokens"}}, SENT)
    assert able.learn(400, {"error": {"message": "unsupported", "param": "max_completion_tokens"}}, able.shape(SENT))
    assert "max_completion_tokens" not in able.shape(SENT)


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("n > 1 is not supported", 1),
        ("Field 'n': Value must be between 1 <= value <= 4, but got 8", 4),
        ("n: at most 8 is allowed, more not supported", 8),
    ],
)
def test_n_is_limited(message: str, most: int) -> None:
    taught, able = learned(message)
    assert taught
    assert able.max_n == most


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("temperature must be a number", 400),
        ("Unsupported parameter: 'top_k'", 400),
        ("messages: text content is not supported", 400),
        ("Unsupported parameter: 'temperature'", 500),
        ("Unsupported parameter: 'temperature'", 401),
        ("", 400),
    ],
)
def test_other_refusals_teach_nothing(message: str, status: int) -> None:
    taught, able = learned(message, status)
    assert not taught
    assert able.shape(SENT) == SENT
    assert not able.notices


def test_a_fact_is_told_once() -> None:
    able = Abilities("m")
    for _ in range(3):
        able.learn(400, {"error": {"message": "Unsupported parameter: 'seed'"}}, SENT)
    assert len(able.notices) == 1
