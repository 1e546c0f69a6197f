"""The schemas of tools, by which a person's edit of a call is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp
from claude_agent_sdk import ClaudeAgentOptions

from agui_bridge_claude.questions import BUILT_IN

_CLIENT: Final[Any] = getattr(mcp, "Client", None)
"""None with mcp 1: people can't edit calls of servers in this process then."""


class ToolSchemas:
    """Those of Claude Code's own tools, and of the application's servers in this process."""

    def __init__(self) -> None:
        # A server is held beside its tools, so that its identity is nobody else's.
        self._known: dict[int, tuple[Any, Mapping[str, Mapping[str, Any]]]] = {}

    async def of(self, options: ClaudeAgentOptions, name: str) -> Mapping[str, Any] | None:
        """The JSON Schema of a tool's arguments, None where it is not known.

        Args:
            options: the agent's.
            name: the tool, `mcp__SERVER__TOOL` for one of a server.
        """
        servers = options.mcp_servers if isinstance(options.mcp_servers, dict) else {}
        for server, config in servers.items():
            begin = f"mcp__{server}__"
            if name.startswith(begin) and config.get("type") == "sdk" and _CLIENT is not None:
                tools = await self._tools(config.get("instance"))
                return tools.get(name.removeprefix(begin))
        return BUILT_IN.get(name)

    async def _tools(self, server: Any) -> Mapping[str, Mapping[str, Any]]:
        if id(server) not in self._known:
            async with _CLIENT(server) as client:
                told = await client.list_tools()
            schemas = {tool.name: tool.input_schema for tool in told.tools}
            self._known[id(server)] = (server, schemas)
        return self._known[id(server)][1]
