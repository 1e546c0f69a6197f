"""`agui-bridge acp`."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from agui_bridge.acp.server import serve_acp
from agui_bridge.cli.faults import Command, debug_option
from agui_bridge.cli.options import log_options, shared_flags, store_option
from agui_bridge.cli.target import Target
from agui_bridge.errors import ConfigurationError, Refused
from agui_bridge.logs import configure_logging
from agui_bridge.protocol.threads.records import Principal
from agui_bridge.stdio.json_rpc import agent_named
from agui_bridge.stdio.lines import Pipes, leaving_threads_behind, take_over_pipes


@click.command(cls=Command)
@click.argument("target")
@click.option("--agent", metavar="NAME", help="The agent to serve, where TARGET has several.")
@click.option(
    "--actor", metavar="NAME", help="Who prompts and answers, for rules and the audit history."
)
@click.option("--scope", metavar="NAME", help="Whose threads they are.")
@store_option
@log_options
@debug_option
def acp(
    target: str,
    agent: str | None,
    actor: str | None,
    scope: str | None,
    store: str | None,
    log_format: str | None,
    log_level: str | None,
) -> None:
    """Serve an agent to an editor, by the Agent Client Protocol.

    TARGET is module:variable of a Bridge, or a YAML file.

    The editor starts it, and speaks JSON-RPC on its standard input and output.
    A session is a thread, a prompt is a run; what the agent asks people, the
    editor asks. Whoever starts it is trusted: nothing else says who asks.

    Example, and the same in the settings of Zed:
      agui-bridge acp bridge.yaml --agent ops
      "agent_servers": {"ops": {"type": "custom", "command": "agui-bridge",
        "args": ["acp", "/path/to/bridge.yaml", "--agent", "ops"]}}

    The end of the input, SIGTERM and Ctrl-C stop what runs. What waits for
    people goes on waiting, and is asked again once the session is loaded.
    """
    pipes = take_over_pipes()
    found = Target.of(target, shared_flags(store, log_format, log_level))
    configure_logging(found.launch.logging.format, found.launch.logging.level)
    bridge = found.bridge()
    nobody = Principal()
    principal = Principal(scope or nobody.scope, actor or nobody.actor)
    try:
        name = agent_named(agent, bridge.agents)
    except Refused as refusal:
        raise ConfigurationError(f"{refusal.message}\nName it with --agent NAME.") from None
    asyncio.run(_serve(bridge, bridge.agents[name], pipes, principal))


async def _serve(bridge: Any, agent: Any, pipes: Pipes, principal: Principal) -> None:
    with leaving_threads_behind():
        await serve_acp(bridge, agent, pipes, principal)
