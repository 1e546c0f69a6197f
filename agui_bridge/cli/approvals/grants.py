"""`agui-bridge grants`: remembered decisions, listed and revoked."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime

import click

from agui_bridge.cli.faults import Command, CommandGroup
from agui_bridge.cli.options import store_to_open
from agui_bridge.protocol.grants.grant import Grant
from agui_bridge.stores.open import open_store

__all__ = ["grants"]


@click.group(cls=CommandGroup)
def grants() -> None:
    """List or revoke decisions that are remembered, so that nobody is asked.

    Examples:
      agui-bridge grants list --store sqlite:///agents.db --scope team
      agui-bridge grants revoke ID --store sqlite:///agents.db --actor ann
    """


@grants.command("list", cls=Command)
@store_to_open
@click.option("--scope", default="default", help="Whose.")
def list_(store: str, scope: str) -> None:
    """List a scope's remembered decisions, newest first, ended ones too.

    Example:
      agui-bridge grants list --store sqlite:///agents.db --scope team
    """

    async def run() -> tuple[list[Grant], float]:
        opened = await open_store(store, migrate=False)
        try:
            return await opened.grants.list(scope), await opened.ping()
        finally:
            await opened.aclose()

    found, now = asyncio.run(run())
    for grant in found:
        click.echo(_line(grant, now))
    if not found:
        click.echo(f"Nothing is remembered in the scope {scope}.")


@grants.command(cls=Command)
@click.argument("id")
@store_to_open
@click.option("--scope", default="default", help="Whose.")
@click.option("--actor", required=True, help="Who revokes it, for the record.")
def revoke(id: str, store: str, scope: str, actor: str) -> None:
    """End a remembered decision: people are asked again.

    Example:
      agui-bridge grants revoke ID --store sqlite:///agents.db --scope team --actor ann
    """

    async def run() -> bool:
        opened = await open_store(store, migrate=False)
        try:
            return await opened.grants.revoke(scope, id, actor)
        finally:
            await opened.aclose()

    if not asyncio.run(run()):
        click.echo(
            f"There is no decision {id} in the scope {scope} that could be revoked.", err=True
        )
        sys.exit(1)
    click.echo(f"The decision {id} is revoked: people are asked again.")


def _line(grant: Grant, now: float) -> str:
    holder = f"{grant.holder} {grant.held_by}".strip()
    most = "" if grant.max_uses is None else f" of {grant.max_uses}"
    if grant.revoked_at is not None:
        state = f"revoked by {grant.revoked_by}"
    elif grant.stands(now):
        state = f"until {datetime.fromtimestamp(grant.expires_at, UTC):%Y-%m-%d %H:%M} UTC"
    else:
        state = "over"
    return (
        f"{grant.id}  {grant.agent}: {grant.tool}, for {holder}, by {grant.granted_by}, "
        f"used {grant.uses}{most}, {state}"
    )
