"""`agui-bridge migrate`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from agui_bridge.cli.banner import store_label
from agui_bridge.cli.faults import Command
from agui_bridge.cli.target import store_given, target_or_store
from agui_bridge.stores.open import open_store
from agui_bridge.stores.opening import Preparation, noting_preparation
from agui_bridge.terminal import Progress


@click.command(cls=Command)
@target_or_store
def migrate(target: Sequence[str], store: str | None) -> None:
    """Make a store's tables, or bring them up to this version.

    The store is that of TARGET, which is what `serve` takes, or of --store. A
    server does it by itself when it starts. Run this before, when the servers
    may not change tables, or to know that it works.

    Examples:
      agui-bridge migrate bridge.yaml
      agui-bridge migrate --store sqlite:///agents.db
    """
    url = store_given(target, store)

    async def run() -> list[Preparation]:
        with noting_preparation() as noted:
            await (await open_store(url)).aclose()
            return noted

    with Progress() as progress:
        progress.tell(f"Opening the store {store_label(url)}, and migrating it if it is older …")
        found = asyncio.run(run())
    for each in found:
        click.echo(f"The store {store_label(url)} {_done(each)}: it is up to date.")
    if not found:
        click.echo(f"The store {store_label(url)} has no tables: there is nothing to migrate.")


def _done(found: Preparation) -> str:
    if found.before is None:
        return f"was made, with schema {found.after}"
    if found.before == found.after:
        return f"has schema {found.after} already"
    return f"went from schema {found.before} to {found.after}"
