"""Keys go to their own host only and are never shown."""

import pickle
import time
from pathlib import Path

import pytest

from branchwise.errors import UsageError
from branchwise.model.secrets import Secret, find_key, mask, mask_url, read_key_file, split_userinfo
from support.pace import slowness


def test_a_secret_does_not_show_itself_and_is_not_pickled() -> None:
    secret = Secret("sk-verysecret")
    assert "very" not in f"{secret} {secret!r} {[secret]} {vars(type(secret))}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize(
    "text",
    [
        "http://user:hunter22@host/v1 refused",
        "https://hunter22@host/",
        "Authorization: Bearer hunter22hunter22",
        "api_key=hunter22hunter22",
        "Incorrect API key provided: sk-hunter22hunter22.",
        "given hunter22 as is",
        "https://h/v1?api_key=hunter22&x=1 refused",
        "GET https://h/v1?x=1&token=hunter22#m",
        "'https://h/v1?subscription-key=hunter22'",
    ],
)
def test_messages_are_masked(text: str) -> None:
    masked = mask(text, ("hunter22",))
    assert "hunter22" not in masked
    assert "***" in masked


UNITS = ["a", "sk-", "http://", "http://a@", "api_key: ", "Bearer a", "://@", " ", "\t", "a:", "key=", "?key=", "?a.", "&a-", "?x=sk-"]


@pytest.mark.parametrize("unit", UNITS)
def test_messages_of_any_length_are_masked_in_no_time(unit: str) -> None:
    """An error page can be long, and one character of it may match a lot."""
    start = time.process_time()
    for end in ("", "x", "://u:p@h"):
        mask(unit * (300_000 // len(unit)) + end, ("hunter22",))
    assert time.process_time() - start < 1 * slowness()


def test_addresses_are_masked() -> None:
    assert mask_url("http://user:p@ss:w@rd@host/v1") == "http://***@host/v1"
    assert mask_url(f"{'x' * 40}://user:pw@host") == f"{'x' * 40}://***@host"
    assert mask_url("http://user:p%40ss@host:80/v1") == "http://***@host:80/v1"
    assert mask_url("http://host/v1#a@b") == "http://host/v1#a@b"


@pytest.mark.parametrize(
    "query",
    [
        "api_key=S3CRET", "apikey=S3CRET", "api-key=S3CRET", "API_KEY=S3CRET", "key=S3CRET", "x=1&token=S3CRET", "access_token=S3CRET", "sig=S3CRET",
        "subscription-key=S3CRET", "x-api-key=S3CRET", "client_secret=S3CRET", "password=S3CRET", "accessToken=S3CRET", "auth=S3CRET", "x.key=S3CRET",
        "code=S3CRET", "api%5Fkey=S3CRET", "v=sk-S3CRETS3CRET",
    ],
)  # fmt: skip
def test_a_key_in_the_query_of_an_address_is_refused_without_being_shown(query: str) -> None:
    with pytest.raises(UsageError, match="--key-file") as error:
        split_userinfo(f"https://host/v1?{query}")
    assert "S3CRET" not in str(error.value)
    assert "host" in str(error.value)
    assert "S3CRET" not in mask(f"branchwise solve x --model 'https://host/v1?{query}#m'")


@pytest.mark.parametrize("query", ["api-version=2024-10-21", "deployment=keyboard", "monkey=1", "tokens=5", "x=1&y=2", "encode=1", "keys=2", ""])
def test_other_queries_stay_as_they_are(query: str) -> None:
    url = f"https://host/v1?{query}".rstrip("?")
    assert split_userinfo(url) == (url, None)
    assert mask_url(url) == url


def test_user_and_password_are_split_from_an_address() -> None:
    assert split_userinfo("http://u:p@Host:8000/v1/") == ("http://host:8000/v1", ("u", "p"))
    assert split_userinfo("http://[::1]:80/v1") == ("http://[::1]:80/v1", None)
    for bad in ("ftp://host", "http://", "host:80", "http://u:secret@host:port/"):
        with pytest.raises(UsageError) as error:
            split_userinfo(bad)
        assert "secret" not in str(error.value)


def test_a_key_goes_to_its_own_host_only() -> None:
    environ = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"}

    def found(url: str, **more: str) -> str | None:
        key = find_key(url, environ | more)
        return key.reveal() if key else None

    assert found("https://api.openai.com/v1") == "sk-1"
    assert found("https://api.anthropic.com/v1") == "sk-2"
    for other in (
        "https://api.openai.com.evil.example/v1",
        "http://169.254.169.254/",
        "http://localhost:8000/v1",
        "https://evil.example/api.openai.com",
    ):
        assert found(other) is None
    assert found("http://gateway.example:81/v1", OPENAI_BASE_URL="http://gateway.example:81/v1") == "sk-1"
    assert found("http://gateway.example:82/v1", OPENAI_BASE_URL="http://gateway.example:81/v1") is None


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("sk-abc\n")
    for mode in (0o640, 0o604, 0o660, 0o644):
        path.chmod(mode)
        with pytest.raises(UsageError, match="chmod 600"):
            read_key_file(path)
    path.chmod(0o600)
    assert read_key_file(path).reveal() == "sk-abc"


@pytest.mark.parametrize("content", ["", "two words", "a\nb"])
def test_a_key_file_holds_one_key(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(UsageError, match="one key"):
        read_key_file(path)


def test_a_missing_key_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        read_key_file(tmp_path / "nowhere")
