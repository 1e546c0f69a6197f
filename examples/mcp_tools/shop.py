"""A shop as an MCP server: it counts, deletes, and takes orders, for which it asks the size.

    python -m examples.mcp_tools.shop

Over stdio; `agent.py` starts it. What it has done is a line in SHOP_FILE.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import (
    AcceptedElicitation,
    Elicit,
    ElicitationResult,
    RequestStateSecurity,
    Resolve,
)
from mcp.types import ToolAnnotations
from pydantic import BaseModel

# Its own questions must outlive the process: an answer may come tomorrow. A real server keeps its
# key with its other secrets, and says how long it waits.
KEY = os.environ.get("SHOP_KEY", "only-for-the-example-" * 2)
A_WEEK = 7 * 24 * 3600.0

server = MCPServer(
    "shop", request_state_security=RequestStateSecurity(keys=[KEY], ttl=A_WEEK), log_level="ERROR"
)


class Size(BaseModel):
    size: Literal["S", "M", "L"]
    gift: bool = False


async def which_size() -> Elicit[Size]:
    return Elicit("Which size?", Size)


def done(line: str) -> None:
    with Path(os.environ.get("SHOP_FILE", "shop.txt")).open("a") as file:
        file.write(f"{line}\n")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def count_orders() -> int:
    """Count the orders so far."""
    file = Path(os.environ.get("SHOP_FILE", "shop.txt"))
    return len(file.read_text().splitlines()) if file.exists() else 0


@server.tool()
async def order(item: str, size: Annotated[ElicitationResult[Size], Resolve(which_size)]) -> str:
    """Order something to wear."""
    if not isinstance(size, AcceptedElicitation):
        return f"Nothing was ordered ({size.action})."
    done(f"{item} {size.data.size}")
    return f"Ordered a {item} in {size.data.size}{', as a gift' if size.data.gift else ''}."


if __name__ == "__main__":
    server.run("stdio")
