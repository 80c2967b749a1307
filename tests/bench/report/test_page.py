"""The page and the plots: self-contained, nothing of a model or task as markup, a policy that holds, the same bytes each time."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from branchwise.bench.report.document import Report, build
from branchwise.bench.report.html import page
from branchwise.bench.report.plots import inline, plots, png, svg
from branchwise.bench.rows import Row
from support.bench_rows import noisy, row, usage, write

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)> $\\alpha$ \u202egnp.exe\x1b[31m style="x" href="#y"'
VOID = {"meta", "path", "use", "rect", "br", "image"}


class Page(HTMLParser):
    """Collects what a browser would act on, and checks that elements are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def rows() -> list[Row]:
    found = noisy({"io": 0.3, "cot": 0.4, "tot_bfs": 0.6}, 30, 1)
    found += [row("gsm8k", "x" + EVIL, EVIL, score=0.0, verdict="failed", status="failed", error=EVIL, model_reported=EVIL, stop_reason=EVIL)]
    found += [row("gsm8k", "y" + EVIL, "io", score=0.0, verdict="invalid_gold")]
    many = {"samples": [1.0, 0.0, 0.0], "votes": ["1", "2", "2"], "nodes": {"generated": 3, "kept": 3}}
    return found + [row("math500", str(n), "cot", score=float(n % 2), model=EVIL, usage=usage(calls=3), **many) for n in range(5)]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return build(write(tmp_path_factory.mktemp("a"), rows(), note=EVIL, versions={"x": EVIL}), traces=False)


def test_the_page_is_one_file_without_script_and_every_text_is_text(report: Report) -> None:
    text = page(report).decode("utf-8")
    found = Page(text)
    assert found.open == []
    assert not {"script", "img", "link", "iframe", "object", "embed", "base", "form", "image", "foreignobject"} & set(found.tags)
    assert not [one for one in found.attributes if one[1].startswith("on") or one[1] == "style"]
    linked = [value for _, name, value in found.attributes if name in ("href", "xlink:href", "src", "action", "srcset")]
    assert linked
    assert all(value is not None and value.startswith("#") for value in linked)
    assert not re.search(r"url\((?!#)", text)
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "alert(1)" in "".join(found.text)


def test_the_policy_allows_its_own_style_and_nothing_else(report: Report) -> None:
    text = page(report).decode("utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    [css] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "prefers-color-scheme: dark" in css
    assert "@media print" in css


def test_ids_are_unique_and_every_reference_has_one(report: Report) -> None:
    found = Page(page(report).decode("utf-8"))
    ids = [value for _, name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    named = {value for _, name, value in found.attributes if name == "aria-labelledby"}
    used = {(value or "").removeprefix("#") for _, name, value in found.attributes if name == "xlink:href"}
    assert named | used <= set(ids)
    clips = set(re.findall(r"url\(#([^)]*)\)", page(report).decode()))
    assert clips <= {value for value in ids if value}


def test_plots_are_the_same_bytes_each_time_whatever_the_user_has_set(report: Report) -> None:
    import matplotlib

    first = [(plot.name, svg(plot), png(plot), inline(plot)) for plot in plots(report)]
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        again = [(plot.name, svg(plot), png(plot), inline(plot)) for plot in plots(report)]
        assert matplotlib.rcParams["font.size"] == 30
    assert first == again
    assert {name for name, *_ in first} == {"cost-1", "visited-1", "cost-2", "visited-2"}
    for _, drawn, picture, _ in first:
        ElementTree.fromstring(drawn)
        assert picture.startswith(b"\x89PNG")
        assert b"<dc:date>" not in drawn


def test_an_oracle_is_dashed_and_called_so(report: Report) -> None:
    curves = report.visited()
    [sampled] = [found for name, found in curves.items() if name.startswith("math500")]
    assert [(curve.name, curve.oracle, [p.x for p in curve.points]) for curve in sampled] == [("oracle: best of k, cot", True, [1, 2, 3])]
    assert [round(p.y, 4) for p in sampled[0].points] == [0.3333, 0.6667, 1.0]
    [searched] = [found for name, found in curves.items() if name.startswith("gsm8k")]
    assert [curve.oracle for curve in searched[:2]] == [False, True]
    named = {curve.name: curve.oracle for curve in searched}
    assert (named["as chosen: io"], named["oracle: any right state, io"]) == (False, True)


def test_searches_that_differ_in_a_setting_are_one_curve(tmp_path: Path) -> None:
    found = []
    for b in (1, 3, 5):
        nodes = {"generated": 20 * b, "kept": 10 * b, "pruned": 7 * b, "merged": 2 * b, "dropped": b}
        found += [row("game24", str(n), f"ToT b={b}", score=float(n < b), oracle_score=1.0, nodes=nodes) for n in range(10)]
    report = build(write(tmp_path, found, ["ToT b=5", "ToT b=3", "ToT b=1"]), traces=False)
    [curves] = report.visited().values()
    assert [(curve.name, curve.oracle) for curve in curves] == [("as chosen: ToT", False), ("oracle: any right state, ToT", True)]
    assert [(p.x, p.y, p.label) for p in curves[0].points] == [(17, 0.1, "b=1"), (51, 0.3, "b=3"), (85, 0.5, "b=5")]


def test_a_page_without_anything_to_draw_is_a_page(tmp_path: Path) -> None:
    bare = [row("gsm8k", "1", "io", usage=usage(calls=0, prompt=0, reply=0), nodes={})]
    text = page(build(write(tmp_path, bare), traces=False)).decode()
    assert Page(text).open == []
    assert "<svg" not in text
