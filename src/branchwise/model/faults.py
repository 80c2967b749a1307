"""The one place where foreign exceptions and error bodies become errors of ours. Knows no request and never waits."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Mapping

from branchwise.errors import ContextOverflow, ModelError, PermanentError, RateLimited, TransientError
from branchwise.model.refusals import Told, body_status, is_rate_limit, is_spent_quota, named_wait, retry_after, told
from branchwise.model.secrets import mask

__all__ = ["body_status", "bytes_before_cut", "model_error", "perhaps_paid", "retry_after", "status_error", "transport_errors"]

_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum (?:context|model|sequence) length|context (?:length|window|size)"
    r"|(?:prompt|input|request)[^.]{0,60}(?:is )?too (?:long|many tokens|large for the model)"
    r"|exceeds? the (?:model'?s )?max(?:imum)? (?:number of )?(?:input )?tokens|exceeds? context limit|exceeded model token limit|too many tokens:"
    r"|inputs?\b.{0,20}tokens?\b.{0,40}must be <=|inputs?\b.{0,10}must have (?:less|fewer) than \d+ tokens|range of input length",
    re.IGNORECASE,
)


@functools.cache
def transport_errors() -> tuple[type[Exception], ...]:
    """The root errors of the HTTP library under the client, whichever of its two generations that is."""
    found: list[type[Exception]] = []
    for library in ("httpx2", "httpx"):
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        found += [module.HTTPError, module.InvalidURL, module.StreamError]
    return tuple(found)


def model_error(exc: BaseException, name: str, secrets: tuple[str, ...] = ()) -> ModelError | None:
    """The error of ours that `exc` stands for; `None` for what is no fault of a backend and must pass (cancellation, a bug).

    `name` is the model, for the message; `secrets` never appear in it.
    """
    if isinstance(exc, ModelError):
        return exc
    import openai  # takes half a second, so it is not imported with this module

    if isinstance(exc, openai.APIStatusError):
        return status_error(exc.status_code, exc.body, exc.response.headers, name, secrets)
    if isinstance(exc, openai.APITimeoutError):
        return TransientError(f"{name}: no reply in time; a slow model needs a longer timeout or fewer parallel calls")
    if isinstance(exc, openai.APIConnectionError):
        return TransientError(f"{name}: {_connection(exc.__cause__ or exc, secrets)}")
    if isinstance(exc, transport_errors()):  # while a reply is read
        return TransientError(f"{name}: {_connection(exc, secrets)}")
    if isinstance(exc, openai.APIError):  # a reply that does not fit its schema, an error inside a stream
        return _from_body(exc.body, name, secrets) or TransientError(f"{name}: {mask(str(exc), secrets)[:300]}")
    if isinstance(exc, openai.OpenAIError):  # settings of the client itself, such as a missing key
        return PermanentError(f"{name}: {mask(str(exc), secrets)[:300]}")
    if isinstance(exc, ValueError):  # a body that is no JSON
        return TransientError(f"{name}: the reply cannot be read: {mask(str(exc), secrets)[:300]}")
    return None


NO_CONNECTION = "no connection"
"""Nobody listens at the address: how the message begins."""


def _connection(cause: BaseException, secrets: tuple[str, ...]) -> str:
    kind = type(cause).__name__
    what = mask(f"{kind}: {cause}".removesuffix(": "), secrets)[:200]
    if kind.endswith("Timeout"):
        return f"no reply in time ({what})"
    if kind in ("RemoteProtocolError", "ReadError", "StreamClosed"):
        return f"incomplete reply, the connection was cut ({what})"
    if kind in ("DecodingError", "JSONDecodeError"):
        return f"the reply cannot be read ({what})"
    return f"{NO_CONNECTION} ({what}); is the server running at this address?"


def perhaps_paid(error: BaseException, begun: bool) -> bool:
    """Whether the server may have worked on a request that failed in transit: its reply had `begun`, or it took the request and fell silent."""
    import openai

    if not isinstance(error, (openai.APIConnectionError, *transport_errors())):
        return False
    return begun or type(error.__cause__ or error).__name__ == "ReadTimeout"


def bytes_before_cut(error: BaseException) -> int | None:
    """How much of a body had come when the connection was cut in the middle of it; 0 where that is not said, `None` where no body had begun."""
    told = str(error.__cause__ or error)
    if "without sending complete message body" not in told:
        return None
    found = re.search(r"received (\d{1,15}) bytes", told)
    return int(found[1]) if found else 0


def status_error(status: int, body: object, headers: Mapping[str, str], name: str, secrets: tuple[str, ...] = ()) -> ModelError:
    """The error that an HTTP status with its body stands for. `status` is the one in the body where a gateway sent 200."""
    said = told(body)
    text = f"{name}: {mask(said.message, secrets)[:400] or 'no message'} (status {status})"
    if status == 413 or (status not in (401, 402, 403, 404, 429) and _OVERFLOW.search(said.text)):
        return ContextOverflow(text)
    if status == 402:
        return PermanentError(f"{text}; {_SPENT}")
    if status in (403, 429):
        return _refused(status, said, headers, text)
    if status in (503, 529) and (wait := named_wait(headers, said)) is not None:
        return RateLimited(text, wait)
    if status in (408, 409, 425) or (status >= 500 and status not in (501, 505)):
        return TransientError(text)
    if status == 401:
        return PermanentError(f"{text}; {_KEY}")
    if status == 404:
        return PermanentError(f"{text}; check the model's name and the address, which usually ends in /v1")
    if 300 <= status < 400:
        return PermanentError(f"{text}; redirects are not followed, so that a key goes to its own host only: give the final address")
    return PermanentError(text)


_SPENT = "the account has no quota left"
_KEY = "check the key (environment variable or key file) for this address"


def _refused(status: int, said: Told, headers: Mapping[str, str], text: str) -> ModelError:
    """A 429 is a rate limit unless the quota is spent; a 403 can be either, and is else a key that may not."""
    wait = named_wait(headers, said)
    waits = wait is not None or "retry-after" in headers  # also one that cannot be read
    if is_spent_quota(said, waits):
        return PermanentError(f"{text}; {_SPENT}")
    if status == 429 or is_rate_limit(said, waits):
        return RateLimited(text, wait)
    return PermanentError(f"{text}; {_KEY}")


def _from_body(body: object, name: str, secrets: tuple[str, ...] = ()) -> ModelError | None:
    """The error that a body with an `error` object stands for, whatever the HTTP status was."""
    if not isinstance(body, Mapping) or not body.get("error"):
        return None
    return status_error(body_status(body), body, {}, name, secrets)
