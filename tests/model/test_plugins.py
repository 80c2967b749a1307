"""Third parties add backends by entry point; one that is broken warns, no more."""

import importlib.util
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from branchwise.errors import UnknownName, UsageError
from branchwise.model import plugins
from branchwise.model.base import Message, Request
from branchwise.model.registry import ModelSpec, open_model, parse_spec

EXAMPLE = Path(__file__).parents[2] / "examples" / "model_plugin" / "branchwise_echo.py"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worked example, a plug-in that fails to import, and one that is no function."""
    spec = importlib.util.spec_from_file_location("branchwise_echo", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "branchwise_echo", module)
    points = [
        EntryPoint("echo", "branchwise_echo:open_echo", plugins.GROUP),
        EntryPoint("broken", "no_such_module_anywhere:open", plugins.GROUP),
        EntryPoint("odd", "sys:maxsize", plugins.GROUP),
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == plugins.GROUP else [])


@pytest.mark.usefixtures("installed")
async def test_a_plug_in_is_opened_by_name() -> None:
    assert parse_spec("echo:hello:you") == ModelSpec("echo", "hello:you")
    async with open_model("echo:hello") as model:
        assert (await model.sample(Request((Message("user", "x"),), n=2))).texts == ["hello", "hello"]
        assert model.name == "echo:hello"


@pytest.mark.usefixtures("installed")
def test_broken_plug_ins_warn_and_the_others_work() -> None:
    with pytest.warns(plugins.PluginWarning) as caught:
        assert set(plugins.working()) == {"echo"}
    assert sorted(str(w.message).split("'")[1] for w in caught) == ["broken", "odd"]


@pytest.mark.usefixtures("installed")
async def test_a_broken_plug_in_that_is_named_is_an_error() -> None:
    with pytest.raises(UsageError, match="no_such_module_anywhere"):
        async with open_model("broken:x"):
            pass
    with pytest.raises(UnknownName, match="echo:TARGET"):
        parse_spec("ecko:x")


def test_nothing_is_loaded_for_built_in_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(**_: Any) -> Any:
        raise AssertionError("looked for plug-ins")

    monkeypatch.setattr(plugins, "entry_points", never)
    assert parse_spec("script:x").kind == "script"
