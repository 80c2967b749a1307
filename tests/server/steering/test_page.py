"""A run of the real server is led from its page in Chromium; what it asks the model afterwards is counted."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from branchwise import read_trace
from branchwise.trace import Steered, Stopped
from support.browsing import Watched, browser
from support.led import running, thoughts
from support.steered import is_below

PICTURES = "BRANCHWISE_PICTURES"
"""A folder that the picture of the page is copied to: docs/pictures."""


def press(page: Watched, name: str) -> None:
    page.page.get_by_role("button", name=name, exact=True).click()
    page.page.get_by_text("Done.").wait_for()


def test_a_live_run_is_paused_pruned_favoured_and_approved_from_the_page(tmp_path: Path) -> None:
    with browser() as chrome, running(tmp_path, allow=20) as (served, gated, run, reply):
        live, page = served.service.runs.live[run], Watched.open(chrome)
        page.page.goto(f"{served.url}/#run={run}")
        page.wait("branchwise.app.panes[0]?.run.nodes.length > 3 && branchwise.app.panes[0].state.steering")
        press(page, "Pause")
        page.wait("branchwise.app.panes[0].state.paused")
        assert live.steering.paused

        flying = {request.id.node for request in gated.requests if request.role == "generate" and request.id is not None}
        gone, open_below, others = served.call(lambda: unasked(live.steering.tree, flying))
        chosen = others[-1]
        assert open_below, "there were calls to make below it"
        assert len(others) > 1, "others were to come before it"
        page.select(gone.birth)
        press(page, "Prune")
        page.wait(f"branchwise.app.panes[0].run.nodes[{gone.birth}].fate === 'pruned'")
        before = len(gated.requests)
        page.select(chosen.birth)
        press(page, "Favour")
        page.page.wait_for_timeout(300)
        picture = tmp_path / "viewer-steering.png"
        page.page.screenshot(path=picture)
        if folder := os.environ.get(PICTURES):
            shutil.copy(picture, folder)
        gated.allow(served, 3)
        page.page.wait_for_timeout(300)
        assert [r for r in gated.requests[before:] if r.role == "generate"] == [], "a paused search expands nothing"

        size = served.call(partial(thoughts, live))
        press(page, "Go on")
        for _ in range(100):
            if page.run(f"branchwise.app.panes[0].run.nodes[{chosen.birth}].children.length"):
                break
            gated.allow(served, 1)
            page.page.wait_for_timeout(50)
        assert served.call(partial(thoughts, live)) > size
        asked = [request.id.node for request in gated.requests[before:] if request.role == "generate" and request.id is not None]
        assert asked[0] == chosen.label, "the next expansion is the one that was favoured"

        child = page.run(f"branchwise.app.panes[0].run.nodes[{chosen.birth}].children[0].birth")
        page.select(child)
        press(page, "Approve as the answer")
        gated.allow(served)
        told = reply.result(240)
        assert told.status_code == 200
        page.wait("branchwise.app.panes[0].run.end")
        later = [request.id.node for request in gated.requests[before:] if request.id is not None]
        assert [place for place in later if is_below(place, gone.label)] == []
        events = list(read_trace(tmp_path / f"{run}.jsonl"))
        acts = [(event.act, event.node) for event in events if isinstance(event, Steered)]
        assert acts == [("pause", None), ("prune", gone.birth), ("favour", chosen.birth), ("go_on", None), ("approve", child)]
        assert [event.reason for event in events if isinstance(event, Stopped)] == ["approved"]
        assert page.page.get_by_role("button", name="Pause", exact=True).count() == 0, "a run that is over cannot be led"
        assert not page.complaints
        page.close()


def unasked(tree: Any, asked: set[str]) -> tuple[Any, list[Any], list[Any]]:
    """The first thought, and what no step has expanded yet: below it, and elsewhere."""
    top = tree.nodes[1]
    rest = [node for node in tree if node.label not in asked]
    return top, [n for n in rest if is_below(n.label, top.label)], [n for n in rest if not is_below(n.label, top.label)]
