"""The table in docs/models.md is what the tests say, and no quirk is without a test."""

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("conformance", ROOT / "tools" / "conformance.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    made = tool()
    text = made.PAGE.read_text("utf-8")
    assert made.page(text) == text, "run: python tools/conformance.py"


def test_every_quirk_has_a_test() -> None:
    made = tool()
    others = {"dialect": "test_providers.py", "echo_key": "test_secret_audit.py", "stream_comments": "test_openai_http.py"}
    quirks = {f.name for f in made.functions(made.QUIRKS) if f.decorator_list}
    assert quirks - made.tested() == set(others)
    for name, file in others.items():
        assert name in (ROOT / "tests" / "model" / file).read_text("utf-8")
