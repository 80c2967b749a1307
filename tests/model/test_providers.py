"""The set-ups in examples/providers.py, each against a server of its dialect."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from branchwise.model.registry import parse_spec

PATH = Path(__file__).parents[2] / "examples" / "providers.py"


@pytest.fixture(scope="module")
def providers() -> Any:
    spec = importlib.util.spec_from_file_location("providers", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["providers"] = module
    spec.loader.exec_module(module)
    return module


def test_all_names_can_be_read(providers: Any) -> None:
    assert set(providers.PROVIDERS) == {"openai", "anthropic", "google", "ollama", "vllm", "sglang"}
    assert all(parse_spec(spec).target for spec in providers.PROVIDERS.values())


@pytest.mark.parametrize("name", ["openai", "openai_reasoning", "anthropic", "google", "ollama", "vllm", "sglang"])
async def test_each_dialect_gives_the_samples_asked_for(providers: Any, faults: Any, name: str) -> None:
    spec = providers.PROVIDERS[name.removesuffix("_reasoning")]
    texts = await providers.ask(f"{faults.url('dialect:' + name)}#{parse_spec(spec).target}", "What is 4 + 8?", 3)
    assert len(texts) == 3
    assert len(set(texts)) == 3
    assert faults.seen[f"dialect:{name}"][-1]["model"] == parse_spec(spec).target
