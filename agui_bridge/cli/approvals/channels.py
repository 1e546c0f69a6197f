"""`agui-bridge channels`: try a channel, and see what was not delivered."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence

import click

from agui_bridge.channels.channel import Channel, Undelivered
from agui_bridge.channels.closing import Closed, close_notices, configured_elsewhere
from agui_bridge.channels.notice import Links, Notice
from agui_bridge.cli.faults import Command, CommandGroup
from agui_bridge.cli.options import nothing_in, shared_flags
from agui_bridge.cli.target import Target, lasting_store, target_or_store
from agui_bridge.engine.engine import mint
from agui_bridge.errors import ConfigurationError
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.threads.records import Interrupt, ThreadKey
from agui_bridge.stores.deliveries import STATES, Delivery, DeliveryState
from agui_bridge.stores.open import open_store
from agui_bridge.text.visible import visible


@click.group(cls=CommandGroup)
def channels() -> None:
    """Try a channel; list or close its notices.

    Examples:
      agui-bridge channels test ops bridge.yaml
      agui-bridge channels deliveries bridge.yaml --state dead
      agui-bridge channels close ops bridge.yaml --actor ann
    """


@channels.command(cls=Command)
@click.argument("name")
@click.argument("target")
def test(name: str, target: str) -> None:
    """Send a test notice to the channel NAME of TARGET, and say whether it arrived.

    TARGET is module:bridge or a configuration file, as for `serve`. Nothing is
    stored; no store is opened.

    Examples:
      agui-bridge channels test ops bridge.yaml
      agui-bridge channels test mail agents:bridge
    """
    bridge = Target.of(target).bridge()
    channel = bridge.channels.get(name)
    if channel is None:
        known = ", ".join(bridge.channels) or "none"
        raise ConfigurationError(f"There is no channel {name!r}. Channels of {target}: {known}.")
    try:
        asyncio.run(_send(channel, bridge.inbox, bridge.channels.scopes[name].first))
    except Undelivered as failure:
        raise ConfigurationError(f"The channel {name} took no notice: {failure}.") from None
    click.echo(f"The channel {name} took the test notice.")


@channels.command(cls=Command)
@target_or_store
@click.option("--scope", default="default", help="Whose questions.")
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, help="How many at most.")
def deliveries(
    target: Sequence[str],
    store: str | None,
    scope: str,
    state: DeliveryState | None,
    limit: int,
) -> None:
    """List the notices to channels, and what became of each, the newest first.

    The store is that of TARGET, which is what `serve` takes, or of --store.

    Examples:
      agui-bridge channels deliveries bridge.yaml --state dead
      agui-bridge channels deliveries --store sqlite:///agents.db
    """
    url = lasting_store(target, store)

    async def read() -> tuple[list[Delivery], list[str]]:
        opened = await open_store(url, migrate=False)
        try:
            store = opened.deliveries
            listed = await store.list_deliveries(scope, state=state, limit=limit)
            return listed, [] if listed else await store.scopes()
        finally:
            await opened.aclose()

    found, others = asyncio.run(read())
    for one in found:
        why = f"  {one.error}" if one.error else ""
        if one.closed_by is not None:
            why += f"  closed by {one.closed_by}"
        click.echo(
            visible(
                f"{one.state:8}{one.channel or '-':12} {one.event:10} tries {one.attempts:<3} "
                f"{one.key.agent}/{one.key.thread}  {one.id}{why}"
            )
        )
    if not found:
        those = f"{state} notices" if state else "notices"
        click.echo(nothing_in(scope, those, others))


@channels.command(cls=Command)
@click.argument("name")
@target_or_store
@click.option("--scope", default="default", help="Whose questions.")
@click.option("--actor", required=True, help="Who closes them, for the record.")
def close(name: str, target: Sequence[str], store: str | None, scope: str, actor: str) -> None:
    """Close what is left of the notices to NAME, a channel that was removed.

    What was not sent will not be, and messages that were sent stay as they are.
    The questions stay, and their history says who closed their notices. A
    channel that TARGET has, or a server that runs, is refused. The store is that
    of TARGET, which is what `serve` takes, or of --store.

    Examples:
      agui-bridge channels close ops bridge.yaml --actor ann
      agui-bridge channels close ops --store sqlite:///agents.db --scope team --actor ann
    """
    url = lasting_store(target, store)
    bridge = Target.of(target, shared_flags(store, None, None)).bridge() if target else None
    names = frozenset(bridge.channels if bridge is not None else ())

    async def work() -> tuple[Closed, list[str]]:
        opened = await open_store(url, migrate=False)
        try:
            if bridge is not None:
                opened.audit.keys = bridge.audit_keys
            if name in names:
                raise ConfigurationError(
                    f"{' '.join(target)} has the channel {name}: only the notices of a channel "
                    "that was removed can be closed. Take it out before."
                )
            if name in await configured_elsewhere(opened):
                raise ConfigurationError(
                    f"A server that runs has the channel {name}: only the notices of a channel "
                    "that was removed can be closed. Restart that server without it before. (One "
                    "that was killed counts for 100 s.)"
                )
            closed = await close_notices(opened, scope, name, actor, "cli", mint)
            return closed, [] if closed.told else await opened.deliveries.scopes()
        finally:
            await opened.aclose()

    closed, others = asyncio.run(work())
    if closed.told:
        click.echo(closed.told)
    else:
        click.echo(nothing_in(scope, f"notices left of the channel {name}", others), err=True)
    if not closed.unsent + closed.sent:
        sys.exit(1)


async def _send(channel: Channel, inbox: Inbox, scope: str) -> None:
    key = ThreadKey(scope, "agui-bridge", "test")
    text = "This is a test. Nothing waits for an answer."
    ask = Interrupt("test", "test", 0, "test", "test", message=text)
    # Each test is a message of its own, and no second try of the last one.
    now = time.time()
    try:
        await channel.send(
            Notice(f"test:{now:.6f}", "test", now, key, ask, Links(inbox, key, "test"))
        )
    finally:
        await channel.aclose()
