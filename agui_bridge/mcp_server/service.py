"""The bridge as its MCP server sees it, and who makes a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Agent
from agui_bridge.inbox.reference import Reference, References
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.threads.records import Principal, ThreadKey


class McpService(Protocol):
    """The bridge as its MCP server sees it."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by name."""
        ...

    @property
    def settings(self) -> Settings:
        """The defaults of every agent."""
        ...

    @property
    def references(self) -> References:
        """Reads and writes references to questions."""
        ...

    @property
    def inbox(self) -> Inbox:
        """How people reach their questions."""
        ...

    async def open(self) -> Engine:
        """The engine; the first call opens the store."""
        ...


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call, and what its client can show people.

    Attributes:
        principal: whose threads it sees.
        address: where people reach the inbox, such as `https://agents.example`; None: nowhere.
        forms: whether the client shows forms in a call's middle.
        urls: whether it sends people to an address there.
    """

    principal: Principal
    address: str | None
    forms: bool = False
    urls: bool = False

    def page_of(self, references: References, key: ThreadKey, interrupt: str) -> str | None:
        """The inbox's page of a question; None where there is no inbox.

        It stands for nobody: who opens it signs in there.
        """
        if self.address is None:
            return None
        reference = references.write(Reference(key, interrupt))
        return f"{self.address.rstrip('/')}/inbox/{quote(reference)}"
