"""Bridges whose agent asks, with channels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agui_bridge import Bridge
from agui_bridge.channels.channel import Channel
from agui_bridge.channels.notice import Event, Links, Notice
from agui_bridge.engine.input.settings import Settings
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.threads.records import Interrupt, ThreadKey, ToolCall
from agui_bridge.stores.base import InterruptRow, Store

KEY = ThreadKey("default", "ops", "t")
INBOX = Inbox(url="https://agents.example", keys=["k" * 32])
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def bridge_with(
    channels: Mapping[str, Channel], *, store: str | Store = "memory:", **options: Any
) -> tuple[Bridge, list[str]]:
    """A bridge whose agent `ops` asks before it deletes; and what it has deleted."""
    done: list[str] = []
    given = {"settings": Settings(sweep_interval=0.05), "inbox": INBOX, **options}
    bridge = Bridge(store, channels=channels, **given)

    async def delete_rows(table: str) -> str:
        done.append(table)
        return "deleted"

    @bridge.agent("ops")
    async def ops(run: Any) -> Any:
        answer = await run.approve("delete_rows", {"table": "users"}, message="Delete <b>&?")
        if answer.approved:
            await run.tool(answer, delete_rows)
        yield "done"

    return bridge, done


async def the_question(bridge: Bridge) -> InterruptRow:
    """The one question there is."""
    engine = await bridge.open()
    (row,) = await engine.store.list_interrupts("default")
    return row


def notice(event: Event = "opened", *, key: ThreadKey = KEY, **fields: Any) -> Notice:
    """A notice of a tool approval."""
    defaults: dict[str, Any] = {
        "tool_call": ToolCall("c", "delete_rows", {"table": "users"}),
        "message": "Delete <b>&?",
        "allowed": ("approve", "decline", "edit"),
    }
    given = {**defaults, **fields}
    reason = "input_required" if given["tool_call"] is None else "tool_call"
    ask = Interrupt("i1", "b", 0, "n", reason, **given)
    return Notice("i1:ops:opened", event, 1_700_000_000.0, key, ask, Links(INBOX, key, "i1"))
