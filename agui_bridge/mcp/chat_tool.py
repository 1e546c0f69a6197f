"""A tool of an MCP server as a chat agent takes it.

Apart from `servers`, since function agents do without the extra `openai` that chat agents need.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from agui_bridge.agents.chat.tools import Tool
from agui_bridge.mcp.tool import MCPTool
from agui_bridge.protocol.threads.records import Json

logger: Final = logging.getLogger("agui_bridge.mcp")


class _ChatTool(Tool):
    """Described and approved as the server and the author's rule say, not by a signature."""

    def __init__(self, tool: MCPTool) -> None:
        self.function = self.fn = tool
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters
        self.approval = self._needs_approval
        self.destructive = tool.hints.destructive is True
        self.read_only = False
        self.editable = True
        self.preview = None
        self._message = "Allow {name}?"
        self._tool = tool

    def _needs_approval(self, args: Mapping[str, Json]) -> bool:
        return self._tool.needs_approval(args)


def chat_tool(tool: MCPTool) -> Tool | None:
    """Make it; None where its parameters can't be checked.

    Args:
        tool: the tool.
    """
    if tool.editable is None:
        logger.warning("The tool %r is left out: its parameters can't be checked.", tool.name)
        return None
    return _ChatTool(tool)
