"""`agui-bridge check`."""

from __future__ import annotations

import asyncio

import click

from agui_bridge.bridge.bridge import Bridge
from agui_bridge.cli.banner import store_label
from agui_bridge.cli.commands.serve import check_private
from agui_bridge.cli.faults import Command, debug_option
from agui_bridge.cli.options import targets_argument
from agui_bridge.cli.target import Target
from agui_bridge.stores.opening import Preparation

__all__ = ["check"]


@click.command(cls=Command)
@targets_argument
@debug_option
def check(target: tuple[str, ...]) -> None:
    """Say what is wrong with a bridge, without serving it.

    Reads the file, imports all that it names, makes the agents and the pages,
    and looks at the store, in which it changes nothing: it says which schema
    the store has, and what `migrate` or the next `serve` would do. What `serve`
    refuses is refused. The exit code is 0 when all is well, else 2.

    Examples:
      agui-bridge check bridge.yaml
      agui-bridge check agents:bridge --debug
    """
    found = Target.of(target)
    bridge = found.bridge()
    check_private(bridge, found.launch)
    # uvicorn takes a while to import.
    from agui_bridge.http.server import app_of

    app_of(bridge, found.launch.server.host, found.launch.server.anonymous)
    schema = asyncio.run(_look_at_store(bridge))
    names = ", ".join(bridge.agents)
    many = f"{len(bridge.agents)} agent{'' if len(bridge.agents) == 1 else 's'}"
    for gap in bridge.channels.gaps:
        click.echo(gap)
    click.echo(f"{' '.join(target)} is fine: {many} ({names}), store {store_label(bridge.store)}.")
    if schema is not None:
        click.echo(_told(schema))


async def _look_at_store(bridge: Bridge) -> Preparation | None:
    try:
        return await bridge.inspect_store()
    finally:
        for agent in bridge.agents.values():
            await agent.adapter.aclose()


def _told(schema: Preparation) -> str:
    if schema.before == schema.after:
        return f"The store has schema {schema.after}, which is that of this version."
    if schema.before is None:
        return f"There is no store yet: `migrate` or `serve` makes it, with schema {schema.after}."
    return (
        f"The store has schema {schema.before}: `migrate` or the next `serve` brings it to "
        f"{schema.after}, and there is no way back. Make a backup before."
    )
