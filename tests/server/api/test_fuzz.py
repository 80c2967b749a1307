"""Requests that schemathesis makes from the API's own schema, valid and not: no 5xx, and every reply is as the schema says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from branchwise import Budget, preset
from branchwise.tasks.open import OPEN_TASK
from support.serving import serving

EXAMPLES = os.environ.get("BRANCHWISE_FUZZ_EXAMPLES", "40")
"""Requests of each kind; more in a long run."""
NOT_CHECKED = "positive_data_acceptance"
"""A request can fit the schema and ask for what does not go together, such as a setting that its method lacks."""


def test_what_the_schema_can_make(tmp_path: Path) -> None:
    with serving(tmp_path / "runs", budget=Budget(calls=12, seconds=20)) as served:
        command = [
            str(Path(sys.executable).parent / "schemathesis"), "run", f"{served.url}/openapi.json", "--max-examples", EXAMPLES, "--seed", "1",
            "--no-color", "--generation-database", "none", "--phases", "examples,coverage,fuzzing", "--exclude-checks", NOT_CHECKED,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=280)
        with served.http() as client:
            health = client.get("/health").json()
            page = client.get("/metrics").text
    assert done.returncode == 0, done.stdout
    assert "Tested: 6" in done.stdout
    assert (health["running"], health["waiting"]) == (0, 0)
    statuses = {line.split('"')[1]: float(line.split()[-1]) for line in page.splitlines() if line.startswith("branchwise_requests_total")}
    assert statuses["200"] >= 1, "some of the requests were searched for"
    assert statuses["400"] > 20
    assert not [status for status in statuses if status >= "500"]


@st.composite
def asked(draw: st.DrawFn) -> dict[str, Any]:
    """A request that can be searched for: a method with some of its settings, any text, any seed."""
    method = draw(st.sampled_from(OPEN_TASK.methods))
    known = [name for name in preset(method).settings if name in VALUES]
    own = {name: draw(st.sampled_from(VALUES[name])) for name in draw(st.lists(st.sampled_from(known), unique=True))} if known else {}
    text = st.text(st.characters(codec="utf-8"), max_size=200)
    messages = [{"role": draw(st.sampled_from(["system", "user", "assistant"])), "content": draw(text)} for _ in range(draw(st.integers(0, 3)))]
    return {
        "model": method, "messages": [*messages, {"role": "user", "content": draw(text)}], "n": draw(st.integers(1, 3)),
        "seed": draw(st.integers(-(1 << 63), (1 << 63) - 1)), "stream": draw(st.booleans()), "max_tokens": draw(st.sampled_from([None, 1, 7, 10**9])),
        "stop": draw(st.sampled_from([None, "e", ["Yes", "\n"]])), "branchwise": own | {"max_calls": draw(st.integers(1, 12))},
    }  # fmt: skip


VALUES: dict[str, list[Any]] = {
    "k": [1, 2, 3], "samples": [1, 2], "breadth": [1, 2], "depth": [1, 2, 5], "rounds": [0, 1, 2], "prune_below": [0, 0.3, 1], "prune_at": [0, 0.3],
    "rollouts": [1, 3], "exploration": [0, 0.5, 2.0], "backtrack": [True, False], "puct": [True, False], "patience": [0, 1], "child_limit": [1, 2],
    "select": ["greedy", "sample"], "evaluate": ["score", "value", "vote", "heuristic", "check", "likelihood"], "max_nodes": [1, 4, "none"],
    "generate": ["propose", "sample"], "roots": ["both", "naive", "dummy"], "choice": ["greedy", "importance"], "backup": ["mean", "max"],
    "cost": ["unit", "log"], "max_steps": [1, 5], "shots": [0, 2], "pick": ["best_value", "last", "majority", "deepest"],
}  # fmt: skip


def test_whatever_is_asked_for_ends_well(tmp_path: Path) -> None:
    seen: Counter[int] = Counter()
    with serving(tmp_path / "runs", budget=Budget(calls=12, seconds=20)) as served, served.http() as client:

        @settings(max_examples=5 * int(EXAMPLES), deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
        @given(asked())
        def one(body: dict[str, Any]) -> None:
            reply = client.post("/v1/chat/completions", json=body)
            seen[reply.status_code] += 1
            assert reply.status_code in (200, 400, 422), reply.text
            if reply.status_code != 200:
                assert reply.json()["error"]["message"]
            elif body["stream"]:
                assert "data: [DONE]" in reply.text or '"code":"no_answer"' in reply.text

        one()
        assert client.get("/health").json()["running"] == 0
    assert seen[200] > sum(seen.values()) / 4


def test_the_document_is_valid(tmp_path: Path) -> None:
    with serving(tmp_path) as served, served.http() as client:
        document = client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    for found in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(found)
    own = document["components"]["schemas"]["Chat"]["properties"]["branchwise"]["anyOf"][0]["properties"]
    for name in ("k", "breadth", "max_calls", "evaluate", "task", "progress"):
        assert name in own
