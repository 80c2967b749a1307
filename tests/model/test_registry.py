"""What the names after --model mean."""

from pathlib import Path

import pytest

from branchwise.errors import UnknownName, UsageError
from branchwise.model.openai_http import OpenAIChat
from branchwise.model.registry import ModelSpec, open_model, parse_spec
from branchwise.model.scripted import Scripted


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("local", ModelSpec("local", "qwen2.5-coder-1.5b")),
        ("local:smollm2-135m", ModelSpec("local", "smollm2-135m")),
        ("local:/a/b.gguf", ModelSpec("local", "/a/b.gguf")),
        ("local:b.gguf", ModelSpec("local", "b.gguf")),
        ("local?slots=16", ModelSpec("local", "qwen2.5-coder-1.5b", options=(("slots", "16"),))),
        ("local:smollm2-135m?context=512&slots=2", ModelSpec("local", "smollm2-135m", options=(("context", "512"), ("slots", "2")))),
        ("openai:gpt-4o", ModelSpec("openai", "gpt-4o")),
        ("openai:ft:gpt:me", ModelSpec("openai", "ft:gpt:me")),
        ("http://h:1/v1#org/m", ModelSpec("http", "org/m", "http://h:1/v1")),
        ("script:a.jsonl", ModelSpec("script", "a.jsonl")),
        ("tape:run.jsonl", ModelSpec("tape", "run.jsonl")),
    ],
)
def test_names(text: str, spec: ModelSpec) -> None:
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("locla", UnknownName, "local"),
        ("opnai:gpt-4o", UnknownName, "openai"),
        ("local:smollm2", UnknownName, "smollm2-135m"),
        ("gpt-4o", UnknownName, "known"),
        ("", UnknownName, "known"),
        ("openai:", UsageError, "needs a name"),
        ("script:", UsageError, "needs a name"),
        ("http://u:secret@h:1/v1", UsageError, "#NAME"),
        ("http://h:x/v1#m", UsageError, "address"),
        ("local?slot=2", UsageError, "did you mean 'slots'"),
        ("local?slots=two", UsageError, "whole number"),
        ("local?slots=0", UsageError, "1 to 256"),
    ],
)
def test_wrong_names_get_the_nearest(text: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as error:
        parse_spec(text)
    assert "secret" not in str(error.value)


def test_a_spec_does_not_show_a_password() -> None:
    assert "secret" not in repr(parse_spec("http://u:secret@h:1/v1#m"))


async def test_models_are_opened_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"replies": ["a"]}')
    async with open_model(f"script:{path}") as model:
        assert isinstance(model, Scripted)
    async with open_model("http://127.0.0.1:1/v1#m") as model:
        assert isinstance(model, OpenAIChat)
        assert model.name == "http://127.0.0.1:1/v1#m"
    async with open_model("openai:gpt-4o", environ={"OPENAI_API_KEY": "sk-1"}) as model:
        assert model.name == "openai:gpt-4o"


async def test_openai_without_a_key_says_where_to_put_it() -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        async with open_model("openai:gpt-4o"):
            pass


async def test_a_tape_is_not_a_backend() -> None:
    with pytest.raises(UsageError, match="engine"):
        async with open_model("tape:x"):
            pass


async def test_a_missing_file_of_weights_is_named(tmp_path: Path) -> None:
    from branchwise.errors import WeightsError

    with pytest.raises(WeightsError, match=r"none\.gguf"):
        async with open_model(f"local:{tmp_path}/none.gguf"):
            pass
    (tmp_path / "bad.gguf").write_text("no")
    with pytest.raises(WeightsError, match="no GGUF"):
        async with open_model(f"local:{tmp_path}/bad.gguf"):
            pass
