"""What a run gives back: the document of --json, the page of a notebook, what is finished and what is proven."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from branchwise import COMPLETE, SOLVED, Beam, Budget, Chain, Evaluation, Method, Price, Result, Status, Usage, dead, last, preset, solve
from branchwise.problem import State
from support.models import FakeModel, Known, Listed, silent
from support.worlds import Drawn, Toy

USAGE = {
    "calls", "requests", "cached_calls", "prompt_tokens", "cached_prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd",
}  # fmt: skip


async def drawn(children: dict[State, list[str]], statuses: dict[State, Status], *, provable: bool = False, **values: float) -> Result:
    problem = Drawn(children, {(k,): v for k, v in values.items()}, statuses, provable=provable)
    return await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=3, depth=1)), FakeModel(silent))


async def test_the_document_has_everything_that_is_promised() -> None:
    toy = Toy(1, malformed=0, full=True, dead=0, complete=0)
    result = await solve(toy, preset("tot_bfs").make(), FakeModel(toy.reply), price=Price(1, 2), seed=5)
    document = json.loads(json.dumps(result.to_json()))
    for key in (
        "answer",
        "solved",
        "unfinished",
        "stop_reason",
        "method",
        "model",
        "seed",
        "path",
        "nodes",
        "usage",
        "unparsed",
        "versions",
    ):
        assert key in document
    assert {"generated", "kept", "pruned", "merged", "dropped"} <= set(document["nodes"])
    assert USAGE | {"seconds", "by_role"} == set(document["usage"])
    assert set(document["usage"]["by_role"]) == {"generate", "evaluate", "answer"}
    for role in document["usage"]["by_role"].values():
        assert set(role) == USAGE
    for key in USAGE - {"cost_usd"}:
        assert document["usage"][key] == sum(role[key] for role in document["usage"]["by_role"].values())
    assert document["seed"] == 5
    assert document["usage"]["cost_usd"] > 0


async def test_a_free_model_costs_nothing_and_an_unknown_price_is_null() -> None:
    toy = Toy(1)
    for price, cost in ((Price(0, 0), 0), (None, None)):
        result = await solve(toy, preset("cot").make(), FakeModel(toy.reply), price=price)
        assert result.to_json()["usage"]["cost_usd"] == cost


async def test_solved_is_true_when_proven_false_when_refuted_and_null_when_no_program_can_tell() -> None:
    assert (await drawn({(): ["a"]}, {("a",): SOLVED})).solved is True
    assert (await drawn({(): ["a"]}, {("a",): COMPLETE})).solved is None
    assert (await drawn({(): ["a"]}, {("a",): COMPLETE}, provable=True)).solved is False
    assert (await drawn({(): ["a"]}, {})).solved is False, "no answer"
    assert (await drawn({}, {})).solved is False


async def test_a_complete_answer_comes_before_a_better_valued_unfinished_state_and_a_dead_end_is_none() -> None:
    """Case 50."""
    statuses = {("done",): COMPLETE, ("pit",): dead("no")}
    result = await drawn({(): ["open", "done", "pit"]}, statuses, open=0.9, done=0.1, pit=1.0)
    assert result.answer == "done"
    assert not result.unfinished
    result = await drawn({(): ["open", "pit"]}, statuses, open=0.1)
    assert result.path == ["open"]
    assert result.unfinished, "what is not complete is marked"
    result = await drawn({(): ["pit"]}, statuses)
    assert (result.node, result.answer, result.path, result.confidence) == (None, None, [], 0.0)


async def test_equal_values_go_to_the_first_born() -> None:
    """Case 53: a judge without signal."""
    result = await drawn({(): ["c", "a", "b"]}, dict.fromkeys([("a",), ("b",), ("c",)], COMPLETE), a=0.5, b=0.5, c=0.5)
    assert result.answer == "c"


async def test_a_budget_that_ends_is_a_result() -> None:
    toy = Toy(1, dead=0, complete=0)
    result = await solve(toy, preset("tot_dfs").make(), FakeModel(toy.reply), budget=Budget(calls=4))
    assert result.stop_reason == "budget:calls"
    assert result.unfinished


async def test_confidence_is_the_mean_over_the_path() -> None:
    problem = Drawn({(): ["a"], ("a",): ["b"]}, {("a",): 0.75, ("a", "b"): 0.82})
    result = await solve(problem, Method(generate=Listed(), evaluate=Known(), search=Chain(depth=2), pick=last), FakeModel(silent))
    assert abs(result.confidence - 0.785) < 1e-9


HOSTILE = "<script>alert('x')</script><img src=x onerror=\"x\">&lt;b&gt;</ul></div>"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        assert not attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_the_page_of_a_notebook_escapes_what_a_model_says() -> None:
    result = await solve(
        Drawn({(): [HOSTILE, "b"], ("b",): [HOSTILE]}, {("b",): 1.0}, {("b", HOSTILE): COMPLETE}),
        Method(generate=Listed(), evaluate=Known(), search=Beam(breadth=2, depth=2)), FakeModel(silent),
    )  # fmt: skip
    assert result.answer == HOSTILE
    page, tags = result._repr_html_(), Tags()
    assert "<script" not in page
    assert "<img" not in page
    tags.feed(page)
    assert tags.seen == {"div", "b", "bdi", "ul", "li", "small"}
    assert tags.open == []
    assert page.count("alert(") == 3, "the answer, and each node"


async def test_the_page_of_an_empty_tree() -> None:
    result = await drawn({}, {})
    assert "no answer" in result._repr_html_()


def test_a_judges_value_must_be_in_range() -> None:
    """Out of scale is invalid, never clamped; and NaN would make every order arbitrary."""
    import pytest

    for value in (-0.01, 1.01, 85, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"\[0, 1\]"):
            Evaluation(value)
    assert Evaluation(None).value is None
    assert (Evaluation(0).value, Evaluation(1.0).value) == (0, 1.0)


def test_usage_defaults_to_nothing() -> None:
    assert Usage().tokens == 0
