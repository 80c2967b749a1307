"""Tools of MCP that refuse, by name, an argument that they do not have. Knows no search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver.tools import Tool
from pydantic import ConfigDict, model_validator

from branchwise.errors import nearest

__all__ = ["strict_tool"]


def strict_tool(function: Callable[..., Any], description: str) -> Tool:
    """A tool over `function`. Left to itself the library would drop an unknown argument, and with it the limit that a typing error meant."""
    tool = Tool.from_function(function, description=description)
    lenient = tool.fn_metadata.arg_model

    class Arguments(lenient):  # type: ignore[valid-type, misc]
        """Those of the tool, and no other."""

        model_config = ConfigDict(extra="forbid", title=lenient.__name__)

        @model_validator(mode="before")
        @classmethod
        def known(cls, data: Any) -> Any:
            """Names the first that is not known."""
            for name in data if isinstance(data, dict) else ():
                if name not in cls.model_fields:
                    raise ValueError(f"{tool.name} has no argument {str(name)[:64]!r}{nearest(str(name)[:64], cls.model_fields)}")
            return data

    tool.fn_metadata.arg_model = Arguments
    tool.parameters = Arguments.model_json_schema(by_alias=True)
    return tool
