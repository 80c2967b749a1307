"""Five thousand thoughts in a real browser: moved and scaled at 30 frames a second and more, by the page's own timer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from support.browsing import SIZE, Watched, browser, large_trace, site
from support.pace import slowness

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.alone
SLOWEST = 1000 / 30
"""Milliseconds between two frames."""


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def large(chrome: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("large")
    large_trace(folder / "large.jsonl")
    with site(folder) as here:
        page = Watched.open(chrome)
        page.page.goto(f"{here.url}/#run=large")
        page.wait("branchwise.app.panes[0]?.read")
        page.page.mouse.move(SIZE["width"] / 2, SIZE["height"] / 2)
        yield page


def frames(page: Watched) -> tuple[float, int]:
    """The median time between frames, and how many were counted; the count begins anew."""
    found = page.run("[branchwise.frames.median, branchwise.frames.times.length]")
    page.run("branchwise.frames.times.length = 0")
    return float(found[0]), int(found[1])


def test_five_thousand_thoughts_are_scrolled_without_stutter(large: Watched) -> None:
    assert large.thoughts() == 5_000
    large.page.keyboard.press("0")
    frames(large)
    for at in range(90):
        large.page.mouse.wheel(0, 400 if at < 60 else -700)
    median, count = frames(large)
    assert count > 40
    assert median <= SLOWEST or median <= SLOWEST * slowness()


def test_five_thousand_thoughts_are_scaled_without_stutter(large: Watched) -> None:
    large.page.keyboard.press("0")
    large.page.wait_for_timeout(300)
    frames(large)
    seen = set()
    large.page.keyboard.down("Control")
    for at in range(90):
        large.page.mouse.wheel(0, 60 if at < 45 else -60)
        seen.add(round(large.run("branchwise.app.panes[0].view.camera.scale"), 3))
    large.page.keyboard.up("Control")
    median, count = frames(large)
    assert min(seen) < 0.02 < 0.9 < max(seen)
    assert count > 40
    assert median <= SLOWEST or median <= SLOWEST * slowness()


def test_all_of_it_fits_into_the_window_and_can_be_moved_there_too(large: Watched) -> None:
    large.page.locator("canvas.tree").focus()
    large.page.keyboard.press("f")
    large.page.wait_for_timeout(300)
    high, camera = large.run("[branchwise.app.panes[0].view.layout.height, branchwise.app.panes[0].view.camera]")
    assert camera["y"] <= 0
    assert camera["y"] + large.run("branchwise.app.panes[0].view.high") / camera["scale"] >= high
    frames(large)
    for at in range(60):
        large.page.mouse.wheel(0, 12 if at % 2 else -9)
    median, count = frames(large)
    assert count > 25
    assert median <= SLOWEST or median <= SLOWEST * slowness()


def test_a_search_over_all_texts_is_quick_and_marks_what_it_found(large: Watched) -> None:
    large.page.keyboard.press("/")
    large.page.keyboard.type("margins are")
    large.page.locator(".hits", has_text=" of ").wait_for()
    timed = "const begin = performance.now(); branchwise.app.panes[0].search('thin and every'); return performance.now() - begin;"
    took = large.run(f"(() => {{ {timed} }})()")
    assert took < 500 * slowness()
    assert not large.complaints
