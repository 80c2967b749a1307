"""Values that are made many times a call: dataclasses whose `frozen` is checked where types are, and costs nothing when one is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from dataclasses import dataclass

    def record(*, frozen: bool, **settings: Any) -> Any:
        """As `dataclass`, and hashable where it is frozen. A frozen dataclass sets each field by a call: a good part of what a reply costs us.

        It says of itself that it is frozen, so that a frozen dataclass can inherit from it, as from a real one.
        """

        def made(cls: type) -> type:
            cls = dataclass(unsafe_hash=frozen, **settings)(cls)
            cls.__dataclass_params__.frozen = frozen
            return cls

        return made


__all__ = ["record"]
