"""`agui-bridge prune`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import click

from agui_bridge.cli.banner import store_label
from agui_bridge.cli.faults import Command
from agui_bridge.cli.options import age_option
from agui_bridge.cli.target import store_given, target_or_store
from agui_bridge.stores.base import GrantStore, Store
from agui_bridge.stores.open import open_store
from agui_bridge.terminal import Progress

_AT_ONCE: Final = 1000
"""So that no transaction is long, and servers get their turn in between."""


@click.command(cls=Command)
@target_or_store
@age_option("How long nobody has touched them: 90m, 12h, 30d, 8w.")
@click.option("--dry-run", is_flag=True, help="Only say how many would be deleted.")
def prune(target: Sequence[str], store: str | None, older_than: float, dry_run: bool) -> None:
    """Delete threads that nobody has touched for long, with all their history.

    The store is that of TARGET, which is what `serve` takes, or of --store.
    Threads that run or wait for an answer stay, however old they are.
    Remembered decisions that are over for as long are deleted too. Servers
    may run meanwhile. The store must be up to date; nothing is migrated.

    Examples:
      agui-bridge prune bridge.yaml --older-than 30d --dry-run
      agui-bridge prune bridge.yaml --older-than 30d
      agui-bridge prune --store sqlite:///agents.db --older-than 30d
    """
    url = store_given(target, store)
    if url == "memory:":
        click.echo("The store memory: is empty in every new process: there is nothing to delete.")
        return

    async def run(progress: Progress) -> tuple[int, int]:
        opened = await open_store(url, migrate=False)

        def told(count: int) -> None:
            progress.tell(f"{_counted(count, 'thread')} deleted so far …")

        try:
            threads = await _delete(opened, older_than, told, dry_run=dry_run)
            decisions = await _delete(opened.grants, older_than, lambda _: None, dry_run=dry_run)
            return threads, decisions
        finally:
            await opened.aclose()

    with Progress() as progress:
        threads, decisions = asyncio.run(run(progress))
    many = f"{_counted(threads, 'thread')} and {_counted(decisions, 'remembered decision')}"
    done = "would be deleted from" if dry_run else "deleted from"
    click.echo(f"{many} {done} the store {store_label(url)}.")


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


async def _delete(
    store: Store | GrantStore, older_than: float, told: Callable[[int], None], *, dry_run: bool
) -> int:
    if dry_run:
        return await store.prune(older_than, 2**31 - 1, dry_run=True)
    count = 0
    while deleted := await store.prune(older_than, _AT_ONCE):
        count += deleted
        told(count)
    return count
