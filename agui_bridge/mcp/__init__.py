"""Tools of MCP servers for function agents and chat agents; needs the extra `mcp`.

Source: the Model Context Protocol, revision 2026-07-28, and 2025-11-25 where older servers speak.
"""

from __future__ import annotations

try:
    from agui_bridge.mcp.connection import MCPFault
    from agui_bridge.mcp.servers import MCPServers
    from agui_bridge.mcp.tool import MCPTool
except ModuleNotFoundError as error:
    if error.name != "mcp":
        raise
    raise ModuleNotFoundError(
        'Tools of MCP servers need a package: pip install "agui-bridge[mcp]"', name="mcp"
    ) from None

__all__ = ["MCPFault", "MCPServers", "MCPTool"]
