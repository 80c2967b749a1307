"""Every foreign exception has its place in our tree; waits and kinds are read right (cases 66, 67, 72, 73)."""

import inspect
from typing import Any

import openai
import pytest
from openai import _exceptions as exceptions

from branchwise.errors import ContextOverflow, ModelError, PermanentError, RateLimited, TransientError
from branchwise.model.faults import model_error, status_error, transport_errors

MAPPED = {
    exceptions.APIConnectionError: TransientError,
    exceptions.APITimeoutError: TransientError,
    exceptions.RateLimitError: RateLimited,
    exceptions.InternalServerError: TransientError,
    exceptions.ConflictError: TransientError,
    exceptions.BadRequestError: PermanentError,
    exceptions.AuthenticationError: PermanentError,
    exceptions.OAuthError: PermanentError,
    exceptions.PermissionDeniedError: PermanentError,
    exceptions.NotFoundError: PermanentError,
    exceptions.UnprocessableEntityError: PermanentError,
    exceptions.APIStatusError: PermanentError,
    exceptions.APIResponseValidationError: TransientError,
    exceptions.APIError: TransientError,
    exceptions.OpenAIError: PermanentError,
    exceptions.LengthFinishReasonError: PermanentError,
    exceptions.ContentFilterFinishReasonError: PermanentError,
    exceptions.InvalidWebhookSignatureError: TransientError,
    exceptions.SubjectTokenProviderError: PermanentError,
    exceptions.WebSocketConnectionClosedError: PermanentError,
    exceptions.WebSocketQueueFullError: PermanentError,
}
STATUS = {
    exceptions.RateLimitError: 429, exceptions.InternalServerError: 500, exceptions.ConflictError: 409, exceptions.BadRequestError: 400,
    exceptions.AuthenticationError: 401, exceptions.OAuthError: 401, exceptions.PermissionDeniedError: 403, exceptions.NotFoundError: 404,
    exceptions.UnprocessableEntityError: 422, exceptions.APIStatusError: 418,
}  # fmt: skip


class _Response:
    def __init__(self, status: int) -> None:
        self.status_code, self.headers, self.request = status, {}, None


def made(kind: type[BaseException]) -> BaseException:
    """An instance, without the constructors that want a real response."""
    error = kind.__new__(kind)
    Exception.__init__(error, "what happened")
    status = STATUS.get(kind, 0)
    values = {"message": "what happened", "body": None, "code": None, "status_code": status, "response": _Response(status)}
    for name, value in values.items():
        try:
            setattr(error, name, value)
        except AttributeError:
            continue
    return error


def test_every_exception_of_the_client_is_mapped_here() -> None:
    own = {v for v in vars(exceptions).values() if inspect.isclass(v) and issubclass(v, Exception)}
    found = {v for v in own if v.__module__.startswith("openai")} | {openai.OpenAIError}
    assert found == set(MAPPED), "the client has a new exception, or lost one: give it its place in faults.py and here"


@pytest.mark.parametrize("kind", MAPPED, ids=lambda k: k.__name__)
def test_exceptions_of_the_client(kind: type[BaseException]) -> None:
    assert type(model_error(made(kind), "m")) is MAPPED[kind]


def test_every_exception_of_the_transport_is_mapped() -> None:
    seen = set()
    pending = list(transport_errors())
    while pending:
        kind = pending.pop()
        seen.add(kind)
        pending += kind.__subclasses__()
    assert len(seen) > 15
    for kind in seen:
        assert isinstance(model_error(made(kind), "m"), TransientError), kind


def test_what_is_no_fault_of_a_backend_passes() -> None:
    for error in (KeyboardInterrupt(), TypeError("bug"), MemoryError(), KeyError("x")):
        assert model_error(error, "m") is None


def test_our_own_errors_stay_as_they_are() -> None:
    error = ContextOverflow("x")
    assert model_error(error, "m") is error


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": {"message": "x", "code": "context_length_exceeded"}}, ContextOverflow),
        (400, {"error": {"message": "This model's maximum context length is 4096 tokens."}}, ContextOverflow),
        (500, {"error": {"message": "upstream: maximum context length is 4096 tokens"}}, ContextOverflow),
        (500, "Error: input is too long for requested model", ContextOverflow),
        (413, {"error": "prompt is too long: 210000 tokens > 200000 maximum"}, ContextOverflow),
        (400, {"message": "request (1531 tokens) exceeds the available context size (1024 tokens), try increasing it"}, ContextOverflow),
        (400, {"error": {"message": "Requested token count exceeds the model's maximum context length"}}, ContextOverflow),
        (400, {"error": {"message": "The input token count (40000) exceeds the maximum number of tokens allowed (32768)."}}, ContextOverflow),
        (400, {"error": {"message": "input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000"}}, ContextOverflow),
        (422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 512. Given: 600 and 20"}, ContextOverflow),
        (422, {"error": "`inputs` must have less than 1024 tokens. Given: 1500"}, ContextOverflow),
        (400, {"error": {"message": "input temperature must be <= 2"}}, PermanentError),
        (400, {"error": {"message": "the context of this question is unclear"}}, PermanentError),
        (429, {"error": {"message": "x", "code": "insufficient_quota"}}, PermanentError),
        (429, {"error": {"message": "rate limit on tokens: maximum context length per minute"}}, RateLimited),
        (402, None, PermanentError),
        (401, None, PermanentError),
        (403, None, PermanentError),
        (404, None, PermanentError),
        (422, {"detail": [{"msg": "x"}]}, PermanentError),
        (307, None, PermanentError),
        (501, None, PermanentError),
        (408, None, TransientError),
        (500, None, TransientError),
        (503, None, TransientError),
        (529, "", TransientError),
    ],
)
def test_statuses(status: int, body: Any, kind: type[ModelError]) -> None:
    assert type(status_error(status, body, {}, "m")) is kind


def test_secrets_are_masked_in_messages() -> None:
    error = status_error(401, {"error": {"message": "bad key topsecret-value at http://u:pw123@h/"}}, {}, "m", ("topsecret-value",))
    assert "topsecret" not in str(error)
    assert "pw123" not in str(error)
