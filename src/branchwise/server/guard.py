"""Who is let in: host name, origin and token of each request, before anything else sees it. Knows no route but those that are open.

A page of a foreign site cannot use the visitor's browser to reach this server: its requests carry a foreign Origin, or (by a name that it
made to point here) a foreign Host.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from branchwise.server.completions import refused
from branchwise.server.config import Config
from branchwise.server.faults import Refusal
from branchwise.server.keys import Keys

__all__ = ["TOO_LARGE", "Guard", "host_name", "is_loopback"]

TOO_LARGE = "the body is larger than this server takes"


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets, in lower case; empty where it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    """Whether it is a number, which no foreign name server can make point here."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """The outermost layer of the application. Puts the account of the token into the request's state; also its name, where one is needed."""

    def __init__(self, app: ASGIApp, config: Config, keys: Keys, public: Collection[str] = ()) -> None:
        self._app, self._config, self._keys = app, config, keys
        self._public = {"/health", *public}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self._check(scope)
        except Refusal as refusal:
            await refused(refusal)(scope, receive, _plain(send))
            return
        await self._app(scope, receive, _plain(send))

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        name = host_name(headers.get("host", ""))
        if name not in self._config.hosts and not (self._keys.needed and _is_address(name)):
            raise Refusal(403, "this server does not go by that host name; name it with --allow-host", code="foreign_host")
        origin = headers.get("origin")
        if origin is not None and origin not in self._config.origins and not _same(origin, headers.get("host", "")):
            raise Refusal(403, "pages of this origin may not call; allow one with --allow-origin", code="foreign_origin")
        foreign = headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate"
        if foreign and origin not in self._config.origins:
            raise Refusal(403, "pages of other sites may not call; allow one with --allow-origin", code="foreign_origin")
        account = self._keys.find(_token(headers.get("authorization", "")))
        if account is None and scope["path"] not in self._public:
            raise Refusal(401, "a token is needed: Authorization: Bearer TOKEN", code="invalid_api_key")
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length[:20]) > self._config.body:  # the layer below would refuse it in plain text
            raise Refusal(413, TOO_LARGE, code="http_413")
        owner = "" if account is None else account.name
        scope.setdefault("state", {}).update(account=account, key=owner if self._keys.needed else None)


def _token(header: str) -> str:
    kind, _, value = header.partition(" ")
    return value.strip() if kind.lower() == "bearer" else ""


def _same(origin: str, host: str) -> bool:
    """Whether a page of `origin` was served under the name and port that the request is sent to."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == host.lower()


def _plain(send: Send) -> Send:
    """Every reply says that its type is to be believed."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (b"x-content-type-options", b"nosniff")]
        await send(message)

    return sent
