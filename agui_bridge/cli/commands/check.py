"""`agui-bridge check`."""

from __future__ import annotations

import asyncio
from collections import Counter

import click

from agui_bridge.bridge.bridge import Bridge
from agui_bridge.cli.banner import store_label
from agui_bridge.cli.commands.serve import check_private
from agui_bridge.cli.faults import Command, debug_option
from agui_bridge.cli.options import targets_argument
from agui_bridge.cli.target import Target
from agui_bridge.engine.presence import living, older_beside
from agui_bridge.stores.open import open_store
from agui_bridge.stores.opening import Preparation
from agui_bridge.stores.servers import Servers


@click.command(cls=Command)
@targets_argument
@debug_option
def check(target: tuple[str, ...]) -> None:
    """Say what is wrong with a bridge, without serving it.

    Reads the file, imports all that it names, makes the agents and the pages,
    and looks at the store, in which it changes nothing: it says which schema
    the store has, what `migrate` or the next `serve` would do, and which servers
    run on it. What `serve` refuses is refused. The exit code is 0 when all is
    well, else 2.

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
    if schema is not None and schema.before == schema.after and isinstance(bridge.store, str):
        for line in _servers(asyncio.run(_look_at_servers(bridge.store))):
            click.echo(line)


async def _look_at_store(bridge: Bridge) -> Preparation | None:
    try:
        return await bridge.inspect_store()
    finally:
        for agent in bridge.agents.values():
            await agent.adapter.aclose()


async def _look_at_servers(url: str) -> Servers:
    store = await open_store(url, migrate=False)
    try:
        return await store.servers.look()
    finally:
        await store.aclose()


def _servers(found: Servers) -> list[str]:
    """Which servers run on the store, and what is to be told of older ones."""
    versions = Counter(one.version for one in living(found))
    counted = ", ".join(f"{many} of version {name}" for name, many in sorted(versions.items()))
    told = [f"Servers that run: {counted}."] if versions else []
    return [*told, *older_beside(found)]


def _told(schema: Preparation) -> str:
    if schema.before == schema.after:
        return f"The store has schema {schema.after}, which is that of this version."
    if schema.before is None:
        return f"There is no store yet: `migrate` or `serve` makes it, with schema {schema.after}."
    return (
        f"The store has schema {schema.before}: `migrate` or the next `serve` brings it to "
        f"{schema.after}, and there is no way back. Make a backup before."
    )
