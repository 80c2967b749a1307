"""Errors as HTTP: the status, the kind and the body that each stands for. Knows no request and no search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from branchwise.errors import BranchwiseError, ContextOverflow, ModelError, RateLimited, TraceError, Unsupported, UsageError
from branchwise.model.secrets import mask

__all__ = ["Refusal", "error_body", "failure", "of_usage", "upstream_failure"]

_KINDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "invalid_request_error",
          413: "invalid_request_error", 415: "invalid_request_error", 422: "no_answer", 429: "rate_limit_error"}  # fmt: skip


class Refusal(Exception):
    """A request that ends in an error. `param` names the field at fault, `code` the reason for programs, `more` goes beside the error."""

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None, wait: float | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.status, self.param, self.code, self.wait = status, param, code, wait
        self.more = dict(more or {})

    @property
    def headers(self) -> dict[str, str]:
        """`Retry-After` in whole seconds, where waiting helps; what a client without a token must send."""
        found = {} if self.wait is None else {"Retry-After": str(max(1, round(self.wait + 0.499)))}
        return found | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})

    def body(self) -> dict[str, Any]:
        """The body in OpenAI's form."""
        return error_body(self.status, str(self), self.param, self.code) | ({"branchwise": self.more} if self.more else {})


def error_body(status: int, message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """`{"error": {...}}` without anything that looks like a key."""
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": mask(message), "type": kind, "param": param, "code": code}}


def of_usage(error: UsageError, param: str | None = None) -> Refusal:
    """A setting that cannot be used: 400."""
    return Refusal(400, str(error), param=param, code="invalid_value")


_UPSTREAM: tuple[tuple[type[ModelError], int, str, str | None], ...] = (
    (RateLimited, 503, "upstream_rate_limited", None),
    (ContextOverflow, 400, "context_length_exceeded", "messages"),
    (Unsupported, 400, "unsupported_by_model", "branchwise"),
    (ModelError, 502, "upstream_error", None),
)
"""The first that fits: its status, code, and the field of the request that it is due to."""


def upstream_failure(error: BaseException | None, message: str, more: Mapping[str, Any]) -> Refusal:
    """What a run that failed stands for; `error` is what broke it, or the last error of its model calls, `None` where there was none."""
    if isinstance(error, UsageError) and not isinstance(error, TraceError):
        return Refusal(400, str(error), param="branchwise", code="invalid_value", more=more)
    status, code, param = next(((s, c, p) for kind, s, c, p in _UPSTREAM if isinstance(error, kind)), (500, "search_failed", None))
    wait = 5.0 if status == 503 else None
    if isinstance(error, RateLimited) and error.retry_after:
        wait = error.retry_after
    return Refusal(status, f"the search failed: {message}", param=param, code=code, wait=wait, more=more)


def failure(error: BaseException) -> Refusal:
    """Any other exception of a run: ours are told, those of a fault in the program are not."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TraceError):
        return Refusal(500, str(error), code="trace_failed")
    if isinstance(error, UsageError):
        return of_usage(error)
    if isinstance(error, BranchwiseError):
        return upstream_failure(error, str(error), {})
    return Refusal(500, "a fault in the server; its log has the details", code="internal_error")
