"""A real MCP server of the official SDK, which counts what it executes in a file.

    python -m tests.mcp.servers.shop EFFECTS [--port N] [--key TEXT]

Over stdio without a port.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    RequestStateSecurity,
    Resolve,
)
from mcp.types import (
    ElicitRequest,
    ElicitRequestURLParams,
    ElicitResult,
    ImageContent,
    InputRequiredResult,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

__all__ = ["main", "make_server"]

READ = ToolAnnotations(read_only_hint=True)


class Size(BaseModel):
    size: str = Field(description="such as M")
    gift: bool = False


class Colour(BaseModel):
    colour: str


class Login(BaseModel):
    password: str


async def which_size() -> Elicit[Size]:
    return Elicit("Which size?", Size)


async def which_colour(size: Annotated[Size, Resolve(which_size)]) -> Elicit[Colour]:
    return Elicit(f"Which colour, in {size.size}?", Colour)


async def login() -> Elicit[Login]:
    return Elicit("Log in, please.", Login)


def make_server(effects: Path, key: str | None = None) -> MCPServer:
    """The server.

    Args:
        effects: gets a line for each execution.
        key: keeps its state valid over restarts.
    """
    more: dict[str, Any] = {}
    if key is not None:
        more["request_state_security"] = RequestStateSecurity(keys=[key * 32])
    server = MCPServer("shop", **more)

    def note(line: str) -> None:
        with effects.open("a") as file:
            file.write(f"{line}\n")

    @server.tool(annotations=READ)
    def count(table: str) -> int:
        """Count the rows of a table."""
        note(f"counted {table}")
        return 1234

    @server.tool(annotations=READ)
    def count_orders() -> int:
        return len(effects.read_text().splitlines()) if effects.exists() else 0

    @server.tool(annotations=ToolAnnotations(destructive_hint=True, title="Delete rows"))
    def delete_rows(table: str, limit: int) -> str:
        """Delete rows of a table."""
        note(f"deleted {limit} {table}")
        return f"{limit} rows of {table} deleted"

    @server.tool()
    async def order(
        item: str, size: Annotated[ElicitationResult[Size], Resolve(which_size)]
    ) -> str:
        """Order something to wear."""
        if not isinstance(size, AcceptedElicitation):
            note(f"not ordered {item}")
            return f"not ordered: {size.action}"
        note(f"ordered {item} {size.data.size} {size.data.gift}")
        return f"ordered {item} in {size.data.size}"

    @server.tool()
    async def tailor(
        size: Annotated[Size, Resolve(which_size)], colour: Annotated[Colour, Resolve(which_colour)]
    ) -> str:
        note(f"tailored {size.size} {colour.colour}")
        return f"{size.size} {colour.colour}"

    @server.tool()
    async def pay(url: str, ctx: Context) -> str | InputRequiredResult:
        """Pay, once the person has signed in at an address."""
        signed = (ctx.input_responses or {}).get("sign")
        if signed is None:
            params = ElicitRequestURLParams(message="Sign in at the bank.", url=url)
            return InputRequiredResult(input_requests={"sign": ElicitRequest(params=params)})
        assert isinstance(signed, ElicitResult)
        if signed.action != "accept":
            return f"not paid: {signed.action}"
        note("paid")
        return "paid"

    @server.tool()
    async def log_in(login: Annotated[Login, Resolve(login)]) -> str:
        note("logged in")
        return "in"

    @server.tool()
    def picture() -> list[Any]:
        note("picture")
        return [
            TextContent(type="text", text="A red dot."),
            ImageContent(
                type="image", data=base64.b64encode(b"dot").decode(), mime_type="image/png"
            ),
            ResourceLink(type="resource_link", uri="file:///dot.txt", name="dot"),
        ]

    @server.tool()
    def facts() -> dict[str, Any]:
        return {"rows": 3, "names": ["a", "b"]}

    @server.tool()
    def fail() -> str:
        note("failed")
        raise ValueError("no such table")

    @server.tool()
    async def slow(ctx: Context, steps: int = 3, seconds: float = 0.01) -> str:
        note("slow begun")
        for step in range(steps):
            await asyncio.sleep(seconds)
            await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        note("slow ended")
        return "slept"

    @server.tool()
    def flood(size: int) -> str:
        note("flooded")
        return "x" * size

    @server.tool()
    def die() -> str:
        note("died")
        os._exit(3)

    return server


def main() -> None:
    """Serve it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("effects", type=Path)
    parser.add_argument("--port", type=int)
    parser.add_argument("--key")
    options = parser.parse_args()
    server = make_server(options.effects, options.key)
    if options.port is None:
        server.run("stdio")
    else:
        import uvicorn

        app = server.streamable_http_app()
        uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
