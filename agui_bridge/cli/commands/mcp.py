"""`agui-bridge mcp`."""

from __future__ import annotations

import asyncio

import click

from agui_bridge import __version__
from agui_bridge.cli.faults import Command, debug_option
from agui_bridge.cli.options import log_options, shared_flags, store_option
from agui_bridge.cli.target import Target
from agui_bridge.errors import ConfigurationError
from agui_bridge.logs import configure_logging
from agui_bridge.stdio.lines import Pipes, leaving_threads_behind, take_over_pipes


@click.command(cls=Command)
@click.argument("target")
@store_option
@log_options
@debug_option
def mcp(target: str, store: str | None, log_format: str | None, log_level: str | None) -> None:
    """Serve the agents of a bridge as tools of an MCP client.

    TARGET is module:variable of a Bridge, or a YAML file.

    MCP over standard input and output, logs on standard error: a tool for each
    agent, and one that tells how a conversation stands. Questions are asked in the
    client's own window, or have their page in the inbox. The client that starts it
    is trusted: nothing else says who asks.

    Example:
      agui-bridge mcp bridge.yaml

    In a client's configuration: "command": "agui-bridge", "args": ["mcp",
    "bridge.yaml"].

    Over HTTP: `mcp: true` in the file, or Bridge(mcp=True), and the address /mcp.
    """
    pipes = take_over_pipes()
    found = Target.of(target, shared_flags(store, log_format, log_level))
    configure_logging(found.launch.logging.format, found.launch.logging.level)
    asyncio.run(_serve(found, pipes))


async def _serve(found: Target, pipes: Pipes) -> None:
    try:
        from agui_bridge.mcp_server.stdio import serve_mcp
    except ImportError as error:
        raise ConfigurationError(
            f"`agui-bridge mcp` needs the MCP SDK, 2.1 or later ({error.name or error} is "
            'missing). Install it: pip install "agui-bridge[mcp]"'
        ) from error
    with leaving_threads_behind():
        await serve_mcp(found.bridge(), pipes, __version__)
