"""Which engine runs a local model, and what the user is told of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from branchwise import Check, Combine, Likelihood, Value
from branchwise.cli.main import cli
from branchwise.errors import PermanentError, UnknownName, UsageError
from branchwise.model import engines
from branchwise.model.local import LocalSettings
from branchwise.model.registry import open_model, parse_spec
from branchwise.thought.likelihood import reads_alternatives


def engine(name: str, error: Exception | None = None) -> Callable[..., Any]:
    """An engine that only opens, or does not."""

    class Engine:
        def __init__(self, path: Path, **settings: Any) -> None:
            self.name = name

        async def __aenter__(self) -> "Engine":
            if error is not None:
                raise error
            return self

        async def __aexit__(self, *exc: object) -> None:
            await self.aclose()

        async def aclose(self) -> None:
            pass

    return Engine


async def opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, query: str, slots: int, there: bool = True, error: Exception | None = None,
    alternatives: bool = False,
) -> tuple[str, str]:
    """The engine that ran, and all that was said."""
    monkeypatch.setattr(engines, "Local", engine("llama"))
    monkeypatch.setattr(engines, "OpenVINO", engine("openvino", error))
    monkeypatch.setattr(engines, "installed", lambda: there)
    said: list[str] = []
    settings = LocalSettings(slots=slots, alternatives=alternatives)
    async with open_model(f"local:{tmp_path}/a.gguf{query}", settings=settings, say=said.append) as model:
        return model.name, "\n".join(said)


@pytest.mark.parametrize(
    ("query", "slots", "there", "ran"),
    [
        ("", 8, True, "llama"),
        ("", 16, True, "openvino"),
        ("", 16, False, "llama"),
        ("?slots=32", 8, True, "openvino"),
        ("?slots=4", 32, True, "llama"),
        ("?engine=openvino", 1, True, "openvino"),
        ("?engine=openvino", 1, False, "openvino"),
        ("?engine=llama", 32, True, "llama"),
    ],
)
async def test_the_width_of_the_run_and_the_user_choose(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, query: str, slots: int, there: bool, ran: str
) -> None:
    name, said = await opened(monkeypatch, tmp_path, query, slots, there)
    assert name == ran
    assert said.startswith("engine: llama.cpp" if ran == "llama" else "engine: OpenVINO")
    assert ("pip install" in said) == (slots >= 16 and not there)


@pytest.mark.parametrize(
    ("query", "slots", "there", "ran", "told"),
    [
        ("", 16, True, "llama", True),
        ("", 16, False, "llama", True),
        ("", 8, True, "llama", False),
        ("?engine=openvino", 16, True, "openvino", False),
        ("?engine=llama", 16, True, "llama", False),
    ],
)
async def test_a_run_that_reads_log_probabilities_gets_the_engine_that_gives_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, query: str, slots: int, there: bool, ran: str, told: bool
) -> None:
    name, said = await opened(monkeypatch, tmp_path, query, slots, there, alternatives=True)
    assert name == ran
    assert ("log-probabilities" in said) == told
    assert "pip install" not in said


def test_which_evaluators_read_them() -> None:
    assert reads_alternatives(Likelihood())
    assert reads_alternatives(Combine(Check(), Combine(Value(), Likelihood())))
    assert not reads_alternatives(Combine(Check(), Value()))
    assert not reads_alternatives(None)


@pytest.mark.parametrize(("evaluate", "wanted"), [("likelihood", True), ("value", False)])
@pytest.mark.parametrize("command", ["solve", "solve many", "bench", "serve"])
def test_the_command_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, evaluate: str, wanted: bool, command: str) -> None:
    seen: list[LocalSettings] = []

    def open_it(spec: object, *, settings: LocalSettings, **_: object) -> None:
        seen.append(settings)
        raise UsageError("enough seen")

    monkeypatch.setattr("branchwise.cli.opening.open_model", open_it)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(f"name: own\nprompt: \"{{{{input}}}}\"\nevaluate: {{use: {evaluate}}}\n")
    flags = ["--task", "game24", "--evaluate", evaluate, "--model", "local", "--trace", "none", "--parallel", "16"]
    given = {
        "solve": ["solve", "4 9 10 13", *flags],
        "solve many": ["solve", "--items", "1:2", "--out", "rows.jsonl", *flags],
        "bench": [
            "bench", "run", "--tasks", "game24", "--methods", f"io,tot_bfs?evaluate={evaluate}", "--models", "local", "--items", "1:2",
            "--out", "b", "--parallel", "16",
        ],
        "serve": ["serve", "--port", "0", "--model", "local", "--task", "own.yaml"],
    }[command]  # fmt: skip
    with pytest.raises(SystemExit):
        cli.main(given)
    assert [settings.alternatives for settings in seen] == [wanted]


async def test_a_file_that_it_cannot_read_falls_back_with_a_notice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name, said = await opened(monkeypatch, tmp_path, "", 16, error=PermanentError("OpenVINO cannot load a.gguf (why)"))
    assert name == "llama"
    assert said.startswith("OpenVINO cannot load a.gguf (why); llama.cpp runs it instead\nengine: llama.cpp")


async def test_a_file_that_it_cannot_read_is_an_error_when_it_was_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(PermanentError, match="engine=llama"):
        await opened(monkeypatch, tmp_path, "?engine=openvino", 16, error=PermanentError("no"))


async def test_a_missing_extra_is_an_error_when_it_was_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pip install"):
        await opened(monkeypatch, tmp_path, "?engine=openvino", 16, there=False, error=UsageError("pip install it"))


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(UnknownName, match="openvino"):
        parse_spec("local?engine=openvin")


def test_resuming_under_another_engine_says_how_to_have_the_former_one() -> None:
    assert "?engine=openvino" in engines.to_have_again("openvino:ab", "llama.cpp:ab")
    assert "?engine=llama" in engines.to_have_again("llama.cpp:ab", "openvino:ab")
    assert engines.to_have_again("llama.cpp:ab", "openvino:cd") == engines.to_have_again("http://a#m", "http://b#m") == ""
