"""An agent that buys at an MCP server: counting just runs, an order is approved, the server asks.

python -m examples.mcp_tools.agent
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator

from mcp import StdioServerParameters

from agui_bridge import Bridge, CallDenied, FunctionRun
from agui_bridge.mcp import MCPServers
from examples.guide import Answer, Say, serve_with_guide

bridge = Bridge("memory:")

own = {name: value for name, value in os.environ.items() if name.startswith("SHOP_")}
shop = MCPServers(
    {
        "shop": StdioServerParameters(
            command=sys.executable, args=["-m", "examples.mcp_tools.shop"], env=own
        )
    },
    trusted=["shop"],  # it is ours: what it says only reads needs no approval
)


@bridge.agent("buyer", description="Buys what you name.")
async def buyer(run: FunctionRun) -> AsyncIterator[str]:
    orders = await shop.call(run, "shop.count_orders", {})
    yield f"There are {orders} orders. "
    try:
        yield str(await shop.call(run, "shop.order", {"item": run.text or "hat"}))
    except CallDenied as denied:
        yield f"Not ordered: {denied.reason or 'nobody approved it'}."


def main() -> None:
    """Serve the buyer, and print what to try."""
    serve_with_guide(
        bridge,
        "buyer",
        Say("It wants to order: that is not known to only read.", "hat"),
        Answer("Approve the call. In its middle the shop asks.", {"approved": True}),
        Answer("Answer the shop: the same call goes on.", {"size": "M", "gift": True}),
    )


if __name__ == "__main__":
    main()
