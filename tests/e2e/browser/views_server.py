"""`python -m tests.e2e.browser.views_server PORT SHOP`: an agent whose MCP server has views."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Final

from agui_bridge import Bridge, FunctionRun
from agui_bridge.http.server import serve
from agui_bridge.mcp import MCPServers

LOOPBACK: Final = r"http://127\.0\.0\.1(:\d+)?"


def make_bridge(shop: str) -> Bridge:
    """The bridge with its one agent.

    Args:
        shop: address of the MCP server.
    """
    bridge = Bridge("memory:", cors_origin_regex=LOOPBACK)
    servers = MCPServers({"shop": shop}, trusted=["shop"])

    @bridge.agent("clerk", acts_on_state=True)
    async def clerk(run: FunctionRun) -> AsyncIterator[str]:
        """Shows the orders."""
        if await servers.serve_view(run):
            return
        yield f"There is {await servers.call(run, 'shop.orders', {})}."

    return bridge


if __name__ == "__main__":
    serve(make_bridge(sys.argv[2]), "127.0.0.1", int(sys.argv[1]), log_level="warning")
