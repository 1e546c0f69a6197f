"""`agui-bridge check`."""

from __future__ import annotations

import asyncio

import click

from agui_bridge.bridge.bridge import Bridge
from agui_bridge.cli.banner import store_label
from agui_bridge.cli.faults import Command, debug_option
from agui_bridge.cli.options import targets_argument
from agui_bridge.cli.target import Target

__all__ = ["check"]


@click.command(cls=Command)
@targets_argument
@debug_option
def check(target: tuple[str, ...]) -> None:
    """Say what is wrong with a bridge, without serving it.

    Reads the file, imports all that it names, makes the agents, and opens and
    closes the store, whose tables are made or migrated as `serve` would do.
    The exit code is 0 when all is well, else 2.

    Examples:
      agui-bridge check bridge.yaml
      agui-bridge check agents:bridge --debug
    """
    bridge = Target.of(target).bridge()
    asyncio.run(_try_store(bridge))
    names = ", ".join(bridge.agents)
    many = f"{len(bridge.agents)} agent{'' if len(bridge.agents) == 1 else 's'}"
    for gap in bridge.channels.gaps:
        click.echo(gap)
    click.echo(f"{' '.join(target)} is fine: {many} ({names}), store {store_label(bridge.store)}.")


async def _try_store(bridge: Bridge) -> None:
    try:
        await bridge.check_store()
    finally:
        for agent in bridge.agents.values():
            await agent.adapter.aclose()
