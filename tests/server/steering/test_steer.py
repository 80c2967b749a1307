"""A run of the server is steered over HTTP: by whom, how, and what is refused; and what a prune costs, counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from branchwise import read_trace
from branchwise.budget import Budget
from branchwise.server.keys import Account, Keys
from branchwise.server.steer import _FIELDS
from branchwise.trace import Steered
from support.led import ASKED, act, running

ANN, BOB = "ann-token-0123456789", "bob-token-0123456789"


def test_a_branch_is_pruned_and_nothing_more_is_asked_below_it(tmp_path: Path) -> None:
    with running(tmp_path) as (served, gated, run, reply):
        live = served.service.runs.live[run]
        node, other = served.call(lambda: live.steering.tree.root.children[:2])
        before = len(gated.requests)
        assert act(served, run, act="pause").json() == {"run": run, "act": "pause", "paused": True, "live": True}
        with served.http() as client:
            listed = client.get("/runs").json()["runs"][0]
        assert (listed["live"], listed["steering"], listed["paused"]) == (True, True, True)
        assert act(served, run, act="prune", node=node.birth).status_code == 200
        assert act(served, run, act="favour", node=other.birth).status_code in (200, 409)
        assert act(served, run, act="add", node=0, thought="ask the neighbours").status_code == 200
        assert act(served, run, act="go_on").json()["paused"] is False
        gated.allow(served)
        done = reply.result(240)
        assert done.status_code == 200
        label = node.label
        later = [r.id.node for r in gated.requests[before:] if r.id is not None]
        assert later
        assert not [place for place in later if place == label or place.startswith(f"{label}.")]
        assert "ask the neighbours" in {n.thought for n in live_tree(tmp_path / f"{run}.jsonl")}
        acts = [event.act for event in read_trace(tmp_path / f"{run}.jsonl") if isinstance(event, Steered)]
        assert acts[:2] == ["pause", "prune"]
        assert acts[-2:] == ["add", "go_on"]


def live_tree(trace: Path) -> Any:
    from branchwise import Tree

    return Tree.fold(read_trace(trace))


def test_an_approved_thought_is_the_answer_of_the_completion(tmp_path: Path) -> None:
    with running(tmp_path) as (served, gated, run, reply):
        assert act(served, run, act="approve", node=1).json()["live"] in (True, False)
        gated.allow(served)
        done = reply.result(240).json()
        told = done["branchwise"]
        told = told["searches"][0] if "searches" in told else told
        assert "approved" in repr(told)
        assert done["choices"][0]["message"]["content"]


def test_what_cannot_be_done_is_refused_and_told(tmp_path: Path) -> None:
    with running(tmp_path) as (served, _, run, _):
        cases: list[tuple[dict[str, Any], int, str]] = [
            ({"act": "dance"}, 400, "act is one of"),
            ({}, 400, "act is one of"),
            ({"act": ["prune"]}, 400, "act is one of"),
            ({"act": "prune"}, 400, "needs node"),
            ({"act": "prune", "node": "1"}, 400, "needs node"),
            ({"act": "prune", "node": True}, 400, "needs node"),
            ({"act": "prune", "node": 1, "by": "root"}, 400, "no such field"),
            ({"act": "add", "node": 0}, 400, "needs thought"),
            ({"act": "budget", "budget": 20}, 400, "needs budget"),
            ({"act": "prune", "node": 0}, 409, "problem itself"),
            ({"act": "prune", "node": 10**9}, 409, "no such thought"),
            ({"act": "prune", "node": -1}, 409, "no such thought"),
            ({"act": "add", "node": 0, "thought": " "}, 409, "empty"),
            ({"act": "budget", "budget": {"dollars": 3}}, 409, "no 'dollars'"),
            ({"act": "budget", "budget": {"calls": "3"}}, 409, "positive"),
            ({"act": "budget", "budget": {}}, 409, "by how much"),
        ]
        for body, status, text in cases:
            reply = act(served, run, **body)
            assert (reply.status_code, text in reply.json()["error"]["message"]) == (status, True), (body, reply.text)
        with served.http() as client:
            assert client.post(f"/runs/{run}/steer", content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
            assert client.post(f"/runs/{run}/steer", content=b'{"act":"pause"}', headers={"Content-Type": "text/plain"}).status_code == 415
            assert client.get(f"/runs/{run}/steer").status_code == 405
            assert client.post("/runs/none/steer", json={"act": "pause"}).status_code == 404
            assert client.post("/runs/..%2f..%2fetc/steer", json={"act": "pause"}).status_code == 404
            foreign = {"Origin": "http://elsewhere.example", "Content-Type": "application/json"}
            assert client.post(f"/runs/{run}/steer", content=b'{"act":"pause"}', headers=foreign).status_code == 403
        (tmp_path / "old.jsonl").write_bytes((tmp_path / f"{run}.jsonl").read_bytes())
        assert act(served, "old", act="pause").status_code == 409
        assert not [event for event in read_trace(tmp_path / f"{run}.jsonl") if isinstance(event, Steered)], "nothing was done"


def test_a_budget_is_raised(tmp_path: Path) -> None:
    body = {**ASKED, "branchwise": {**ASKED["branchwise"], "max_calls": 12}}  # type: ignore[dict-item]
    with running(tmp_path, body=body) as (served, gated, run, reply):
        assert act(served, run, act="budget", budget={"calls": 10}).status_code == 200
        gated.allow(served)
        reply.result(240)
        assert 12 < len(gated.requests) <= 22


def test_without_tokens_the_limits_of_the_server_hold_all_the_same(tmp_path: Path) -> None:
    """A request has 12 calls, the server allows 30, and everybody together has 20."""
    body = {**ASKED, "branchwise": {**ASKED["branchwise"], "max_calls": 12}}  # type: ignore[dict-item]
    keys = Keys(limits={"calls": 20})
    with running(tmp_path, body=body, keys=keys, budget=Budget(calls=30, seconds=600)) as (served, gated, run, reply):
        refused = act(served, run, act="budget", budget={"calls": 19})
        assert (refused.status_code, "allows a request 30 calls" in refused.text) == (409, True)
        refused = act(served, run, act="budget", budget={"calls": 9})
        assert (refused.status_code, "this key's budget of calls" in refused.text) == (409, True)
        assert act(served, run, act="budget", budget={"calls": 8}).status_code == 200
        assert act(served, run, act="budget", budget={"calls": 1}).status_code == 409
        gated.allow(served)
        reply.result(240)
        assert 12 < len(gated.requests) <= 20


def test_with_tokens_a_key_steers_its_own_runs_within_its_own_limits(tmp_path: Path) -> None:
    def keys() -> Keys:
        return Keys([(ANN, Account("ann", {"calls": 40})), (BOB, Account("bob"))])

    body = {**ASKED, "branchwise": {**ASKED["branchwise"], "max_calls": 20}}  # type: ignore[dict-item]
    with running(tmp_path, ANN, body=body, keys=keys(), budget=Budget(calls=50, seconds=600)) as (served, gated, run, reply):
        assert act(served, run, act="pause").status_code == 401
        assert act(served, run, BOB, act="pause").status_code == 403
        refused = act(served, run, ANN, act="budget", budget={"calls": 31})
        assert (refused.status_code, "allows a request 50 calls" in refused.text) == (409, True)
        refused = act(served, run, ANN, act="budget", budget={"calls": 21})
        assert (refused.status_code, "this key's budget of calls" in refused.text) == (409, True)
        assert act(served, run, ANN, act="budget", budget={"calls": 20}).status_code == 200
        assert act(served, run, ANN, act="budget", budget={"calls": 1}).status_code == 409
        assert act(served, run, ANN, act="prune", node=1).status_code == 200
        gated.allow(served)
        reply.result(240)
        assert len(gated.requests) <= 40
        events = [event for event in read_trace(tmp_path / f"{run}.jsonl") if isinstance(event, Steered)]
        assert [(event.act, event.by) for event in events] == [("budget", "ann"), ("prune", "ann")]
        assert ANN not in (tmp_path / f"{run}.jsonl").read_text()


@pytest.mark.parametrize("how", ["stop", "client"])
def test_a_paused_search_ends_with_the_server_and_with_its_client(how: str, tmp_path: Path) -> None:
    with running(tmp_path) as (served, gated, run, reply):
        assert act(served, run, act="pause").status_code == 200
        gated.allow(served)
        if how == "stop":
            served.call(served.service.stop)
        else:
            served.call(lambda: served.service.runs.live[run].stop.now())
        assert reply.result(240).status_code in (200, 422, 503)
        assert act(served, run, act="go_on").status_code == 409


def test_the_document_of_the_api_has_every_act_as_the_server_takes_it(tmp_path: Path) -> None:
    with running(tmp_path) as (served, _, run, _):
        with served.http() as client:
            document = client.get("/openapi.json").json()
        steer = document["paths"]["/runs/{id}/steer"]["post"]
        assert steer["requestBody"]["content"]["application/json"]["schema"]["$ref"] == "#/components/schemas/Act"
        forms = document["components"]["schemas"]["Act"]["oneOf"]
        told = {act: tuple(name for name in form["required"] if name != "act") for form in forms for act in form["properties"]["act"]["enum"]}
        assert told == _FIELDS
        values: dict[str, Any] = {"node": 1, "thought": "ask the neighbours", "budget": {"calls": 3}}
        for name, needs in told.items():
            reply = act(served, run, act=name, **{need: values[need] for need in needs})
            assert reply.status_code in (200, 409), (name, reply.text)
            assert str(reply.status_code) in steer["responses"]
            for need in needs:
                body = {other: values[other] for other in needs if other != need}
                assert act(served, run, act=name, **body).status_code == 400
