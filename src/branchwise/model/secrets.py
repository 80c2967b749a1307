"""Keys and addresses: where a key may come from, to whom it may go, and how neither is ever shown. Knows no model."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from branchwise.errors import UsageError

__all__ = ["OPENAI_URL", "Secret", "find_key", "mask", "mask_url", "read_key_file", "split_userinfo"]

_USERINFO = re.compile(r"://[^/\s?#]*@")
_BEARER = re.compile(r"(?i)(bearer\s+|api[-_ ]?key[\"']?\s*[:=]\s*[\"']?)[A-Za-z0-9._~+/=-]{6,}")
_KEYLIKE = re.compile(r"\b(?:sk|key|gsk|AIza|hf)[-_][A-Za-z0-9_-]{8,}")
_IN_QUERY = re.compile(r"([?&;])([\w.%-]{1,60})=([^&#;\s\"'<>]+)")
_KEY_NAME = re.compile(
    r"(?:.*[-_.])?(?:access|api|auth|client|private|session|subscription)?"
    r"(?:key|token|secret|password|passwd|auth|authorization|sig|signature|credentials?|code)",
    re.IGNORECASE,
)

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLES = {
    "api.openai.com": ("OPENAI_API_KEY",),
    "api.anthropic.com": ("ANTHROPIC_API_KEY",),
    "generativelanguage.googleapis.com": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""Which environment variables hold the key of which host. A key goes to its own host only."""


class Secret:
    """A key that does not show itself. `reveal` is for the request header only."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[type, tuple[str]]:
        raise TypeError("a secret is not pickled")


def mask(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` with passwords in addresses, the given secrets, and what looks like a key, replaced by ***."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    text = mask_url(text)
    text = _BEARER.sub(r"\1***", text)
    return _KEYLIKE.sub("***", text)


def mask_url(url: str) -> str:
    """`url` with user and password masked, and what its query holds under the name of a key."""
    return _IN_QUERY.sub(_without_key, _USERINFO.sub("://***@", url))


def _without_key(found: re.Match[str]) -> str:
    return f"{found[1]}{found[2]}=***" if _is_key(unquote(found[2]), found[3]) else found[0]


def _is_key(name: str, value: str) -> bool:
    """Whether a field of a query is a key, by its name or by its value."""
    return _KEY_NAME.fullmatch(name[:60]) is not None or _KEYLIKE.search(value) is not None


def split_userinfo(url: str) -> tuple[str, tuple[str, str] | None]:
    """`url` without user and password, and these two. Raises `UsageError` for what is no http(s) address, and for one with a key in its query.

    An address is part of names, identities and traces, so a key in it would be shown there.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"not an address: {mask_url(url)!r} ({error})") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(f"not an address: {mask_url(url)!r}; give http://HOST:PORT/v1 or https://HOST/v1")
    if found := [name for name, value in parse_qsl(parts.query) if _is_key(name, value)]:
        raise UsageError(
            f"the address of {host} has a key in its query ({', '.join(found)}=***); addresses are shown and recorded, so give the key apart: "
            "--key-file FILE, or the environment variable of that host, which goes as a header"
        )
    where = f"[{host}]" if ":" in host else host
    clean = urlunsplit((parts.scheme, where if port is None else f"{where}:{port}", parts.path.rstrip("/"), parts.query, ""))
    user = (parts.username or "", parts.password or "") if parts.username or parts.password else None
    return clean, user


def find_key(base_url: str, environ: Mapping[str, str], key_file: Path | None = None) -> Secret | None:
    """The key for `base_url`: from `key_file` where one is given, else from the environment variable of exactly that host.

    `OPENAI_API_KEY` also goes to the host that `OPENAI_BASE_URL` names, and nowhere else.
    """
    if key_file is not None:
        return read_key_file(key_file)
    host = _host(base_url)
    names = KEY_VARIABLES.get(host, ())
    if environ.get("OPENAI_BASE_URL") and _host(environ["OPENAI_BASE_URL"]) == host:
        names = ("OPENAI_API_KEY",)
    return next((Secret(environ[n].strip()) for n in names if environ.get(n, "").strip()), None)


def _host(url: str) -> str:
    """Host in lower case, with the port where the address names one."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return ""


def read_key_file(path: Path) -> Secret:
    """The key in `path`: the whole file, one line. Raises `UsageError` where others than its owner may read it."""
    try:
        mode = path.stat().st_mode
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"key file {path} cannot be read: {getattr(error, 'strerror', None) or 'not text'}") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"key file {path} can be read by others (mode {stat.S_IMODE(mode):o}); run: chmod 600 {path}")
    if not text or len(text.split()) != 1:
        raise UsageError(f"key file {path} must hold one key and nothing else")
    return Secret(text)
