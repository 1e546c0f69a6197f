"""`agui-bridge grants`: remembered decisions, listed and revoked."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from agui_bridge.cli.faults import Command, CommandGroup
from agui_bridge.cli.options import nothing_in
from agui_bridge.cli.target import lasting_store, target_or_store
from agui_bridge.protocol.grants import Grant
from agui_bridge.stores.open import open_store
from agui_bridge.text.shown import shown_json, shown_line, shown_name
from agui_bridge.text.visible import visible

_scope = click.option("--scope", default="default", help="Whose decisions.")


@click.group(cls=CommandGroup)
def grants() -> None:
    """List or revoke remembered decisions, for which nobody is asked again.

    Examples:
      agui-bridge grants list bridge.yaml --scope team
      agui-bridge grants revoke ID bridge.yaml --scope team --actor ann
    """


@grants.command("list", cls=Command)
@target_or_store
@_scope
def list_(target: Sequence[str], store: str | None, scope: str) -> None:
    """List a scope's remembered decisions, newest first, ended ones too.

    The store is that of TARGET, which is what `serve` takes, or of --store.

    Examples:
      agui-bridge grants list bridge.yaml --scope team
      agui-bridge grants list --store sqlite:///agents.db
    """
    url = lasting_store(target, store)

    async def run() -> tuple[list[Grant], float, list[str]]:
        opened = await open_store(url, migrate=False)
        try:
            listed = await opened.grants.list(scope)
            others = [] if listed else await opened.grants.scopes()
            return listed, await opened.ping(), others
        finally:
            await opened.aclose()

    found, now, others = asyncio.run(run())
    for grant in found:
        click.echo(_line(grant, now))
    if not found:
        click.echo(nothing_in(scope, "remembered decisions", others))


@grants.command(cls=Command)
@click.argument("id")
@target_or_store
@_scope
@click.option("--actor", required=True, help="Who revokes it, for the record.")
def revoke(id: str, target: Sequence[str], store: str | None, scope: str, actor: str) -> None:
    """End a remembered decision: people are asked again.

    ID is the first word of its line in `grants list`. The store is that of
    TARGET, which is what `serve` takes, or of --store.

    Examples:
      agui-bridge grants revoke ID bridge.yaml --scope team --actor ann
      agui-bridge grants revoke ID --store sqlite:///agents.db --actor ann
    """
    url = lasting_store(target, store)

    async def run() -> bool:
        opened = await open_store(url, migrate=False)
        try:
            return await opened.grants.revoke(scope, id, actor)
        finally:
            await opened.aclose()

    if not asyncio.run(run()):
        click.echo(
            f"The scope {scope} has no decision {id} that could be revoked. `grants list` shows "
            "what it has.",
            err=True,
        )
        sys.exit(1)
    click.echo(f"The decision {id} is revoked: people are asked again.")


def _line(grant: Grant, now: float) -> str:
    holder = shown_line(f"{grant.holder} {grant.held_by}")
    most = "" if grant.max_uses is None else f" of {grant.max_uses}"
    if grant.revoked_at is not None:
        state = f"revoked by {shown_line(grant.revoked_by or '')}"
    elif grant.stands(now):
        state = f"until {datetime.fromtimestamp(grant.expires_at, UTC):%Y-%m-%d %H:%M} UTC"
    else:
        state = "over"
    return (
        f"{grant.id}  {shown_line(grant.agent)}: {shown_name(grant.tool)}, for {holder}, "
        f"by {shown_line(grant.granted_by)}, used {grant.uses}{most}, {state}; "
        f"approved with {shown_json(dict(grant.args))}; not asked with {visible(grant.covers)}"
    )
