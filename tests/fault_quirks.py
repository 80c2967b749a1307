"""The quirks of the fault server, a function each; its docstring says what the server does. Knows no client."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from fault_server import Answer, Call, choice, chunk, completion, fault, ok, quirk, sse, text_of, usage

THOUGHT = "Answer: 5? no."

# n samples and seeds


@quirk
def good(call: Call) -> Answer:
    """Behaves."""
    return ok(call)


@quirk
def n_ignored(call: Call) -> Answer:
    """Gives one choice whatever n is."""
    return ok(call, choice(call.body, 0))


@quirk
def n_refused(call: Call) -> Answer:
    """Answers 400 to n > 1."""
    return fault(400, "n > 1 is not supported by this model", "unsupported_value", "n") if call.n > 1 else ok(call)


@quirk
def n_short(call: Call) -> Answer:
    """Gives n - 1 choices, the last of them empty."""
    few = [choice(call.body, i) for i in range(max(1, call.n - 1))]
    if call.n > 1:
        few[-1]["message"]["content"] = ""
    return ok(call, *few)


@quirk
def seed_fixes_text(call: Call) -> Answer:
    """The text depends on the seed only, so that n choices under one seed are equal."""
    text = f"The one and only reply that seed {call.body.get('seed')} can give to this prompt."
    return ok(call, *[choice(call.body, i, text) for i in range(call.n)])


@quirk
def seed_ignored(call: Call) -> Answer:
    """The text depends on when the request came, never on the seed."""
    return ok(call, *[choice(call.body, i, f"reply {call.count}.{i}") for i in range(call.n)])


# Choices that are missing or odd


@quirk
def choices_null(call: Call) -> Answer:
    """200 with choices: null."""
    return Answer(body=completion(call.body) | {"choices": None})


@quirk
def choices_empty(call: Call) -> Answer:
    """200 with choices: []."""
    return Answer(body=completion(call.body) | {"choices": []})


@quirk
def message_null(call: Call) -> Answer:
    """200 with message: null."""
    return ok(call, {"index": 0, "finish_reason": "stop", "message": None})


@quirk
def content_parts(call: Call) -> Answer:
    """The content is a list of parts."""
    return ok(call, choice(call.body, 0, [{"type": "text", "text": "in two "}, {"type": "text", "text": "parts"}]))


@quirk
def content_filter(call: Call) -> Answer:
    """finish_reason content_filter and no content."""
    return ok(call, choice(call.body, 0, "", "content_filter"))


@quirk
def refusal(call: Call) -> Answer:
    """The refusal field is set, the content is null."""
    answer = ok(call, choice(call.body, 0, "", refusal="I cannot help with that."))
    answer.body["choices"][0]["message"]["content"] = None
    return answer


@quirk
def whitespace(call: Call) -> Answer:
    """The content is blanks only."""
    return ok(call, choice(call.body, 0, " \n\t "))


@quirk
def no_index(call: Call) -> Answer:
    """Choices without index, role, id, created or model."""
    bare = [{"message": {"content": text_of(call.body, i)}} for i in range(call.n)]
    return Answer(body={"choices": bare})


@quirk
def error_on_200(call: Call) -> Answer:
    """200 with an error object whose code is 429, or the JSON in the argument."""
    return Answer(body={"error": {"code": json.loads(call.argument or "429"), "message": "slow down"}})


@quirk
def error_in_choice(call: Call) -> Answer:
    """200, finish_reason error, and the error inside the choice (502)."""
    return ok(call, {"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "upstream died"}, "message": {"content": ""}})


@quirk
def html(call: Call) -> Answer:
    """200 with a web page."""
    return Answer(body=b"<html>It works!</html>", headers={"content-type": "text/html"})


# Reasoning


@quirk
def think_block(call: Call) -> Answer:
    """A think block before the answer."""
    return ok(call, choice(call.body, 0, f"<think>{THOUGHT}</think> The answer is 72."))


@quirk
def think_close_only(call: Call) -> Answer:
    """Only the closing think tag, since the template opened it."""
    return ok(call, choice(call.body, 0, f"{THOUGHT}\n</think>\n\nThe answer is 72."))


@quirk
def think_unclosed(call: Call) -> Answer:
    """Cut off inside the think block."""
    return ok(call, choice(call.body, 0, f"<think>{THOUGHT} try 8*3, then 9-", "length"))


@quirk
def reasoning_field(call: Call) -> Answer:
    """reasoning_content beside the content, and reasoning tokens in the usage."""
    details = {"completion_tokens_details": {"reasoning_tokens": 7}, "prompt_tokens_details": {"cached_tokens": 2}}
    return ok(call, choice(call.body, 0, "The answer is 72.", reasoning_content=THOUGHT), usage=usage(call.body, 10, **details))


@quirk
def reasoning_only(call: Call) -> Answer:
    """Reasoning took all tokens: empty content, 200 tokens billed. Argument: the finish reason (length by default), or `null` content."""
    finish = "stop" if call.argument == "stop" else "length"
    answer = ok(call, choice(call.body, 0, "", finish, reasoning_content=THOUGHT * 20), usage=usage(call.body, 200))
    if call.argument == "null":
        answer.body["choices"][0]["message"]["content"] = None
    return answer


@quirk
def stop_in_reasoning(call: Call) -> Answer:
    """Applies stop strings to its reasoning as well as to its content, and then ends."""
    stops = call.body.get("stop") or []
    if any(s in "first\nsecond" for s in stops):
        answer = ok(call, choice(call.body, 0, "", "stop", reasoning_content="first"))
        answer.body["choices"][0]["message"]["content"] = None
        return answer
    return ok(call, choice(call.body, 0, "The answer is 72.\nQuestion: next?", reasoning_content="first\nsecond"))


# Usage


@quirk
def usage_missing(call: Call) -> Answer:
    """No usage. Argument `null`: usage is null; `zero`: all counts are 0."""
    body = completion(call.body)
    if call.argument == "null":
        body["usage"] = None
    elif call.argument == "zero":
        body["usage"] = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    else:
        del body["usage"]
    return Answer(body=body)


# Broken transport


@quirk
def short_body(call: Call) -> Answer:
    """The connection closes in the middle of the body. Argument: how many requests it does so for (all by default)."""
    cut = 40 if call.count < int(call.argument or 1 << 30) else None
    return Answer(body=completion(call.body), cut=cut)


@quirk
def reset(call: Call) -> Answer:
    """The connection is reset in the middle of the body."""
    return Answer(body=completion(call.body), cut=40, reset=True)


@quirk
def stalled(call: Call) -> Answer:
    """Half of the body, and then silence for as many seconds as the argument says (60 by default)."""
    return Answer(body=completion(call.body), cut=40, silence=float(call.argument or 60))


@quirk
def stream_cut(call: Call) -> Answer:
    """The stream ends without a finish reason and without [DONE]."""
    return Answer(body=sse([chunk("half of a "), chunk("thought")], done=False))


@quirk
def stream_error(call: Call) -> Answer:
    """An error event in the middle of the stream."""
    return Answer(body=sse([chunk("half of a "), {"error": {"code": 503, "message": "worker died"}}]))


@quirk
def stream_odd(call: Call) -> Answer:
    """A stream with an event of another form: choices: [null], or by argument a `delta` or `index` of a wrong type, choices that are `text`."""
    odd: Any = {"delta": [{"delta": "x"}], "index": [{"index": [0]}], "text": "x"}.get(call.argument, [None])
    return Answer(body=sse([chunk("half of a "), {"choices": odd}, chunk("thought", "stop")]))


@quirk
def stream_comments(call: Call) -> Answer:
    """A stream with comments and pings between events."""
    return Answer(body=b"data: " + json.dumps(chunk("whole ")).encode() + b"\n\n: ping\n\n" + sse([chunk("text", "stop")]))


@quirk
def slow(call: Call) -> Answer:
    """Answers after as many seconds as the argument says (1 by default)."""
    answer = ok(call)
    answer.delay = float(call.argument or 1)
    return answer


@quirk
def redirect(call: Call) -> Answer:
    """307 to the address in the argument."""
    return Answer(307, {}, {"location": call.argument or "http://127.0.0.1:9/v1/chat/completions"})


# Refusals


@quirk
def context_400(call: Call) -> Answer:
    """400 context_length_exceeded."""
    return fault(400, "This model's maximum context length is 4096 tokens. However, you requested 5000.", "context_length_exceeded")


@quirk
def context_500(call: Call) -> Answer:
    """The same through a gateway that makes a 500 of it."""
    return fault(500, "upstream: maximum context length is 4096 tokens")


@quirk
def slot_context(call: Call) -> Answer:
    """Refuses prompts above 1,024 tokens though its model list advertises 4,096."""
    tokens = sum(len(m["content"]) for m in call.body["messages"]) // 4
    message = f"request ({tokens} tokens) exceeds the available context size (1024 tokens), try increasing it"
    return fault(400, message, "exceed_context_size_error") if tokens > 1024 else ok(call)


@quirk
def retry_after(call: Call) -> Answer:
    """429 once, with Retry-After as in the argument (`date:2` for a date 2 s ahead, `ms:250` for retry-after-ms); then behaves."""
    if call.count:
        return ok(call)
    kind, _, value = call.argument.rpartition(":")
    if kind == "date":
        value = format_datetime(datetime.now(UTC) + timedelta(seconds=float(value)), usegmt=True)
    return fault(429, "slow down", "rate_limit_exceeded", **{"retry_after_ms" if kind == "ms" else "retry_after": value})


@quirk
def low_tier(call: Call) -> Answer:
    """429 once in the words of OpenAI's lowest tier, billing page and all, with as many seconds of Retry-After as the argument says; then behaves.
    `body:0.3`: only the message names the wait."""
    if call.count:
        return ok(call)
    kind, _, value = call.argument.rpartition(":")
    message = (
        "Rate limit reached for gpt-4o-mini in organization org-x on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again "
        f"in {value}s. Visit https://platform.openai.com/account/rate-limits to learn more. You can increase your rate limit by adding a "
        "payment method to your account at https://platform.openai.com/account/billing."
    )
    error = {"message": message, "type": "requests", "param": None, "code": "rate_limit_exceeded"}
    return Answer(429, {"error": error}, {} if kind else {"retry-after": value})


@quirk
def google_rate(call: Call) -> Answer:
    """429 once in Google's words for a rate, which speak of quota and billing, and name the wait of the argument in the body; then behaves."""
    if call.count:
        return ok(call)
    metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
    message = (
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: "
        f"https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: {metric}, limit: 10\nPlease retry in {call.argument}s."
    )
    kind = "type.googleapis.com/google.rpc."
    details = [
        {"@type": f"{kind}QuotaFailure", "violations": [{"quotaMetric": metric, "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
        {"@type": f"{kind}RetryInfo", "retryDelay": f"{call.argument}s"},
    ]
    return Answer(429, [{"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}}])


@quirk
def status(call: Call) -> Answer:
    """Always the status in the argument, without a body that helps."""
    return Answer(int(call.argument or 500), {"error": {"message": "no"}})


@quirk
def flaky(call: Call) -> Answer:
    """503 for as many requests as the argument says (1 by default), then behaves."""
    return fault(503, "overloaded") if call.count < int(call.argument or 1) else ok(call)


@quirk
def quota(call: Call) -> Answer:
    """429 insufficient_quota, which no waiting heals."""
    return fault(429, "You exceeded your current quota, please check your plan", "insufficient_quota")


@quirk
def refuses(call: Call) -> Answer:
    """400 unsupported_parameter for each parameter of the argument (separated by +) that is present."""
    for name in call.argument.split("+"):
        if call.body.get(name) is not None:
            return fault(400, f"Unsupported parameter: '{name}' is not supported with this model.", "unsupported_parameter", name)
    return ok(call)


@quirk
def refuses_default(call: Call) -> Answer:
    """400 unsupported_value for any temperature other than 1."""
    if call.body.get("temperature", 1) != 1:
        message = "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported."
        return fault(400, message, "unsupported_value", "temperature")
    return ok(call)


# Log-probabilities and structure


@quirk
def logprobs(call: Call) -> Answer:
    """Log-probabilities: as they should be, or by argument `null`, `old` (parallel lists), `chosen` (without top_logprobs)."""
    tops = [{"token": t, "logprob": -0.5 - i} for i, t in enumerate(("yes", "no", "so"))][: call.body.get("top_logprobs") or 0]
    full: Any = {"content": [{"token": "yes", "logprob": -0.5, "top_logprobs": tops}]}
    kinds = {
        "null": None,
        "old": {"tokens": ["yes"], "token_logprobs": [-0.5], "top_logprobs": [{"yes": -0.5, "no": -1.5, "so": -2.5}]},
        "chosen": {"content": [{"token": "yes", "logprob": -0.5}]},
    }
    value = kinds.get(call.argument, full) if call.body.get("logprobs") else None
    return ok(call, choice(call.body, 0, "yes") | {"logprobs": value})


def _structured(call: Call, key: str) -> bool:
    return call.body.get(key) is not None


@quirk
def schema(call: Call) -> Answer:
    """Structured output by the argument only: response_format, grammar, guided, prompt (when the prompt says JSON), never."""
    ways = {"response_format": ("response_format",), "grammar": ("grammar",), "guided": ("guided_json", "guided_choice")}
    for way, keys in ways.items():
        for key in keys:
            if _structured(call, key) and way != call.argument:
                return fault(400, f"Unsupported parameter: '{key}'", "unsupported_parameter", key)
    asked = "JSON" in call.body["messages"][-1]["content"] or any(_structured(call, k) for k in ways.get(call.argument, ()))
    wanted = json.dumps(call.body)
    if call.argument == "never" or not asked:
        return ok(call, choice(call.body, 0, "Sure! I think it is fine."))
    if _structured(call, "guided_choice") or (_structured(call, "grammar") and 'root ::= \\"sure' in wanted):
        return ok(call, choice(call.body, 0, "sure"))
    return ok(call, choice(call.body, 0, '{"choice": "sure"}' if '"choice"' in wanted else '{"score": 7}'))


@quirk
def schema_ignored(call: Call) -> Answer:
    """Takes response_format and ignores it; gives JSON in a fence only when told what was wrong."""
    told = len(call.body["messages"]) > 1
    return ok(call, choice(call.body, 0, '```json\n{"score": 7}\n```' if told else "I would rate this a seven."))


# For soak tests


@quirk
def mixed(call: Call) -> Answer:
    """As many per cent of requests as the argument says (20 by default) meet a fault, drawn from prompt and count; repeats may pass."""
    kind = drawn(call.body, call.count, int(call.argument or 20))
    if kind is None:
        return ok(call)
    kinds = (
        lambda: fault(503, "overloaded"),
        lambda: fault(429, "slow down", "rate_limit_exceeded", retry_after_ms="1"),
        lambda: Answer(body=completion(call.body), cut=40),
        lambda: Answer(body={"error": {"code": 500, "message": "gateway"}}),
        lambda: Answer(body=completion(call.body) | {"choices": None}),
        lambda: n_ignored(call),
        lambda: Answer(body=b"not json"),
    )
    return kinds[kind]()


MIXED_KINDS = 7
BILLED = 4
"""The kind of `mixed` whose reply is spoiled and yet says what it cost."""
CUT = 2
"""The kind whose reply is cut after 40 bytes."""


def drawn(body: dict[str, Any], count: int, percent: int) -> int | None:
    """Which fault of `mixed` a request meets, the `count`-th that the quirk had; `None` for none."""
    digest = hashlib.sha256(f"{body['messages'][-1]['content']} {body.get('seed')} {count}".encode()).digest()
    return None if digest[0] * 100 // 256 >= percent else digest[1] % MIXED_KINDS


# Dialects of well-known servers, as far as they differ


@quirk
def dialect(call: Call) -> Answer:
    """Speaks like the server in the argument: openai, openai_reasoning, anthropic, google, ollama, vllm, sglang."""
    body, name = call.body, call.argument
    if name == "openai_reasoning":
        for parameter in ("max_tokens", "temperature", "stop", "logprobs"):
            if body.get(parameter) not in (None, 1):
                return fault(
                    400, f"Unsupported parameter: '{parameter}' is not supported with this model.", "unsupported_parameter", parameter
                )
        details = {"completion_tokens_details": {"reasoning_tokens": 8}}
        return ok(call, usage=usage(body, 10 * call.n, **details))
    if name == "anthropic":  # knows one sample; leaves out what it does not know, such as seed and logprobs
        return fault(400, "n: must be 1; n > 1 is not supported") if call.n > 1 else ok(call)
    if name == "google" and "seed" in body:
        return Answer(400, [{"error": {"code": 400, "message": 'Unknown name "seed": Cannot find field.', "status": "INVALID_ARGUMENT"}}])
    if name == "ollama":  # n and logprobs are ignored
        return ok(call, choice(body, 0), system_fingerprint="fp_ollama")
    if name in ("vllm", "sglang"):
        answer = ok(call)
        for c in answer.body["choices"]:
            c["message"] |= {"reasoning_content": None, "tool_calls": []}
            c |= {"stop_reason": None, "matched_stop": None}
        answer.body |= {"prompt_logprobs": None, "metadata": {"weight_version": "default"}}
        answer.body["usage"] |= {"prompt_tokens_details": None}
        return answer
    return ok(call, system_fingerprint=None, service_tier="default")


@quirk
def echo_key(call: Call) -> Answer:
    """401 that quotes the key it was sent."""
    return fault(401, f"Incorrect API key provided: {call.headers.get('authorization', '').removeprefix('Bearer ')}", "invalid_api_key")
