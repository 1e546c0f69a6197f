"""`agui-bridge prune`."""

from __future__ import annotations

import asyncio
import re
from typing import Final

import click

from agui_bridge.cli.banner import store_label
from agui_bridge.cli.faults import Command
from agui_bridge.cli.options import store_to_open
from agui_bridge.stores.base import Store
from agui_bridge.stores.open import open_store

__all__ = ["prune"]

_AGE: Final = re.compile(r"([0-9]{1,9})(m|h|d|w)")
_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AT_ONCE: Final = 1000
"""So that no transaction is long, and servers get their turn in between."""


def _age(text: str) -> float:
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter("write a number and a unit: 90m, 12h, 30d or 8w.")
    return float(int(found[1]) * _SECONDS[found[2]])


@click.command(cls=Command)
@store_to_open
@click.option(
    "--older-than",
    required=True,
    callback=lambda _, __, text: _age(text),
    metavar="AGE",
    help="How long nobody has touched them: 90m, 12h, 30d, 8w.",
)
@click.option("--dry-run", is_flag=True, help="Only say how many would be deleted.")
def prune(store: str, older_than: float, dry_run: bool) -> None:
    """Delete threads that nobody has touched for long, with all their history.

    Threads that run or wait for an answer stay, however old they are. Servers
    may run meanwhile. The store must be up to date; nothing is migrated.

    Examples:
      agui-bridge prune --store sqlite:///agents.db --older-than 30d --dry-run
      agui-bridge prune --store sqlite:///agents.db --older-than 30d
    """

    async def run() -> int:
        opened = await open_store(store, migrate=False)
        try:
            return await _delete(opened, older_than, dry_run=dry_run)
        finally:
            await opened.aclose()

    count = asyncio.run(run())
    many = f"{count} thread{'' if count == 1 else 's'}"
    done = "would be deleted from" if dry_run else "deleted from"
    click.echo(f"{many} {done} the store {store_label(store)}.")


async def _delete(store: Store, older_than: float, *, dry_run: bool) -> int:
    if dry_run:
        return await store.prune(older_than, 2**31 - 1, dry_run=True)
    count = 0
    while deleted := await store.prune(older_than, _AT_ONCE):
        count += deleted
    return count
