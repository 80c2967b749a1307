"""A trace written by an enemy: markup, scripts, hidden and reordering characters, megabytes. In a real browser nothing of it acts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from branchwise.server.viewer.single import single_page
from support.browsing import Site, Watched, birth, browser, call, expanded, record, site, started, stopped

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MARKUP = [
    "<script>globalThis.pwned = 1</script>", "</script><script>globalThis.pwned = 1</script>", "<img src=x onerror='globalThis.pwned = 1'>",
    "<!--<script>", "]]><svg onload=globalThis.pwned=1>", "</style><style>body{display:none}</style>", "<base href='//evil.example/'>",
    "javascript:globalThis.pwned=1", "{{constructor.constructor('globalThis.pwned=1')()}}", "`${globalThis.pwned=1}`",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>", "<iframe src=http://evil.example/></iframe>", "__proto__", "constructor",
]  # fmt: skip
BIDI = "harmless \u202egnp.exe\u202c \u2066isolate\u2069 \u200bhidden\u200b \u2028line\x1b[31mred\x00 \U000e0041tag"
HEBREW = "שלום עולם"
MEGABYTE = "All work and no play. " * 48_000 + "THE VERY END"
SOLID = "x" * 1_000_000


def hostile(path: Path) -> Path:
    """The enemy in every text of a trace."""
    texts = [*MARKUP, BIDI, HEBREW, MEGABYTE, SOLID, "\u202e" * 5_000 + "a\u202e" * 5_000]
    evil = "".join(MARKUP)
    births = [birth(at, at - 1, text, reason=evil, status="dead" if at == 2 else "open") for at, text in enumerate(texts, 1)]
    judged = [{"node": at, "value": 0.5, "samples": [0.5], "reason": evil + BIDI} for at in range(1, len(texts) + 1)]
    begin = started(evil, method=evil, model=evil)
    begin["about"] |= {"settings": {"task": evil}, "budget": {evil: evil}}
    first = call("", "generate", evil + MEGABYTE, prompt=evil + BIDI)
    first["messages"].append({"role": evil, "content": MEGABYTE})
    first["samples"][0] |= {"reasoning": evil, "error": evil, "outcome": evil}
    return record(path, [
        begin, first | {"model": evil}, call("", evil, evil), expanded(0, births, judged, dropped=[(evil, evil), (MEGABYTE, BIDI)]),
        {"marks": [{"node": at, "fate": "pruned", "reason": evil} for at in range(1, 5)], "event": "marked"},
        {"text": evil, "event": "warned"}, {"event": evil, "who": evil}, stopped(1, evil, reason=evil) | {"error": evil},
    ])  # fmt: skip


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Site]:
    hostile(tmp_path / "enemy.jsonl")
    with site(tmp_path) as found:
        yield found


def walk(page: Watched) -> None:
    """Open every thought, every call and every long text."""
    page.wait("branchwise.app.panes[0]?.read")
    total = page.thoughts()
    assert total == len(MARKUP) + 5
    for node in range(total + 1):
        page.select(node)
        for box in page.page.locator("#details summary").all():
            box.click()
    page.run("branchwise.app.panes[0].view.select(null)")
    page.run("branchwise.app.panes[0].search('pwned')")
    page.page.wait_for_timeout(200)


def own_elements(page: Watched) -> list[str]:
    """Scripts and styles that the page came with: served, a script, a style sheet and an icon; as a file, data, a script, a style and an icon."""
    return ["script", "style", "icon", "data"][: 4 if page.page.url.startswith("file:") else 3]


def inert(page: Watched, own: tuple[str, ...]) -> None:
    """Nothing ran, nothing was fetched, and the page has no element that it did not make."""
    assert page.run("globalThis.pwned") is None
    assert not page.complaints
    assert all(url.startswith(own) for url in page.requests)
    assert page.run("document.querySelectorAll('img, iframe, base, object, embed').length") == 0
    assert page.run("document.querySelectorAll('script, style, link').length") == len(own_elements(page))
    assert page.run("[...document.querySelectorAll('*')].every((e) => ![...e.attributes].some((a) => a.name.startsWith('on')))")
    assert page.run("Object.prototype.pwned === undefined && document.title === 'Branchwise'")


def test_served_it_is_shown_and_does_nothing(chrome: Browser, here: Site) -> None:
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=enemy")
    walk(page)
    page.select(3)
    assert page.page.locator("#details .thought").inner_text() == MARKUP[2]
    inert(page, (here.url, "data:"))


def test_as_one_file_it_is_shown_and_does_nothing(chrome: Browser, tmp_path: Path) -> None:
    file = tmp_path / "enemy.html"
    file.write_text(single_page(hostile(tmp_path / "enemy.jsonl")), "utf-8")
    page = Watched.open(chrome)
    page.page.goto(file.as_uri())
    walk(page)
    page.select(3)
    assert page.page.locator("#details .thought").inner_text() == MARKUP[2]
    inert(page, (file.as_uri(), "data:"))


VALUES: list[Any] = [None, -1, 0, 7, 1e300, 0.5, "", "x", "__proto__", "constructor", [], {}, [None], {"cut": 3}, {"length": "x"}, True, 2**53, [[]]]


def changed(rng: Random, value: Any) -> Any:
    """The same with one part, drawn by chance, put in place of another value, or left out."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        return [*value[:at], changed(rng, value[at]), *value[at + 1 :]]
    return rng.choice(VALUES)


def test_events_that_make_no_sense_are_shown_or_refused_and_break_nothing(chrome: Browser, tmp_path: Path) -> None:
    rng = Random(7)
    events = [
        started("Why?"), call("", "generate", "a"), expanded(0, [birth(1, 0, "a"), birth(2, 1, "b")], dropped=[("c", "d")]),
        call("0", "evaluate", "0.5"),
        {"step": 1, "judgements": [{"node": 1, "value": 0.5, "samples": [0.5, None], "reason": "r"}], "event": "judged"},
        {"marks": [{"node": 1, "fate": "kept", "reason": ""}], "event": "marked"}, expanded(1, [birth(3, 0, "e"), birth(2, 1, "b", merged=True)]),
        {"text": "w", "event": "warned"}, {"event": "steered", "act": {"prune": 1}}, stopped(3, "e"),
    ]  # fmt: skip
    cases = []
    for _ in range(1500):
        place = rng.randrange(len(events))
        case = [changed(rng, event) if at == place else event for at, event in enumerate(events)]
        cases.append([{**event, "at": at} for at, event in enumerate(case) if isinstance(event, dict)])
    with site(tmp_path) as here:
        page = Watched.open(chrome)
        page.page.goto(here.url)
        found = page.page.evaluate(TRY, cases)
    assert found["bad"] == []
    assert 50 < found["refused"] < 1200
    assert not page.complaints


TRY = """async (cases) => {
  const { Run } = await import('/viewer/tree.js');
  const { details } = await import('/viewer/details.js');
  const { overview } = await import('/viewer/overview.js');
  const { comparison } = await import('/viewer/compare.js');
  const { Layout } = await import('/viewer/layout.js');
  const { spoken } = await import('/viewer/spoken.js');
  const { find } = await import('/viewer/search.js');
  const bad = [], clean = Object.getOwnPropertyNames(Object.prototype).length + Object.getOwnPropertyNames(Array.prototype).length;
  let refused = 0;
  for (const events of cases) {
    const run = new Run('x');
    try { run.take(events); } catch (error) {
      refused += 1;
      if (!error.message.includes('do not fit together')) bad.push([error.message, events]);
    }
    try {
      const page = { run, source: { event: async () => ({}) }, state: { live: true, steering: true }, go() {}, say() {}, refresh() {} };
      overview(page);
      for (const node of [...run.nodes.slice(1), ...run.merges]) { details(node, page); spoken(node); }
      comparison([page, page]);
      new Layout(run.root);
      find(run, 'a');
    } catch (error) { bad.push([error.stack, events]); }
  }
  const now = Object.getOwnPropertyNames(Object.prototype).length + Object.getOwnPropertyNames(Array.prototype).length;
  if (now !== clean) bad.push('a prototype was changed');
  return { bad: bad.slice(0, 3), refused };
}"""


def test_the_policies_hold_even_where_the_page_would_not(chrome: Browser, here: Site, tmp_path: Path) -> None:
    file = tmp_path / "enemy.html"
    file.write_text(single_page(tmp_path / "enemy.jsonl"), "utf-8")
    for address in (f"{here.url}/#run=enemy", file.as_uri()):
        page = Watched.open(chrome)
        page.page.goto(address)
        page.wait("branchwise.app.panes[0]?.read")
        for what in (
            "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"globalThis.pwned=1\">')",
            "document.body.append(Object.assign(document.createElement('script'), { textContent: 'globalThis.pwned=1' }))",
            "document.body.append(Object.assign(document.createElement('script'), { src: 'http://127.0.0.1:9/x.js' }))",
            "fetch('http://127.0.0.1:9/').catch(() => 0)",
        ):
            page.run(what)
        page.page.wait_for_timeout(200)
        assert page.run("globalThis.pwned") is None
        assert len([text for text in page.complaints if "Content Security Policy" in text]) >= 4


def test_hidden_and_reordering_characters_are_written_out_and_kept_apart(chrome: Browser, here: Site) -> None:
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=enemy")
    page.wait("branchwise.app.panes[0]?.read")
    page.select(len(MARKUP) + 1)
    shown = page.page.locator("#details .thought")
    assert shown.inner_text() == (
        "harmless \\u202egnp.exe\\u202c \\u2066isolate\\u2069 \\u200bhidden\\u200b \\u2028line\\x1b[31mred\\x00 \\U000e0041tag"
    )
    assert shown.locator(".odd").count() == 10
    page.select(len(MARKUP) + 2)
    assert shown.inner_text() == HEBREW
    assert page.run("getComputedStyle(document.querySelector('#details .thought')).unicodeBidi") == "isolate"
    assert page.run("getComputedStyle(document.querySelector('#details .thought')).direction") == "rtl"


@pytest.mark.parametrize(("place", "text"), [(3, MEGABYTE), (4, SOLID)])
def test_megabytes_are_cut_until_all_is_asked_for(chrome: Browser, here: Site, place: int, text: str) -> None:
    page = Watched.open(chrome)
    page.page.goto(f"{here.url}/#run=enemy")
    page.wait("branchwise.app.panes[0]?.read")
    page.select(len(MARKUP) + place)
    panel = page.page.locator("#details")
    assert len(panel.locator(".thought").inner_text()) <= 2_000
    panel.get_by_text(f"First 2,000 of {len(text):,} characters.").wait_for()
    panel.get_by_role("button", name="Show all").first.click()
    panel.get_by_text(f"All {len(text):,} characters.").wait_for()
    whole: Any = page.run("[...document.querySelectorAll('#details .thought .chunk')].map((chunk) => chunk.textContent).join('')")
    assert whole == text
    assert not page.complaints
