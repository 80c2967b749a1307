"""Who may ask, and how much: tokens by name, and what each key has spent. Knows no HTTP and no search."""

from __future__ import annotations

import hashlib
import hmac
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from branchwise.budget import Budget, Usage
from branchwise.errors import UsageError, nearest

__all__ = ["OPEN_DOOR", "Account", "Hold", "Keys", "Spent"]

_LIMITS = {"max_calls": "calls", "max_tokens_total": "tokens", "max_cost": "cost"}
"""What a key can be limited in; the names are those of the flags."""


class Spent(Exception):
    """A key has nothing left of `limit`; `held` says whether searches that run now may give some back."""

    def __init__(self, limit: str, held: bool) -> None:
        super().__init__(f"this key's budget of {limit} is spent")
        self.limit, self.held = limit, held


@dataclass(eq=False)
class Hold:
    """What one search may spend of its key."""

    account: Account
    amounts: Mapping[str, float]

    def grow(self, limits: Mapping[str, float]) -> None:
        """Hold as much back as the search may spend with these limits, by name. Raises `Spent` where the key has not that much left."""
        account, amounts = self.account, dict(self.amounts)
        for limit, cap in account.limits.items():
            if limit in limits:
                held = sum(other.amounts.get(limit, 0) for other in account.holds if other is not self)
                if limits[limit] > cap - account.used(limit) - held:
                    raise Spent(limit, held > 0)
                amounts[limit] = limits[limit]
        self.amounts = amounts

    def settle(self, usage: Usage) -> None:
        """Give back what was not spent."""
        account = self.account
        account.spent += usage
        account.holds.discard(self)


@dataclass(eq=False)
class Account:
    """A key by name. `limits` are for as long as the server runs; `spent` is since its start."""

    name: str
    limits: Mapping[str, float] = field(default_factory=dict)
    spent: Usage = field(default_factory=Usage)
    holds: set[Hold] = field(default_factory=set)

    def hold(self, budget: Budget) -> tuple[Budget, Hold]:
        """`budget`, lowered to what the key has left, and held back until it is settled. Raises `Spent` where nothing is left."""
        amounts: dict[str, float] = {}
        for limit, cap in self.limits.items():
            held = sum(other.amounts.get(limit, 0) for other in self.holds)
            left = cap - self.used(limit) - held
            if limit != "cost":
                left = int(left)
            if left <= 0:
                raise Spent(limit, held > 0)
            own = getattr(budget, limit)
            amounts[limit] = left if own is None else min(own, left)
        found = Hold(self, amounts)
        self.holds.add(found)
        return replace(budget, **amounts) if amounts else budget, found  # type: ignore[arg-type]

    def used(self, limit: str) -> float:
        """What it has spent of `limit`, without what searches hold."""
        if limit == "cost":
            return (self.spent.cost or 0) / 1e6
        return self.spent.calls if limit == "calls" else self.spent.tokens


OPEN_DOOR = "anonymous"
"""The key of everybody, where no token is asked for."""


class Keys:
    """The tokens that are let in; only digests of them are kept. Without any, everybody is `anonymous`."""

    def __init__(self, accounts: Iterable[tuple[str, Account]] = (), limits: Mapping[str, float] | None = None) -> None:
        self._by_digest = {_digest(token): account for token, account in accounts}
        self._open = None if self._by_digest else Account(OPEN_DOOR, dict(limits or {}))

    @property
    def needed(self) -> bool:
        """Whether a token is asked for."""
        return self._open is None

    @property
    def accounts(self) -> list[Account]:
        """All of them."""
        return list(self._by_digest.values()) if self._open is None else [self._open]

    def find(self, token: str) -> Account | None:
        """The account that `token` opens."""
        if self._open is not None:
            return self._open
        digest, found = _digest(token), None
        for known, account in self._by_digest.items():
            if hmac.compare_digest(known, digest):
                found = account
        return found

    @classmethod
    def load(cls, path: Path, limits: Mapping[str, float] | None = None) -> Keys:
        """The keys in a file: a line each, `NAME TOKEN [max_calls=N] [max_tokens_total=N] [max_cost=USD]`, or a token alone; # for remarks.

        `limits` are for keys that have none of their own. Raises `UsageError`, also where others may read the file.
        """
        try:
            mode, text = path.stat().st_mode, path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"token file {path} cannot be read: {getattr(error, 'strerror', None) or 'not text'}") from None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UsageError(f"token file {path} can be read by others (mode {stat.S_IMODE(mode):o}); run: chmod 600 {path}")
        found: dict[str, tuple[str, Account]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split("#", 1)[0].split()
            if words:
                token, account = _line(words, f"token file {path}, line {number}", limits or {})
                if account.name == OPEN_DOOR:
                    raise UsageError(f"token file {path}, line {number}: {OPEN_DOOR} is the name of everybody where no token is asked for")
                if account.name in found or token in (known for known, _ in found.values()):
                    raise UsageError(f"token file {path}, line {number}: the name or the token is there twice")
                found[account.name] = (token, account)
        if not found:
            raise UsageError(f"token file {path} holds no token; a line is NAME TOKEN")
        return cls(found.values())


def _line(words: list[str], where: str, limits: Mapping[str, float]) -> tuple[str, Account]:
    name, token, *rest = words if len(words) > 1 else ("default", *words)
    if len(token) < 16:
        raise UsageError(f"{where}: the token of {name} is too short: at least 16 characters")
    own = dict(limits)
    for word in rest:
        key, _, value = word.partition("=")
        if key not in _LIMITS:
            raise UsageError(f"{where}: unknown limit {key!r}{nearest(key, _LIMITS)}")
        try:
            number = float(value) if key == "max_cost" else int(value)
        except ValueError:
            number = 0
        if not 0 < number < float("inf"):
            raise UsageError(f"{where}: {key} must be a positive number")
        own[_LIMITS[key]] = number
    return token, Account(name, own)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
