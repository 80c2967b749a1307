"""The page in a real browser: a run watched to its end, its thoughts opened, found and walked by keyboard, two runs side by side."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from branchwise import Budget, Scripted, solve
from branchwise.cli.record import Record
from branchwise.server.keys import Account, Keys
from support.browsing import Site, Watched, birth, browser, call, expanded, record, site, started, stopped, toy_run
from support.serving import serving
from support.steered import METHODS, toy

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def small(folder: Path, name: str = "small", **how: str) -> Path:
    """Every kind of thought once, an answer, and two roles."""
    return record(folder / f"{name}.jsonl", [
        started("Should we open a second shop?", **how),
        call("", "generate", "1. Ask the customers\n2. Look at the rent\n3. Ask the customers"),
        expanded(0, [birth(1, 0, "Ask the customers first"), birth(2, 1, "Look at the rent of the street"), birth(3, 2, "Open it at once")],
                 dropped=[("Hm.", "says nothing")]),
        call("0", "evaluate", "Score: 0.8"), call("0", "evaluate", "Score: 0.6"), call("1", "evaluate", "Score: 0.2"),
        {"step": 1, "judgements": [{"node": 1, "value": 0.7, "samples": [0.8, 0.6, None], "reason": "it is cheap to ask"}], "event": "judged"},
        {"step": 2, "judgements": [{"node": 2, "value": 0.2, "samples": [0.2], "reason": ""}], "event": "judged"},
        {"marks": [{"node": 1, "fate": "kept", "reason": ""}, {"node": 2, "fate": "pruned", "reason": "value 0.2 is below 0.3"}], "event": "marked"},
        call("0", "generate", "Most say yes"),
        expanded(1, [birth(4, 0, "Most of them say yes", status="complete"), birth(5, 1, "There is no street", status="dead", reason="no solution"),
                     birth(2, 2, "Look at the rent of the street", merged=True), birth(6, 3, "Proven so", status="solved")]),
        stopped(4, "Open it"),
    ])  # fmt: skip


def test_a_run_is_watched_while_it_grows_to_its_end(chrome: Browser, here: Site) -> None:
    run, page = toy_run(here), Watched.open(chrome)
    page.page.goto(here.url)
    page.page.get_by_role("button", name="running").click()
    page.page.get_by_text("Waiting for the first thought").wait_for()
    sizes = [page.thoughts()]
    for _ in range(3):
        while page.thoughts() == sizes[-1]:
            run.allow(1)
            page.page.wait_for_timeout(50)
        sizes.append(page.thoughts())
        assert page.page.locator(".pane-head .state").inner_text() == "running"
    run.allow(1000)
    result = run.result()
    page.page.locator(".pane-head .state", has_text="answered").wait_for()
    assert sizes == sorted(set(sizes))
    assert page.thoughts() == len(result.tree) > sizes[-1]
    assert page.page.locator("#details .final").inner_text() == result.answer
    assert page.run("branchwise.app.panes[0].run.spent.calls") == result.usage.calls
    page.page.locator("#runs .state", has_text="answered").wait_for()
    assert not page.complaints
    assert all(url.startswith((here.url, "data:")) for url in page.requests)


def test_a_run_of_another_process_is_followed_by_its_file(chrome: Browser, here: Site) -> None:
    fcntl = pytest.importorskip("fcntl")
    whole = small(here.runs.folder, "model").read_bytes().splitlines(keepends=True)
    path = here.runs.folder / "other.jsonl"
    page = Watched.open(chrome)
    with open(path, "ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(b"".join(whole[:3]) + whole[3][:40])
        page.page.goto(f"{here.url}/#run=other")
        page.wait("branchwise.app.panes[0]?.run.nodes.length === 4 && branchwise.app.panes[0].state.live")
        file.write(whole[3][40:] + b"".join(whole[4:]))
        page.wait("branchwise.app.panes[0].run.nodes.length === 7 && branchwise.app.panes[0].read")
    assert page.page.locator("#details .final").inner_text() == "Open it"
    assert not page.complaints


def test_a_search_that_a_client_asked_for_appears_by_itself(chrome: Browser, tmp_path: Path) -> None:
    page = Watched.open(chrome)
    with serving(tmp_path) as served:
        page.page.goto(served.url)
        page.page.get_by_text("No runs yet.").wait_for()
        reply = served.chat(model="best_first")
        assert reply.status_code == 200
        page.page.locator("#runs button.run").click()
        page.wait("branchwise.app.panes[0]?.read")
        assert page.page.locator("#details .final").inner_text() in reply.json()["choices"][0]["message"]["content"]
        assert page.run("branchwise.app.panes[0].run.spent.calls") == reply.json()["branchwise"]["calls"]
        assert not page.complaints
        page.close()


def test_the_page_folds_a_trace_of_every_search_as_the_program_does(chrome: Browser, here: Site) -> None:
    small(here.runs.folder)
    names = ["small"]
    for name, method in METHODS.items():
        world = toy(len(names))
        names.append(re.sub(r"\W+", "-", name))
        trace = here.runs.folder / f"{names[-1]}.jsonl"
        here.call(solve(world, method, Scripted(world.reply), budget=Budget(calls=300), trace=trace)).result(240)
    page = Watched.open(chrome)
    for name in names:
        page.page.goto(f"{here.url}/#run={name}")
        page.wait(f"branchwise.app.panes[0]?.id === '{name}' && branchwise.app.panes[0].read")
        told, known = page.run("branchwise.app.panes[0].run.counts"), Record.read(here.runs.path(name))
        counts = known.tree.counts()
        for key in ("generated", "kept", "pruned", "merged", "dropped", "dead"):
            assert told[key] == getattr(counts, key), (name, key)
        roles = page.run("Object.fromEntries(branchwise.app.panes[0].run.byRole)")
        assert {role: (r["calls"], r["prompt"], r["completion"], r["cost"]) for role, r in roles.items()} == {
            role: (u.calls, u.prompt_tokens, u.completion_tokens, u.cost) for role, u in known.by_role.items()
        }
        values = page.run("branchwise.app.panes[0].run.nodes.map((node) => [node.label, node.value, node.samples, node.onPath])")
        path = {0} if known.answer_node is None else {0, *(node.birth for node in known.answer_node.path)}
        for node, (label, value, samples, on_path) in zip(known.tree.nodes, values, strict=True):
            assert (label, samples) == (node.label, list(node.samples))
            assert value == (None if node.value is None else pytest.approx(node.value))
            assert on_path == (node.birth in path and known.answer_node is not None), (name, node)
        run = "branchwise.app.panes[0].run"
        judged = page.run(f"{run}.nodes.filter((node) => node.samples.length).map((node) => {run}.judging(node).length)")
        assert all(judged), f"{name}: a judged thought without the calls that judged it"
        for node in known.tree.nodes[:: max(1, len(known.tree.nodes) // 6)]:
            page.select(node.birth)
    assert not page.complaints


def test_deep_places_have_the_labels_of_the_calls(chrome: Browser, here: Site) -> None:
    chain = [expanded(depth, [birth(depth + 1, depth % 3, f"step {depth}")]) for depth in range(60)]
    trace = record(here.runs.folder / "deep.jsonl", [started("deep"), *chain])
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=deep")
    page.wait("branchwise.app.panes[0]?.run.nodes.length === 61")
    assert page.run("branchwise.app.panes[0].run.nodes.map((node) => node.label)") == [node.label for node in Record.read(trace).tree.nodes]


def test_a_thought_opens_with_samples_reasons_prompt_and_reply(chrome: Browser, here: Site) -> None:
    small(here.runs.folder)
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=small")
    page.wait("branchwise.app.panes[0]?.read")
    place = page.run("(() => { const v = branchwise.app.panes[0].view, n = v.run.nodes[1]; const b = v.canvas.getBoundingClientRect();"
                     " return [b.x + (n.x - v.camera.x + 60) * v.camera.scale, b.y + (n.y - v.camera.y + 20) * v.camera.scale]; })()")  # fmt: skip
    page.page.mouse.click(*place)
    panel = page.page.locator("#details")
    panel.get_by_text("thought 0", exact=True).wait_for()
    text = panel.inner_text()
    for part in ("Ask the customers first", "kept", "0.70", "Samples: 0.80  0.60  ?", "it is cheap to ask", "Judged by 2 calls", "Written by 1 call"):
        assert part in text
    panel.locator("details.call").first.locator("summary").first.click()
    panel.get_by_text("What next?").wait_for()
    assert "2. Look at the rent" in panel.locator(".message.reply").first.inner_text()
    page.select(2)
    assert "value 0.2 is below 0.3" in panel.inner_text()
    assert "pruned" in panel.inner_text()
    assert page.page.url.endswith("#run=small&thought=2")
    page.page.reload()
    panel.get_by_text("value 0.2 is below 0.3").wait_for()
    assert not page.complaints


def test_every_kind_is_told_by_words_and_shapes_and_can_be_hidden(chrome: Browser, here: Site) -> None:
    small(here.runs.folder)
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=small")
    page.wait("branchwise.app.panes[0]?.read")
    legend = page.page.locator(".legend")
    said = "kept 1 proven 1 undecided 2 pruned 1 dead end 1 merged 1 path of the answer"
    assert " ".join(legend.inner_text().split()) == said
    shapes = page.run("""[...document.querySelectorAll('.legend canvas')].map((canvas) => {
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return pixels.reduce((text, byte, at) => at % 4 === 3 ? text + (byte > 90 ? 1 : 0) : text, '');
    })""")
    assert len(set(shapes)) == 6, "without colour two marks look alike"
    before = page.run("branchwise.app.panes[0].view.layout.columns.flat().length")
    legend.get_by_role("button", name="pruned").click()
    legend.get_by_role("button", name="merged").click()
    assert page.run("branchwise.app.panes[0].view.layout.columns.flat().length") == before - 2
    assert legend.get_by_role("button", name="pruned").get_attribute("aria-pressed") == "false"
    page.run("branchwise.app.panes[0].go(branchwise.app.panes[0].run.nodes[2])")
    assert page.run("branchwise.app.panes[0].view.layout.columns.flat().length") == before - 1, "a hidden thought that is asked for is shown"


def test_text_is_found_in_thoughts_and_replies_and_walked_through(chrome: Browser, here: Site) -> None:
    small(here.runs.folder)
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=small")
    page.wait("branchwise.app.panes[0]?.read")
    page.page.keyboard.press("/")
    page.page.keyboard.type("rent")
    page.page.locator(".hits", has_text="1 of 3").wait_for()
    page.page.keyboard.press("Enter")
    assert page.page.locator(".hits").inner_text() == "2 of 3"
    assert page.run("branchwise.app.panes[0].view.selected.birth") == 2
    page.page.keyboard.press("Escape")
    assert page.run("branchwise.app.panes[0].view.matches") is None
    page.page.keyboard.press("/")
    page.page.keyboard.type("no such words")
    page.page.locator(".hits", has_text="nothing found").wait_for()


def test_the_tree_is_walked_by_keyboard_and_told_aloud(chrome: Browser, here: Site) -> None:
    small(here.runs.folder)
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=small")
    page.wait("branchwise.app.panes[0]?.read")
    page.page.locator("canvas.tree").focus()
    seen = []
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowDown", "ArrowUp", "ArrowLeft", "a"):
        page.page.keyboard.press(key)
        seen.append(page.run("branchwise.app.panes[0].view.selected.birth"))
    assert seen == [0, 1, 4, 5, 1, 2, 1, 0, 4]
    assert page.page.locator("#said").inner_text() == "0.0, undecided, value ?, on the path of the answer: Most of them say yes"
    page.page.keyboard.press("Enter")
    assert page.run("document.activeElement.id") == "details"
    page.page.keyboard.press("Escape")
    assert page.run("document.activeElement.className") == "tree"
    scale = page.run("branchwise.app.panes[0].view.camera.scale")
    page.page.keyboard.press("+")
    assert page.run("branchwise.app.panes[0].view.camera.scale") == pytest.approx(scale * 1.25)
    page.page.keyboard.press("?")
    page.page.get_by_role("dialog").get_by_text("Keys", exact=True).wait_for()
    page.page.keyboard.press("Escape")
    assert not page.complaints


def test_two_runs_stand_side_by_side_with_their_numbers(chrome: Browser, here: Site) -> None:
    small(here.runs.folder, "one")
    small(here.runs.folder, "two", method="tot_bfs")
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=one")
    page.page.locator("#runs li").nth(1).wait_for()
    page.page.locator("#runs li[data-id=two]").hover()
    page.page.locator("#runs li[data-id=two] .beside").click()
    page.wait("branchwise.app.panes.length === 2 && branchwise.app.panes.every((pane) => pane.read)")
    table = page.page.locator(".comparison table")
    rows = [row.split("\t") for row in table.inner_text().split("\n")]
    assert rows[0][1:8] == ["stands", "answer", "method", "calls", "tokens", "cost", "thoughts"]
    assert rows[0][8:] == ["kept", "proven", "undecided", "pruned", "dead ends", "merged"]
    assert [row[3] for row in rows[1:]] == ["best_first", "tot_bfs"]
    assert table.locator("td.differs").all_inner_texts() == ["best_first", "tot_bfs"]
    page.select(2, pane=1)
    assert page.run("branchwise.app.active === branchwise.app.panes[1]")
    assert "Look at the rent" in page.page.locator("#details").inner_text()
    page.page.get_by_role("button", name="Close this run").first.click()
    page.wait("branchwise.app.panes.length === 1 && branchwise.app.panes[0].id === 'two'")
    assert not page.complaints


def test_themes_follow_the_system_or_the_user_and_can_be_read(chrome: Browser, here: Site) -> None:
    small(here.runs.folder)
    for scheme in ("light", "dark"):
        page = Watched.open(chrome, scheme)
        page.page.goto(f"{here.url}/#run=small")
        page.wait("branchwise.app.panes[0]?.read")
        assert page.run("document.documentElement.dataset.theme") == scheme
        page.page.get_by_label("Theme: auto").click()
        page.page.get_by_label("Theme: light").click()
        assert page.run("document.documentElement.dataset.theme") == "dark"
        page.page.reload()
        page.page.get_by_label("Theme: dark").wait_for()
        page.page.get_by_label("Theme: dark").click()
        assert page.run(CONTRAST) == []


CONTRAST = """(() => {
  const style = getComputedStyle(document.documentElement), bad = [];
  const light = (name) => { const n = parseInt(style.getPropertyValue(name).trim().slice(1), 16);
    return [n >> 16, (n >> 8) & 255, n & 255].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0); };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  for (const text of ['--ink', '--muted', '--accent', '--bad', '--match', '--kept', '--solved', '--pruned', '--dead', '--merged', '--undecided'])
    for (const ground of ['--card', '--ground', '--side']) if (ratio(text, ground) < 4.5) bad.push([text, ground, ratio(text, ground)]);
  return bad;
})()"""


def test_nothing_to_show_and_what_is_broken_are_said(chrome: Browser, here: Site) -> None:
    page = Watched.open(chrome)
    page.page.goto(here.url)
    page.page.get_by_text("No runs yet.").wait_for()
    page.page.get_by_text("Choose a run").wait_for()
    page.page.goto(f"{here.url}/#run=nothing")
    page.page.get_by_text("there is no such run").wait_for()
    good = small(here.runs.folder).read_bytes()
    (here.runs.folder / "broken.jsonl").write_bytes(good + b"no JSON\n")
    page.page.goto(f"{here.url}/#run=broken")
    page.page.get_by_text("something that is no event").wait_for()
    cut = here.runs.folder / "cut.jsonl"
    cut.write_bytes(good[:-20])
    os.utime(cut, (0, 0))
    page.page.goto(f"{here.url}/#run=cut")
    page.page.get_by_text("The last line of the trace is cut").wait_for()
    assert page.page.locator(".pane-head .state").inner_text() == "not finished"
    assert page.thoughts() == 6
    lines = good.split(b"\n")
    (here.runs.folder / "torn.jsonl").write_bytes(b"\n".join([lines[0], lines[9], *lines[10:]]))
    page.page.goto(f"{here.url}/#run=torn")
    page.page.get_by_text("do not fit together").wait_for()
    (here.runs.folder / "late.jsonl").write_bytes(lines[0] + b"\n")
    page.page.locator("#runs li[data-id=late]").wait_for()


def test_the_page_goes_on_after_the_server_was_away(chrome: Browser, tmp_path: Path) -> None:
    small(tmp_path)
    page = Watched.open(chrome)
    with site(tmp_path) as first:
        page.page.goto(f"{first.url}/#run=small")
        page.wait("branchwise.app.panes[0]?.read")
    page.page.get_by_text("The server does not answer.").wait_for()
    assert page.thoughts() == 6


def test_a_server_with_tokens_asks_for_one_and_keeps_it_in_the_tab(chrome: Browser, tmp_path: Path) -> None:
    trace = small(tmp_path)
    trace.write_text(trace.read_text().replace('"about":{', '"about":{"server":{"key":"me"},', 1))
    token = "a-token-of-some-length"
    with serving(tmp_path, keys=Keys([(token, Account("me"))])) as served:
        page = Watched.open(chrome)
        page.page.goto(f"{served.url}/#run=small")
        dialog = page.page.get_by_role("dialog")
        for tried in ("wrong-token-wrong-token", token):
            dialog.get_by_text("This server asks for a token").wait_for()
            dialog.get_by_label("Token").fill(tried)
            dialog.get_by_role("button", name="Go on").click()
            page.page.wait_for_timeout(300)
        page.wait("branchwise.app.panes[0]?.read")
        page.page.locator("#runs li[data-id=small]").wait_for()
        assert not dialog.is_visible()
        assert page.run("JSON.stringify(localStorage) + document.cookie + location.href").count(token) == 0
        assert all(token not in url for url in page.requests)
        page.close()


def test_steering_is_offered_only_where_it_can_be_done(chrome: Browser, here: Site) -> None:
    run, page = toy_run(here), Watched.open(chrome)
    page.page.goto(f"{here.url}/#run={run.id}")
    run.allow(3)
    page.wait("branchwise.app.panes[0]?.run.nodes.length > 1 && branchwise.app.panes[0].state.live")
    page.select(1)
    assert page.page.locator(".steer").count() == 0
    page.run("branchwise.app.panes[0].stands({ live: true, steering: true })")
    page.run("branchwise.app.panes[0].stands = () => {}")  # nor does the next reading of the list, which says what is so, take it back
    assert page.page.locator(".steer button").all_inner_texts() == ["Pause", "Raise budget", "Prune", "Favour", "Approve as the answer", "Add"]
    page.run("branchwise.app.panes[0].view.select(null)")
    own = page.page.get_by_label("A thought of your own")
    own.fill("ask the neighbours")
    for _ in range(3):
        before = page.run("branchwise.app.panes[0].run.version")
        run.allow(3)
        page.wait(f"branchwise.app.panes[0].run.version > {before}")
    page.page.wait_for_timeout(300)
    assert own.input_value() == "ask the neighbours", "what somebody is writing is not lost while the tree grows"
    run.allow(1000)
    run.result()
    page.page.locator(".pane-head .state", has_text="answered").wait_for()
    page.wait("!document.querySelector('.steer')")


def test_acts_of_a_person_are_told(chrome: Browser, here: Site) -> None:
    acts = [
        {"act": "pause", "after": 1}, {"act": "go_on", "after": 1}, {"act": "favour", "after": 1, "node": 1, "label": "0", "text": "go left"},
        {"act": "add", "after": 1, "node": 1, "label": "0", "text": "ask <b>Ann</b>", "by": "Bo"},
        {"act": "budget", "after": 2, "budget": {"calls": 40}}, {"act": "approve", "after": 2, "node": 2},
    ]  # fmt: skip
    record(here.runs.folder / "steered.jsonl", [
        started("Where to?"), expanded(0, [birth(1, 0, "go left")]), *({**act, "event": "steered"} for act in acts[:4]),
        expanded(1, [birth(2, 0, "ask <b>Ann</b>")], role="person"), *({**act, "event": "steered"} for act in acts[4:]),
        stopped(2, "ask Ann", reason="approved"),
    ])  # fmt: skip
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=steered")
    page.wait("branchwise.app.panes[0]?.read")
    text = page.page.locator("#details").inner_text()
    for part in (
        "Stopped: a person approved the answer.", "paused after step 1", "favoured thought 0", "added to thought 0: ask <b>Ann</b> by Bo",
        "raised the budget: calls to 40", "approved thought 0.0",
    ):  # fmt: skip
        assert part in " ".join(text.split()), part
    page.select(2)
    assert "added by a person" in page.page.locator("#details").inner_text()
    assert "a person's thought" in page.page.locator("#said").inner_text()
    assert not page.complaints


def test_a_narrow_window_still_shows_everything(chrome: Browser, here: Site) -> None:
    small(here.runs.folder)
    for width in (1000, 420):
        page = Watched.open(chrome, width=width, height=800)
        page.page.goto(f"{here.url}/#run=small")
        page.wait("branchwise.app.panes[0]?.read")
        assert page.page.locator("canvas.tree").bounding_box()["height"] > 150  # type: ignore[index]
        assert page.run("document.documentElement.scrollWidth") <= width
        page.page.locator("#details").get_by_text("Cost by role").wait_for()
