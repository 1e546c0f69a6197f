"""A target whose agent buys at an MCP server: `order NAME`, or `delete NAME`, which is approved."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from pathlib import Path

from agui_bridge import Bridge, FunctionRun, Settings
from agui_bridge.http.server import serve
from agui_bridge.mcp import MCPServers

__all__ = ["main"]


def main() -> None:
    """Serve it until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--effects", type=Path)
    parser.add_argument("--lease", type=float)
    parser.add_argument("--store")
    parser.add_argument("--shop")
    options = parser.parse_args()
    bridge = Bridge(options.store, settings=Settings(lease_seconds=options.lease))
    shop = MCPServers(
        {"shop": options.shop}, approve=lambda tool, args: tool.own_name == "delete_rows"
    )

    @bridge.agent("target")
    async def target(run: FunctionRun) -> AsyncIterator[str]:
        verb, _, name = run.text.partition(" ")
        if verb == "order":
            yield str(await shop.call(run, "shop.order", {"item": name}))
        else:
            yield str(await shop.call(run, "shop.delete_rows", {"table": name, "limit": 3}))

    serve(bridge, "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
