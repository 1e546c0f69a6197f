"""Threads as resources: the conversation of each, as JSON.

Source: Model Context Protocol 2026-07-28, "Resources".
"""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from agui_bridge.engine.reconnecting import messages_so_far
from agui_bridge.mcp_server.service import Caller, McpService
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import ThreadKey

_SCHEME: Final = "agui-bridge"
_ADDRESS: Final = re.compile(rf"{_SCHEME}://agents/([^/]+)/threads/([^/]+)")
_MIME: Final = "application/json"
_LISTED: Final = 50
"""Threads of an agent that are listed, last touched first."""

TEMPLATE: Final = f"{_SCHEME}://agents/{{agent}}/threads/{{thread}}"


def address_of(key: ThreadKey) -> str:
    """The address of a thread's conversation."""
    return f"{_SCHEME}://agents/{quote(key.agent, safe='')}/threads/{quote(key.thread, safe='')}"


def templates() -> list[types.ResourceTemplate]:
    """How the addresses are made."""
    return [
        types.ResourceTemplate(
            name="conversation",
            uri_template=TEMPLATE,
            description="A conversation with an agent: its messages, and whether it waits.",
            mime_type=_MIME,
        )
    ]


async def list_conversations(service: McpService, caller: Caller) -> list[types.Resource]:
    """The conversations that a caller sees, of each agent those last touched.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    engine = await service.open()
    found = []
    for agent in sorted(service.agents):
        rows = await engine.store.list_threads(caller.principal.scope, agent, limit=_LISTED)
        found += [
            types.Resource(
                uri=address_of(row.record.key),
                name=f"{agent}: {row.record.key.thread}",
                description=f"{row.messages} messages, {row.open_interrupts} open questions.",
                mime_type=_MIME,
            )
            for row in rows
        ]
    return found


async def read_conversation(
    service: McpService, caller: Caller, address: str
) -> types.ReadResourceResult:
    """A conversation: `{agent, threadId, status, messages}`.

    Raises:
        MCPError: there is none of this address, or it is another scope's.
        StoreUnavailable: the store did not answer.
    """
    named = _ADDRESS.fullmatch(address)
    if named is None:
        raise _not_found(address)
    agent, thread = map(unquote, named.groups())
    if agent not in service.agents or find_forbidden(thread) is not None:
        raise _not_found(address)
    key, engine = ThreadKey(caller.principal.scope, agent, thread), await service.open()
    words = await engine.store.words(key)
    async with engine.threads.whole(key) as loaded:
        if loaded.record is None:
            raise _not_found(address)
        value = {
            "agent": agent,
            "threadId": thread,
            "status": loaded.status.value,
            "messages": messages_so_far(loaded, words),
        }
        text = json.dumps(value, indent=1)
    contents = types.TextResourceContents(uri=address, mime_type=_MIME, text=text)
    return types.ReadResourceResult(contents=[contents])


def _not_found(address: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, "There is no such conversation.", {"uri": address[:500]})
