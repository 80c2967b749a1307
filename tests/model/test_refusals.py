"""A rate limit is told from spent quota, and the wait that it names is read, in the words of many servers (case 73)."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.errors import ModelError, PermanentError, RateLimited, TransientError
from branchwise.model.faults import status_error
from branchwise.model.refusals import body_status, named_wait, retry_after, told
from support.pace import slowness

PLAN = "You exceeded your current quota, please check your plan and billing details."
GROQ = (
    "Rate limit reached for model `x` in organization `o` on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000. Please try again in "
    "7m12.5s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing"
)
AZURE = "Requests to this operation have exceeded the token rate limit of your current pricing tier. Please retry after 9 seconds."
RETRY_INFO = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s"}]


def error(message: str = "", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("body", "headers", "seconds"),
    [
        (error("add a payment method at your billing page", code="rate_limit_exceeded"), {"retry-after": "1"}, 1),
        (error("add a payment method at your billing page", code="rate_limit_exceeded"), {}, None),
        (error(GROQ, code="rate_limit_exceeded", type="tokens"), {}, 432.5),
        (error(GROQ), {}, 432.5),
        (error("billing", type="rate_limit_error"), {}, None),
        (error("billing", type="requests", code=None), {}, None),
        (error("billing", code="RateLimitReached"), {}, None),
        (error("billing", code="too_many_requests"), {"retry-after": "soon"}, None),
        (error(AZURE, code="429"), {}, 9),
        (error(PLAN, code=429, status="RESOURCE_EXHAUSTED", details=RETRY_INFO), {}, 12),
        ([error(f"{PLAN}\nPlease retry in 12.25 s.", code=429, status="RESOURCE_EXHAUSTED")], {}, 12.25),
        (error("Quota exceeded for quota metric 'x requests per minute', see billing", code=429, status="RESOURCE_EXHAUSTED"), {}, None),
        (error(PLAN), {"retry-after": "30"}, 30),
        (error(PLAN), {"retry-after-ms": "500"}, 0.5),
        (error(PLAN), {"retry-after": "-1"}, None),
        (error(f"{PLAN} Try again in 20s"), {"retry-after": "30"}, 30),
        (error("slow down; see https://x.example/account/billing or x.example/payment"), {}, None),
        (error("Provider returned error", code=429, metadata={"raw": '{"error": {"retryDelay": "3s", "message": "billing"}}'}), {}, 3),
        ({"error": "rate limited, see our payment plans", "code": "rate_limited"}, {}, None),
        ("Too Many Requests", {}, None),
        (None, {}, None),
    ],
)
def test_rate_limits_and_their_waits(body: Any, headers: dict[str, str], seconds: float | None) -> None:
    found = status_error(429, body, headers, "m")
    assert isinstance(found, RateLimited), found
    assert found.retry_after == seconds


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (error(PLAN, code="insufficient_quota", type="insufficient_quota"), {}),
        (error(f"{PLAN} Please try again in 20s", code="insufficient_quota"), {"retry-after": "30"}),
        (error("requests per minute", code="billing_hard_limit_reached"), {"retry-after": "30"}),
        (error("x", type="exceeded_current_quota_error"), {}),
        (error("x", code="insufficient-balance"), {}),
        (error(PLAN), {}),
        ([error(f"{PLAN} head to https://ai.google.dev/gemini-api/docs/rate-limits", code=429, status="RESOURCE_EXHAUSTED")], {}),
        (error("Your credit balance is too low"), {}),
        (error("Your prepayment credits are depleted; manage your billing"), {}),
        ({"code": "Some resource has been exhausted", "error": "Your team has used all available credits or reached its spending limit."}, {}),
    ],
)
def test_spent_quota(body: Any, headers: dict[str, str]) -> None:
    for status in (403, 429):
        found = status_error(status, body, headers, "m")
        assert isinstance(found, PermanentError), found
        assert "no quota left" in str(found)


def test_a_403_is_a_rate_limit_only_where_it_says_so() -> None:
    assert "check the key" in str(status_error(403, error("Forbidden"), {}, "m"))
    assert isinstance(status_error(403, error("x", code="rateLimitExceeded"), {}, "m"), RateLimited)
    assert isinstance(status_error(403, error("secondary limit"), {"retry-after": "60"}, "m"), RateLimited)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 6ms.", 0.006),
        ("Please try again in 12s", 12),
        ("try again in 1h2m3.5s", 3723.5),
        ("retry in 12 s", 12),
        ("Retry your request after 20 seconds", 20),
        ("please wait for at least 3 minutes and 5 seconds before", 185),
        ("try again in 2 days", 172800),
        ("Please try again later. Limit 20, 60 seconds", None),
        ("retry later", None),
        ("try again in 12 states", None),
        ("you have 30 seconds", None),
        (f"wait {'9' * 9} days", None),
    ],
)
def test_waits_in_words(text: str, seconds: float | None) -> None:
    assert named_wait({}, told(error(text))) == (None if seconds is None else pytest.approx(seconds))


def test_an_overload_that_names_its_wait_in_the_body() -> None:
    found = status_error(503, error("model is loading, retry in 7 seconds"), {}, "m")
    assert isinstance(found, RateLimited)
    assert found.retry_after == 7


UNITS = ["wait ", "again 1s", "retry 1 s, ", "1s", "1.", "a.", "a.b/", "http://", "rate", " ", 'retryDelay"', "requests_per_"]


@pytest.mark.parametrize("unit", UNITS)
def test_a_text_of_any_length_is_read_in_no_time(unit: str) -> None:
    start = time.process_time()
    text = unit * (200_000 // len(unit))
    for body in (text, error(text), error("x", code=text, metadata={"raw": text})):
        assert isinstance(status_error(429, body, {}, "m"), ModelError)
    assert time.process_time() - start < 2 * slowness()


LEAVES = ["rate_limit", "12s", "retry in 5 s", "billing", "429", "\u00b2"]
KEYS = ["error", "code", "type", "status", "message", "details", "metadata", "raw", "retryDelay"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 700) | st.floats() | st.sampled_from(LEAVES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


@given(JSON, st.sampled_from([400, 403, 429, 500, 503]))
def test_any_body_becomes_an_error_of_ours(body: Any, status: int) -> None:
    assert isinstance(status_error(status, body, {}, "m"), ModelError)
    if isinstance(body, dict):
        assert 400 <= body_status(body) < 600


@pytest.mark.parametrize("code", [-1, 0, 1, True, False, 200, 307, 1302, 600, 1e9, "-1", "0", "1302", "\u00b2", "\u0664\u0662\u0669", None, [], {}])
def test_a_code_that_is_no_http_error_says_nothing(code: Any) -> None:
    """Such a code is a server's own: as without one, the request may succeed when tried again."""
    body = error("x", code=code)
    assert body_status(body) == 500
    assert type(status_error(body_status(body), body, {}, "m")) is TransientError


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (error(code=429), 429),
        (error(code="429"), 429),
        (error(code=429.0), 429),
        (error(code=-1, status=503), 503),
        (error(code=0, type="authentication_error"), 401),
        (error(code=True, type="rate_limit_error"), 429),
        (error(status="RESOURCE_EXHAUSTED"), 429),
        ({"error": "x", "code": 401}, 401),
        ({"error": "x"}, 500),
        ({"object": "error", "message": "x", "code": 400}, 400),
    ],
)
def test_the_status_that_a_body_names(body: dict[str, Any], status: int) -> None:
    assert body_status(body) == status


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "120"}, 120),
        ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
    ],
)
def test_waits(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_wait_until_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 57 < (retry_after({"retry-after": date}) or 0) <= 60
