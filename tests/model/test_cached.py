"""The cache's key holds all that makes a sample what it is; samples keep their index (cases 81, 82, 83)."""

import logging
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from branchwise.budget import Budget, Usage
from branchwise.errors import UsageError
from branchwise.ledger import Ledger
from branchwise.model.base import LanguageModel, Message, Outcome, Request, Sample
from branchwise.model.cache import ReplyCache, clear, info, key_of
from branchwise.model.layers.cached import Cached
from branchwise.model.layers.limited import Limited
from branchwise.model.layers.metered import Metered
from branchwise.model.layers.retrying import Retrying
from branchwise.model.routed import Routed
from branchwise.model.scripted import Scripted

Ask = Callable[..., Request]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ReplyCache]:
    with ReplyCache(tmp_path / "deep" / "replies.sqlite") as made:
        yield made


def counting() -> Scripted:
    """A model whose every reply is new."""
    model = Scripted(lambda r, i: f"reply {model.calls} {i}")
    return model


async def test_samples_come_again_in_order_and_only_new_ones_are_asked_for(cache: ReplyCache, ask: Ask) -> None:
    model = counting()
    cached = Cached(model, cache)
    first = await cached.sample(ask(n=5))
    again = await cached.sample(ask(n=5))
    assert len(set(first.texts)) == 5
    assert again.texts == first.texts
    assert model.calls == 5
    more = await cached.sample(ask(n=7))
    assert more.texts[:5] == first.texts
    assert model.calls == 7
    assert [(r.first, r.n) for r in model.requests] == [(0, 5), (5, 2)]
    assert len(set(more.texts)) == 7


async def test_hits_are_shown_apart_and_cost_nothing(cache: ReplyCache, ask: Ask) -> None:
    cached = Cached(counting(), cache)
    paid = (await cached.sample(ask())).samples[0].usage
    hit = (await cached.sample(ask())).samples[0].usage
    assert (paid.calls, paid.cached_calls) == (1, 0)
    assert hit == Usage(cached_calls=1)


async def test_holes_are_filled(cache: ReplyCache, ask: Ask) -> None:
    model = counting()
    cached = Cached(model, cache)
    middle = await cached.sample(ask(n=2, first=1, seeds=(11, 12)))
    whole = await cached.sample(ask(n=4, seeds=(10, 11, 12, 13)))
    assert whole.texts[1:3] == middle.texts
    assert [(r.first, r.n, r.seeds) for r in model.requests[1:]] == [(0, 1, (10,)), (3, 1, (13,))]


BASE = Request((Message("user", "x"),), seeds=(1,))
CHANGES: list[dict[str, Any]] = [
    {"messages": (Message("user", "y"),)},
    {"messages": (Message("system", "x"),)},
    {"messages": (Message("user", ""), Message("user", "x"))},
    {"temperature": 0.0},
    {"max_tokens": 16},
    {"stop": ("a",)},
    {"schema": {"type": "object"}},
    {"choices": ("a", "b")},
    {"logprobs": 1},
    {"seeds": (2,)},
    {"seeds": ()},
    {"first": 1},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_every_setting_is_part_of_the_key(change: dict[str, Any]) -> None:
    changed = replace(BASE, **change)
    assert key_of("a", BASE, BASE.first) != key_of("a", changed, changed.first)


def test_all_fields_of_a_request_are_accounted_for() -> None:
    """A new field must be put into the key, or here among those that do not shape a reply."""
    shaping = {name for change in CHANGES for name in change}
    assert set(Request.__dataclass_fields__) == shaping | {"n", "role", "id", "step", "free", "firm", "lost"}


def test_the_backend_is_part_of_the_key_and_the_role_is_not() -> None:
    assert key_of("http://a/v1#m", BASE, 0) != key_of("http://b/v1#m", BASE, 0)
    assert key_of("http://a/v1#m", BASE, 0) != key_of("http://a/v1#n", BASE, 0)
    assert key_of("a", BASE, 0) == key_of("a", replace(BASE, role="evaluate", n=3, seeds=(1, 2, 3)), 0)


def test_any_text_has_a_key() -> None:
    assert key_of("a", Request((Message("user", "\ud800\0"),)), 0)


def routed(judge: str) -> tuple[Scripted, Scripted, LanguageModel]:
    """A generating model and another that judges, as one model behind the layers of a run."""
    makes, judges = (Scripted(lambda r, i: f"{r.role} {i}", name=f"script:{name}") for name in ("a", judge))
    ledger = Ledger(Budget(), None)
    return makes, judges, Retrying(Limited(Metered(Routed(makes, {"evaluate": judges}), ledger), 8))


async def test_another_evaluator_leaves_what_the_generating_model_said(cache: ReplyCache, ask: Ask) -> None:
    for judge, made, judged in (("b", 2, 1), ("c", 0, 1), ("b", 0, 0), ("a", 0, 1)):
        makes, judges, model = routed(judge)
        cached = Cached(model, cache)
        texts = [(await cached.sample(ask(n=n, role=role))).texts for role, n in (("generate", 2), ("evaluate", 1))]
        assert texts == [["generate 0", "generate 1"], ["evaluate 0"] if judge != "a" else ["generate 0"]]
        assert (makes.calls, judges.calls) == (made, judged if judge != "a" else 0)
    assert sorted(info(cache.path).by_identity) == [("script:a", 2), ("script:b", 1), ("script:c", 1)]


async def test_what_one_model_said_is_had_in_its_role_among_others(cache: ReplyCache, ask: Ask) -> None:
    """Keys of runs with one model stay good: the identity in them is that model's own."""
    alone = Scripted(lambda r, i: f"{r.role} {i}", name="script:a")
    await Cached(Retrying(alone), cache).sample(ask(n=2))
    request = ask(n=2)
    assert set(cache.get([key_of("script:a", request, i) for i in range(2)])) == {key_of("script:a", request, i) for i in range(2)}
    makes, _, model = routed("b")
    assert (await Cached(model, cache).sample(request)).texts == ["generate 0", "generate 1"]
    assert makes.calls == 0


async def test_whole_samples_come_back(cache: ReplyCache, ask: Ask) -> None:
    whole = Sample("text \u2028 é", Outcome.LENGTH, "thought", "length", Usage(1, 1, prompt_tokens=3), ({"a": -1.0},), "e")
    cached = Cached(Scripted(lambda r, i: whole), cache)
    await cached.sample(ask())
    (back,) = (await cached.sample(ask())).samples
    assert replace(back, usage=whole.usage) == whole


async def test_what_cannot_be_read_is_not_kept(cache: ReplyCache, ask: Ask) -> None:
    model = Scripted(lambda r, i: Sample("", Outcome.INVALID))
    cached = Cached(model, cache)
    await cached.sample(ask())
    await cached.sample(ask())
    assert model.calls == 2


async def test_modes(cache: ReplyCache, ask: Ask) -> None:
    model = counting()
    for mode, calls in (("read", 1), ("off", 2), ("on", 3), ("read", 3), ("off", 4)):
        await Cached(model, cache, mode).sample(ask())  # type: ignore[arg-type]
        assert model.calls == calls
    with pytest.raises(UsageError):
        Cached(model, cache, "maybe")  # type: ignore[arg-type]


async def test_what_a_person_says_is_not_kept(cache: ReplyCache, ask: Ask) -> None:
    model = counting()
    for _ in range(2):
        await Cached(model, cache).sample(ask(free=True))
    assert model.calls == 2


def test_the_file_is_private(cache: ReplyCache) -> None:
    assert stat.S_IMODE(cache.path.stat().st_mode) == 0o600


async def test_a_broken_cache_does_not_break_a_run(tmp_path: Path, ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        cached = Cached(counting(), ReplyCache(tmp_path / "file" / "replies.sqlite"))
    assert "goes on without it" in caplog.text
    assert (await cached.sample(ask())).texts


def test_a_file_that_is_no_cache_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes " * 200)
    for use in (ReplyCache, info, clear):
        with pytest.raises(UsageError, match=r"notes\.txt"):
            use(path)
    assert path.read_text() == "my notes " * 200


async def test_info_and_clear(cache: ReplyCache, ask: Ask) -> None:
    for name, n in (("script:a", 3), ("script:b", 2)):
        await Cached(Scripted(lambda r, i: "x", name=name), cache).sample(ask(n=n))
    found = info(cache.path)
    assert (found.entries, found.by_identity) == (5, (("script:a", 3), ("script:b", 2)))
    assert found.size > 0
    assert clear(cache.path, older_than=3600) == 0
    assert clear(cache.path) == 5
    assert info(cache.path).entries == 0
    nowhere = cache.path.with_name("none")
    assert (clear(nowhere), info(nowhere).entries) == (0, 0)


WRITER = """
import sys
from pathlib import Path
from branchwise.model.base import Sample
from branchwise.model.cache import ReplyCache
with ReplyCache(Path(sys.argv[1])) as cache:
    for i in range(150):
        cache.put("p" + sys.argv[2], [(f"{sys.argv[2]} {i}".encode(), Sample(f"{i}")), (f"shared {i}".encode(), Sample(f"{i}"))], "m", "")
        assert len(cache.get([f"{sys.argv[2]} {i}".encode(), f"shared {i}".encode()])) == 2
"""


def test_many_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(i)], stderr=subprocess.PIPE) for i in range(4)]
    assert [(p.communicate()[1], p.returncode) for p in running] == [(b"", 0)] * 4
    assert info(path).entries == 4 * 150 + 150
