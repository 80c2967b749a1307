"""Budget and Ledger: exact, at once, and never 0 where a price is unknown."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise import Budget, Price, Usage, UsageError
from branchwise.budget import Bound
from branchwise.errors import OutOfBudget
from branchwise.ledger import Ledger

FREE = Price(0, 0)


def bound(calls: int = 1, prompt: int = 0, completion: int = 0) -> Bound:
    return Bound(calls, prompt, completion)


def used(calls: int = 1, prompt: int = 0, completion: int = 0, cost: int | None = 0) -> Usage:
    return Usage(calls, 1, prompt_tokens=prompt, completion_tokens=completion, cost=cost)


@pytest.mark.parametrize("name", ["calls", "tokens", "cost", "seconds", "nodes"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_a_limit_of_nothing_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=name):
        Budget(**{name: value})


def test_no_limit_is_none() -> None:
    assert Budget().to_json() == {}
    assert Budget(calls=3).to_json() == {"calls": 3}
    assert Ledger(Budget(), FREE).fits(bound(10**9, 10**12, 10**12))


def test_a_dollar_limit_with_an_unknown_price_is_refused_and_tokens_are_still_counted() -> None:
    with pytest.raises(UsageError, match="known price"):
        Ledger(Budget(cost=1.0), None)
    ledger = Ledger(Budget(tokens=100), None)
    ledger.charge(None, "generate", ledger.priced(used(1, 10, 5)))
    assert ledger.spent.tokens == 15
    assert ledger.spent.cost is None
    assert ledger.spent.to_json()["cost_usd"] is None


def test_an_unknown_cost_makes_every_sum_unknown() -> None:
    assert (used(cost=5) + used(cost=None)).cost is None
    assert (used(cost=None) + used(cost=5)).cost is None
    assert (used(cost=5) + used(cost=6)).cost == 11


def test_no_call_has_no_unknown_cost() -> None:
    assert Ledger(Budget(), None).priced(Usage()).cost == 0


@pytest.mark.parametrize(
    ("price", "tokens", "cost"),
    [
        (0.15, 1, 1),
        (0.15, 20, 3),
        (1.1, 10, 11),
        (0.1, 30, 3),
        (2.2, 5, 11),
        (0.7, 10, 7),
        (0.14, 50, 7),
        (0.07, 100, 7),
        (1e-3, 1000, 1),
        (1e-3, 1001, 2),
        (0, 10**9, 0),
    ],
)
def test_money_is_whole_millionths_of_a_dollar_rounded_up_and_not_a_float_more(price: float, tokens: int, cost: int) -> None:
    assert Price(price, 0).cost(tokens, 0) == cost
    assert Price(0, price).cost(0, tokens) == cost
    assert isinstance(Price(price, 0).cost(tokens, 0), int)


@given(st.decimals(0, 100, places=4), st.decimals(0, 100, places=4), st.integers(0, 10**7), st.integers(0, 10**7))
def test_the_cost_is_exact(prompt: object, completion: object, p: int, c: int) -> None:
    exact = Fraction(str(prompt)) * p + Fraction(str(completion)) * c
    assert Price(float(str(prompt)), float(str(completion))).cost(p, c) == math.ceil(exact)


def test_cached_prompt_tokens_have_their_own_price() -> None:
    assert Price(2.0, 8.0, cached_prompt=0.5).cost(100, 10, cached=60) == 40 * 2 + 30 + 80
    assert Price(2.0, 8.0).cost(100, 10, cached=60) == 280


@given(st.integers(0, 10**9) | st.none(), st.booleans())
def test_usage_survives_json(cost: int | None, estimated: bool) -> None:
    usage = Usage(3, 2, 1, 100, 50, 30, 10, cost, estimated)
    assert Usage.from_json(usage.to_json()) == usage


def test_usage_says_when_it_is_an_estimate() -> None:
    assert "estimated" not in used().to_json()
    assert (used() + Usage(1, estimated=True)).to_json()["estimated"] is True


def test_a_hold_keeps_others_from_the_same_calls() -> None:
    ledger = Ledger(Budget(calls=10), FREE)
    for step in range(3):
        assert ledger.fits(bound(3))
        ledger.hold(step, bound(3))
    assert not ledger.fits(bound(3))
    assert ledger.fits(bound(1))
    ledger.charge(0, "generate", used(1))
    assert not ledger.fits(bound(3)), "what is spent out of a hold frees nothing"
    ledger.release(0)
    assert ledger.fits(bound(3)), "what was held and not spent is free again"
    ledger.release(0)
    assert ledger.fits(bound(3))
    assert not ledger.fits(bound(4))


def test_a_step_spends_out_of_its_hold_although_the_rest_is_held() -> None:
    ledger = Ledger(Budget(calls=4), FREE)
    ledger.hold(1, bound(4))
    ledger.admit(1, bound(4))
    with pytest.raises(OutOfBudget, match="calls"):
        ledger.admit(2, bound(1))
    with pytest.raises(OutOfBudget, match="calls"):
        ledger.admit(None, bound(1))


def test_the_reserve_is_held_back_from_everyone() -> None:
    ledger = Ledger(Budget(calls=2), FREE)
    ledger.reserve = bound(1)
    assert ledger.fits(bound(1))
    assert not ledger.fits(bound(2))
    ledger.charge(None, "generate", used(1))
    with pytest.raises(OutOfBudget):
        ledger.admit(None, bound(1))
    ledger.reserve = Bound()
    ledger.admit(None, bound(1))


def test_a_closed_ledger_admits_nothing_and_still_charges() -> None:
    ledger = Ledger(Budget(), FREE)
    ledger.hold(1, bound(5))
    ledger.close()
    with pytest.raises(OutOfBudget, match="closed"):
        ledger.admit(1, bound(1))
    ledger.charge(1, "evaluate", used(2))
    assert ledger.spent.calls == 2
    assert ledger.by_role["evaluate"].calls == 2


def test_time_is_up_at_the_limit() -> None:
    now = [0.0]
    ledger = Ledger(Budget(seconds=2), FREE, clock=lambda: now[0])
    ledger.admit(None, bound())
    now[0] = 1.999
    assert ledger.overtime() is None
    now[0] = 2.0
    assert ledger.overtime() == "seconds"
    with pytest.raises(OutOfBudget) as caught:
        ledger.admit(None, bound())
    assert caught.value.limit == "seconds"


def test_limits_are_named_in_order_and_hold_to_the_last_unit() -> None:
    ledger = Ledger(Budget(calls=2, tokens=100, cost=100e-6), Price(1, 1))
    ledger.admit(None, bound(2, 50, 48))
    for asked, limit in ((bound(3, 0, 0), "calls"), (bound(1, 60, 41), "tokens")):
        with pytest.raises(OutOfBudget) as caught:
            ledger.admit(None, asked)
        assert caught.value.limit == limit
    dear = Ledger(Budget(cost=100e-6), Price(2, 2))
    with pytest.raises(OutOfBudget) as caught:
        dear.admit(None, bound(1, 30, 30))
    assert caught.value.limit == "cost"


@settings(deadline=None)
@given(st.integers(1, 300), st.sampled_from([0.05, 0.1, 0.15, 0.3, 1.0, 2.5]), st.integers(1, 12), st.integers(1, 3))
def test_samples_that_are_rounded_up_one_by_one_do_not_break_a_dollar_limit(cap: int, price: float, n: int, tokens: int) -> None:
    ledger = Ledger(Budget(cost=cap / 1e6), Price(price, price))
    step = 0
    while ledger.fits(bound(n, tokens * n, tokens * n)) and step < 300:
        step += 1
        ledger.hold(step, bound(n, tokens * n, tokens * n))
        for _ in range(n):
            ledger.charge(step, "generate", ledger.priced(used(1, tokens, tokens)))
        ledger.release(step)
    assert (ledger.spent.cost or 0) <= cap


def test_a_recorded_cost_stays_and_a_recorded_unknown_one_is_priced_when_the_price_is_known_now() -> None:
    replaying = Ledger(Budget(cost=1), Price(1, 1), recorded=True)
    assert replaying.priced(used(1, 10, 10, cost=7)).cost == 7
    assert replaying.priced(used(1, 10, 10, cost=None)).cost == 20


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50), st.integers(0, 50)), max_size=30), st.integers(1, 40), st.integers(1, 1000)
)
def test_steps_that_spend_no_more_than_they_hold_never_break_a_cap(steps: list[tuple[int, int, int]], calls: int, tokens: int) -> None:
    ledger = Ledger(Budget(calls=calls, tokens=tokens), FREE)
    running: list[int] = []
    for number, worst in enumerate(steps):
        if ledger.fits(Bound(*worst)):
            ledger.hold(number, Bound(*worst))
            running.append(number)
        elif running:
            done = running.pop(0)
            c, p, q = steps[done]
            ledger.charge(done, "generate", used(c // 2, p // 3, q))
            ledger.release(done)
        assert ledger.spent.calls <= calls
        assert ledger.spent.tokens <= tokens
    for done in running:
        ledger.charge(done, "generate", used(*steps[done]))
        ledger.release(done)
    assert ledger.spent.calls <= calls
    assert ledger.spent.tokens <= tokens


def test_bounds_add_multiply_and_never_go_below_zero() -> None:
    assert bound(1, 2, 3) + bound(4, 5, 6) == bound(5, 7, 9)
    assert bound(1, 2, 3) * 3 == bound(3, 6, 9)
    assert bound(1, 2, 3).less(used(5, 1, 9)) == bound(0, 1, 0)
