"""The tools that an agent file names, made of functions; needs the extra `openai`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agui_bridge.agent_file.models import McpPart, ToolPart
from agui_bridge.agents.chat import Approval, Tool
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object

if TYPE_CHECKING:
    from agui_bridge.mcp import MCPServers


def tool_of(part: ToolPart, folder: Path) -> Tool:
    """Import a function and make a tool of it, as the file says.

    Args:
        part: what the file says.
        folder: where modules are looked for first.

    Raises:
        ConfigurationError: there is no such function, or a model can't be told of it.
    """
    found = import_object(part.function, folder)
    if not callable(found):
        raise ConfigurationError(f"{part.function} is no function, but {found!r:.80}.")
    own = found if isinstance(found, Tool) else Tool(found)
    approval: Approval = own.approval
    if part.requireApproval is not None:
        approval = "always" if part.requireApproval else "never"
    return own.but(name=part.name, approval=approval)


def servers_of(parts: Sequence[McpPart]) -> MCPServers:
    """The MCP servers that a file names; needs the extra `mcp`.

    Args:
        parts: what the file says, one server each.

    Raises:
        ConfigurationError: a name can't be used, or stands twice; or the extra is missing.
    """
    try:
        from mcp import StdioServerParameters

        from agui_bridge.mcp import MCPServers
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f'a package is missing ({error.name}). Install it: pip install "agui-bridge[mcp]"'
        ) from error
    servers: dict[str, Any] = {}
    for part in parts:
        if part.name in servers:
            raise ConfigurationError(f"two MCP servers are called {part.name!r}.")
        servers[part.name] = part.url or StdioServerParameters(
            command=part.command or "", args=part.args, env=part.env
        )
    return MCPServers(
        servers,
        trusted=[part.name for part in parts if part.trusted],
        only={part.name: part.only for part in parts if part.only is not None},
        headers={part.name: part.headers for part in parts},
    )
