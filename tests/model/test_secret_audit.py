"""A key that is used leaves no copy: not in traces, caches, errors, logs or any repr."""

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from branchwise.cli.main import cli
from branchwise.errors import BranchwiseError, UsageError
from branchwise.model.base import Request
from branchwise.model.cache import ReplyCache
from branchwise.model.layers.cached import Cached
from branchwise.model.layers.retrying import Retrying, RetryPolicy
from branchwise.model.openai_http import OpenAIChat
from branchwise.model.registry import open_model, parse_spec
from branchwise.model.reward import RewardEndpoint
from branchwise.model.secrets import Secret

KEY = "sk-SECRETKEY0123456789"
PASSWORD = "hunter2SECRET"


@pytest.fixture(autouse=True)
def _all_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def told(error: BaseException) -> str:
    """All that a user, a log or a bug report could see of an error."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))


@pytest.mark.parametrize(
    "quirk", ["good", "status:401", "status:500", "html", "redirect", "refuses:temperature", "context_400", "short_body"]
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_key_is_shown_nowhere(
    faults: Any,
    ask: Callable[..., Request],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    quirk: str,
    stream: bool,
) -> None:
    url = faults.url(quirk).replace("http://", f"http://user:{PASSWORD}@")
    shown = ""
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        async with OpenAIChat("m", url, key=Secret(KEY), stream=stream) as chat:
            model = Cached(Retrying(chat, RetryPolicy(attempts=2, base=0.001)), cache)
            try:
                shown += repr(await model.sample(ask()))
            except BranchwiseError as error:
                shown += told(error)
            shown += f"{chat!r} {chat.name} {chat.identity} {model.identity} {chat.abilities!r}"
    for file in tmp_path.iterdir():  # noqa: ASYNC240
        shown += file.read_bytes().decode("latin-1")
    out, err = capfd.readouterr()
    shown += caplog.text + out + err + str([vars(r) for r in caplog.records])
    assert KEY not in shown
    assert PASSWORD not in shown
    assert faults.headers[quirk][0]["authorization"] == f"Bearer {KEY}"


async def test_a_server_that_repeats_the_key_is_masked(faults: Any, ask: Callable[..., Request]) -> None:
    """Some servers quote the key in their error."""
    async with OpenAIChat("m", faults.url("echo_key"), key=Secret("oddly-shaped!KEY")) as chat:
        with pytest.raises(BranchwiseError) as error:
            await chat.sample(ask())
    assert "oddly-shaped" not in told(error.value)
    assert "***" in str(error.value)


@pytest.fixture
def home_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BRANCHWISE_HOME", str(tmp_path / "home"))
    return tmp_path


async def test_a_password_in_a_name_is_masked_everywhere(ask: Callable[..., Request]) -> None:
    text = f"http://user:{PASSWORD}@127.0.0.1:9/v1#m"
    spec = parse_spec(text)
    async with open_model(text) as model:
        with pytest.raises(BranchwiseError) as error:
            await model.sample(ask())
        shown = f"{spec!r} {spec} {model!r} {model.name} {model.identity}" + told(error.value)
    assert PASSWORD not in shown


@pytest.mark.parametrize("form", ["{}#m", "reward:{}", "reward:{}#m"])
def test_a_key_in_the_query_of_an_address_is_refused_and_shown_nowhere(form: str, home_of_runs: Path) -> None:
    """It would be in the name, in every trace and in the cache."""
    for query in (f"api_key={KEY}", f"x=1&key={PASSWORD}"):
        shown, url = "", f"http://127.0.0.1:9/v1?{query}"
        text = form.format(url)
        makers: dict[Callable[..., object], tuple[str, ...]] = {parse_spec: (text,), OpenAIChat: ("m", url), RewardEndpoint: (url,)}
        for make, arguments in makers.items():
            with pytest.raises(UsageError, match="give the key apart") as error:
                make(*arguments)
            shown += told(error.value)
        flag = "--evaluator-model" if form.startswith("reward") else "--model"
        result = CliRunner().invoke(cli, ["solve", "4 9 10 13", "--task", "game24", flag, text])
        assert result.exit_code == 2
        shown += result.output + "".join(path.read_text() for path in home_of_runs.rglob("*") if path.is_file())
        assert KEY not in shown
        assert PASSWORD not in shown
