"""`agui-bridge stdio`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from agui_bridge.cli.faults import Command, debug_option
from agui_bridge.cli.options import log_options, shared_flags, store_option
from agui_bridge.cli.target import Target
from agui_bridge.logs import configure_logging
from agui_bridge.stdio.lines import Pipes, leaving_threads_behind, take_over_pipes
from agui_bridge.stdio.server import serve_stdio


@click.command(cls=Command)
@click.argument("target")
@store_option
@log_options
@debug_option
def stdio(target: str, store: str | None, log_format: str | None, log_level: str | None) -> None:
    """Serve the agents of a bridge to the process that started this one.

    TARGET is module:variable of a Bridge, or a YAML file.

    JSON-RPC in lines: requests on standard input, events and results on standard
    output, logs on standard error. Methods are agent.stream, agent.query and
    agent.stop. Whoever starts it is trusted: nothing else says who asks.

    Example:
      agui-bridge stdio agents:bridge
      {"jsonrpc": "2.0", "id": "1", "method": "agent.stream", "params":
        {"threadId": "t1", "messages":
          [{"id": "m1", "role": "user", "content": "Hi"}]}}  (in one line)

    The end of the input, SIGTERM and Ctrl-C stop what runs; nothing is lost.
    """
    pipes = take_over_pipes()
    found = Target.of(target, shared_flags(store, log_format, log_level))
    configure_logging(found.launch.logging.format, found.launch.logging.level)
    bridge = found.bridge()
    asyncio.run(_serve(bridge, pipes))


async def _serve(bridge: Any, pipes: Pipes) -> None:
    with leaving_threads_behind():
        await serve_stdio(bridge, pipes)
