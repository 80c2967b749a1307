"""What the server counts, for Prometheus. Knows no request; no label holds text of a user or of a model."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from branchwise.budget import Usage
from branchwise.server.gate import Gate

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)


class Metrics:
    """The counters of one server, in a registry of their own."""

    def __init__(self, gate: Gate) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter("branchwise_requests", "Chat completion requests by status", ["status"], registry=registry)
        self._seconds = Histogram("branchwise_request_seconds", "Seconds from arrival to the end of the answer", registry=registry, buckets=_SECONDS)
        self._searches = Counter("branchwise_searches", "Searches by task, method and why they ended", ["task", "method", "stop"], registry=registry)
        self._calls = Counter("branchwise_model_calls", "Model calls (a call is one reply sampled)", registry=registry)
        self._tokens = Counter("branchwise_tokens", "Tokens of model calls", ["kind"], registry=registry)
        self._cost = Counter("branchwise_cost_dollars", "Dollars, as far as prices are known", registry=registry)
        self._unpriced = Counter("branchwise_unpriced_calls", "Model calls whose price is unknown", registry=registry)
        Gauge("branchwise_searches_running", "Searches that run", registry=registry).set_function(lambda: gate.running)
        Gauge("branchwise_searches_waiting", "Searches that wait for a place", registry=registry).set_function(lambda: gate.waiting)

    def answered(self, status: int, seconds: float) -> None:
        """A request has ended."""
        self._requests.labels(str(status)).inc()
        self._seconds.observe(seconds)

    def searched(self, task: str, method: str, stop: str, usage: Usage) -> None:
        """A search has ended."""
        self._searches.labels(task, method, stop).inc()
        self._calls.inc(usage.calls)
        self._tokens.labels("prompt").inc(usage.prompt_tokens)
        self._tokens.labels("completion").inc(usage.completion_tokens)
        if usage.cost is None:
            self._unpriced.inc(usage.calls)
        else:
            self._cost.inc(usage.cost / 1e6)

    def page(self) -> bytes:
        """All of them in the text format."""
        return generate_latest(self._registry)
