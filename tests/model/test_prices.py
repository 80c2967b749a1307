"""A price is known for exactly the names listed, at their own provider (case 56)."""

from pathlib import Path

import pytest

from branchwise.budget import Price
from branchwise.errors import UsageError
from branchwise.model.prices import Prices
from branchwise.model.registry import price_of

PRICES = Prices.builtin()


def test_the_table_is_dated_and_not_empty() -> None:
    assert len(PRICES.date) == 10
    assert len(PRICES.entries) >= 12


def test_each_price_is_plausible() -> None:
    """A slip of a decimal point: no model costs more than 200 dollars, and none gives replies away or discounts what is new."""
    for name, entry in PRICES.entries.items():
        price = entry.price
        assert 0 < price.prompt < price.completion < 200, name
        assert price.cached_prompt is None or price.prompt / 20 <= price.cached_prompt < price.prompt, name
        assert entry.host, "a price holds at the provider who published it"


def test_dated_names_have_a_price_only_where_they_are_listed() -> None:
    assert PRICES.get("gpt-4o-2024-08-06") == Price(2.5, 10, 1.25)
    assert PRICES.get("gpt-4o-2024-05-13") == Price(5, 15)
    for unknown in ("gpt-4o-2031-01-01", "gpt-4", "gpt-4o-audio-preview", "GPT-4o", "gpt-4o ", "gpt-4o-mini-high", "ft:gpt-4o:me"):
        assert PRICES.get(unknown) is None


def test_a_price_holds_at_its_own_provider() -> None:
    assert price_of("openai:gpt-4o", PRICES) is not None
    assert price_of("https://gateway.example/v1#gpt-4o", PRICES) is None
    assert price_of("https://api.openai.com/v1#gpt-4o", PRICES) is not None


def test_local_models_and_scripts_cost_nothing_and_unknown_stays_unknown() -> None:
    assert price_of("local", PRICES) == Price(0, 0, 0)
    assert price_of("script:x", PRICES) == Price(0, 0, 0)
    assert price_of("http://127.0.0.1:1/v1#m", PRICES) is None
    assert price_of("tape:x", PRICES) is None


def test_a_file_of_the_user_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    mine = '"mine": {"prompt": 0, "completion": 0, "aliases": ["my"]}'
    path.write_text(f'{{"date": "2026-01-01", "models": {{"gpt-4o": {{"prompt": 1, "completion": 2}}, {mine}}}}}')
    prices = Prices.load(path)
    assert prices.date == "2026-01-01"
    assert price_of("openai:gpt-4o", prices) == Price(1, 2)
    assert price_of("https://any.example/v1#my", prices) == Price(0, 0)
    assert prices.get("o3-mini") == PRICES.get("o3-mini")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1"),
        ("[]", "must be"),
        ('{"models": {"m": 1}}', "'m'"),
        ('{"models": {"m": {"prompt": 1}}}', "completion must be"),
        ('{"models": {"m": {"prompt": -1, "completion": 1}}}', "prompt must be"),
        ('{"models": {"m": {"promt": 1, "completion": 1}}}', "did you mean 'prompt'"),
    ],
)
def test_a_wrong_file_says_what(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        Prices.load(path)
