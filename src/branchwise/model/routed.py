"""Different models for generating, evaluating and answering, as one model. Knows no provider and no budget."""

from __future__ import annotations

from collections.abc import Mapping

from branchwise.errors import UsageError, nearest
from branchwise.model.base import LanguageModel, Reply, Request, identity_of

__all__ = ["ROLES", "Routed"]

ROLES = ("generate", "evaluate", "answer")
"""What calls are made for; each is accounted apart."""


class Routed:
    """Sends each request to the model of its role; `model` serves the roles that are not named."""

    def __init__(self, model: LanguageModel, roles: Mapping[str, LanguageModel]) -> None:
        for role in roles:
            if role not in ROLES:
                raise UsageError(f"unknown role {role!r}{nearest(role, ROLES)}")
        for part in (model, *roles.values()) if roles else ():
            if getattr(part, "recorded", False):
                raise UsageError(f"{part.name} is a recorded run, which answers in every role: give it alone, without other models by role")
        self._model, self._roles = model, dict(roles)

    @property
    def name(self) -> str:
        """The names, with the roles of those that differ."""
        return ", ".join([self._model.name, *(f"{role}: {model.name}" for role, model in sorted(self._roles.items()))])

    @property
    def identity(self) -> str:
        """The identities likewise."""
        return ", ".join([self._model.identity, *(f"{role}: {model.identity}" for role, model in sorted(self._roles.items()))])

    def identity_of(self, role: str) -> str:
        """The identity of the model that serves `role`: part of cache keys."""
        return identity_of(self._roles.get(role, self._model), role)

    async def sample(self, request: Request) -> Reply:
        """The reply of the role's model."""
        return await self._roles.get(request.role, self._model).sample(request)
