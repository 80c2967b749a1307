"""What an error body says: its status, whether it is a rate limit or spent quota, and the wait that it names. Knows no exception, never waits."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

__all__ = ["Told", "body_status", "is_rate_limit", "is_spent_quota", "named_wait", "retry_after", "told"]

MOST_TEXT = 4_000
"""Characters of a message in which a wait or a reason is looked for."""
_SPENT_CODE = re.compile(
    r"insufficient_?(?:quota|balance|funds|credit)|exceeded_?current_?quota|billing_|out_of_credit|credits?_(?:limit|exhausted|depleted)"
    r"|payment_?required|spend(?:ing)?_?limit"
)
_LIMIT_CODE = re.compile(r"rate_?limit|too_?many_?requests|throttl|^(?:requests|tokens)(?:_per_.{1,20})?$")
_ADDRESS = re.compile(r"\bhttps?://\S+|\b[\w.-]{1,60}\.\w{2,10}/\S*")
_LIMIT_WORDS = re.compile(
    r"rate[- ]?limit|too many requests|(?:requests?|tokens?)[- ]per[- ](?:second|min|hour|day)|\b[rt]p[smd]\b|\bthrottl", re.IGNORECASE
)
_SPENT_WORDS = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|payment|credit balance|out of credits|(?:all|no) (?:available |remaining )?credits"
    r"|spending limit",
    re.IGNORECASE,
)
_SPAN = r"(\d{1,9}(?:\.\d{1,9})?)\s{0,3}(milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)(?![A-Za-z])"
_SPANS = re.compile(_SPAN, re.IGNORECASE)
_AGAIN = re.compile(rf"\b(?:again|retry|retrying|wait)\b[^.\d]{{0,40}}((?:{_SPAN}[\s,]{{0,3}}(?:and\s)?){{1,5}})", re.IGNORECASE)
_DELAY = re.compile(rf"retry_?delay[\\\"'\s:]{{1,12}}({_SPAN})", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


class Told(NamedTuple):
    """An error body as read: `codes` are its code, type and status in small letters, `raw` is what a gateway quotes of the server behind it."""

    message: str = ""
    codes: tuple[str, ...] = ()
    raw: str = ""
    delay: str = ""
    """Google's RetryInfo, such as "12s"."""

    @property
    def text(self) -> str:
        """All of it, for looking up words."""
        return " ".join((*self.codes, self.raw, self.message))


def told(body: object) -> Told:
    """What `body` says, in whichever of the known forms: `{"error": {...}}`, `{"error": text}`, what is inside, a list of one, or a text."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(inner, Mapping):
        outer = _codes(body) if isinstance(body, Mapping) else ()
        return Told("" if inner is None else str(inner), outer)
    message = inner.get("message") or inner.get("detail") or inner.get("error") or dict(inner)
    more: Any = inner.get("metadata")
    raw = str(more.get("raw", "")) if isinstance(more, Mapping) else ""
    return Told(str(message), _codes(inner), raw, _delay(inner.get("details")))


def _codes(body: Mapping[str, Any]) -> tuple[str, ...]:
    values = (body.get(key) for key in ("code", "type", "status"))
    return tuple(re.sub(r"[-.\s]", "_", value.lower()) for value in values if isinstance(value, str))


def _delay(details: object) -> str:
    for entry in details if isinstance(details, list) else ():
        if isinstance(entry, Mapping) and isinstance(delay := entry.get("retryDelay"), str):
            return delay
    return ""


def is_spent_quota(said: Told, waits: bool) -> bool:
    """Whether a refusal means that nothing is left to spend, so that no waiting helps.

    Its code or type decides; without one that does, a refusal that names a wait (`waits`) is a rate limit; only then its words count, those in
    addresses left out: a rate limit likes to advertise a billing page.
    """
    by_code = _by_code(said)
    if by_code is not None:
        return by_code
    words = _ADDRESS.sub(" ", f"{said.raw} {said.message}"[:MOST_TEXT])
    return not waits and _LIMIT_WORDS.search(words) is None and _SPENT_WORDS.search(words) is not None


def is_rate_limit(said: Told, waits: bool) -> bool:
    """Whether a refusal that need not be one (a 403) is a rate limit: by its code, or because it names a wait."""
    by_code = _by_code(said)
    return waits if by_code is None else not by_code


def _by_code(said: Told) -> bool | None:
    """`True` for spent quota, `False` for a rate limit, `None` where no code tells."""
    for code in said.codes:
        if _SPENT_CODE.search(code):
            return True
        if _LIMIT_CODE.search(code):
            return False
    return None


def named_wait(headers: Mapping[str, str], said: Told) -> float | None:
    """Seconds that the server asks to wait: in its headers, else in the body ("try again in 7m12s", Google's RetryInfo). `None` for none."""
    wait = retry_after(headers)
    if wait is not None:
        return wait
    if said.delay and (found := _SPANS.fullmatch(said.delay.strip())):
        return _seconds(found[0])
    text = f"{said.message[:MOST_TEXT]} {said.raw[:MOST_TEXT]}"
    spoken = _AGAIN.search(text) or _DELAY.search(text)
    return _seconds(spoken[1]) if spoken else None


def _seconds(spans: str) -> float | None:
    """ "1m 2.5s" as 62.5."""
    total = 0.0
    for number, unit in _SPANS.findall(spans):
        name = unit.lower()
        total += float(number) * _SECONDS["ms" if name.startswith(("ms", "mil")) else name[0]]
    return total if total < 1e7 else None


def body_status(body: Mapping[str, Any]) -> int:
    """The status that an error body names: its numeric code, or the one its type stands for; 500 where it says nothing.

    Numbers that are no status of an HTTP error (-1, 0, true, a server's own 1302) say nothing.
    """
    inner = body.get("error")
    places = (inner, body) if isinstance(inner, Mapping) else (body,)
    for place in places:
        for key in ("code", "status", "status_code"):
            if (status := _status(place.get(key))) is not None:
                return status
    words = " ".join(code for place in places for code in _codes(place))
    return next((status for part, status in _WORDS.items() if part in words), 500)


def _status(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"[45]\d\d", value, re.ASCII):
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 400 <= value < 600:
        return int(value)
    return None


_WORDS = {
    "rate_limit": 429,
    "resource_exhausted": 429,
    "overloaded": 529,
    "quota": 429,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "context_length": 400,
    "invalid_request": 400,
    "unsupported": 400,
}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait: `retry-after-ms`, or `Retry-After` as seconds or date. `None` for none and for nonsense."""
    milliseconds = headers.get("retry-after-ms")
    value = headers.get("retry-after") or headers.get("Retry-After")
    seconds = _number(milliseconds)
    if seconds is not None and 0 <= seconds < 1e10:
        return seconds / 1000
    seconds = _number(value)
    if seconds is None and value:
        try:
            seconds = max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if seconds is not None and 0 <= seconds < 1e7 else None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
