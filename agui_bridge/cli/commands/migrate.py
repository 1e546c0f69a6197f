"""`agui-bridge migrate`."""

from __future__ import annotations

import asyncio

import click

from agui_bridge.cli.banner import store_label
from agui_bridge.cli.faults import Command
from agui_bridge.cli.options import store_to_open
from agui_bridge.stores.open import open_store

__all__ = ["migrate"]


@click.command(cls=Command)
@store_to_open
def migrate(store: str) -> None:
    """Make a store's tables, or bring them up to this version.

    A server does it by itself when it starts. Run this before, when the servers
    may not change tables, or to know that it works.

    Example:
      agui-bridge migrate --store sqlite:///agents.db
    """

    async def run() -> None:
        await (await open_store(store)).aclose()

    asyncio.run(run())
    click.echo(f"The store {store_label(store)} is up to date.")
