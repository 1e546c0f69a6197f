"""The bridge, as its HTTP surfaces see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from starlette.requests import Request

from agui_bridge.channels.channel import ScopedChannels
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.fairness import HeavyTurns, ScopeQueue
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Agent
from agui_bridge.engine.telemetry import Telemetry
from agui_bridge.inbox.reference import References
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.threads.records import Principal

Authenticate = Callable[[Request], Principal | Awaitable[Principal]]
"""Says who asks, or raises Refused("UNAUTHENTICATED", …) or Refused("FORBIDDEN", …)."""


class Service(Protocol):
    """The bridge, as its HTTP surfaces see it."""

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by name."""
        ...

    @property
    def settings(self) -> Settings:
        """The defaults of every agent."""
        ...

    @property
    def authenticate(self) -> Authenticate | None:
        """The hook that identifies the caller; None lets everybody in as the same principal."""
        ...

    @property
    def telemetry(self) -> Telemetry:
        """Who is told of requests."""
        ...

    @property
    def turns(self) -> HeavyTurns:
        """Gives heavy work its turns."""
        ...

    @property
    def bodies(self) -> ScopeQueue:
        """Counts the bytes of bodies, from before they are read until their answer begins."""
        ...

    @property
    def heavy_inputs(self) -> ScopeQueue:
        """Counts the heavy inputs, from before they are parsed until their answer begins."""
        ...

    @property
    def references(self) -> References:
        """Reads and writes references to questions."""
        ...

    @property
    def inbox(self) -> Inbox:
        """How people reach their questions."""
        ...

    @property
    def inbox_page(self) -> bool:
        """Whether there is a page with the questions that wait."""
        ...

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The hosts that requests may name."""
        ...

    @property
    def channels(self) -> ScopedChannels:
        """Where people are told of questions, by name, and of whose."""
        ...

    @property
    def copilotkit(self) -> str | None:
        """Where CopilotKit's routes stand; None if there are none."""
        ...

    @property
    def first_page(self) -> bool | None:
        """Whether `/` is a page that tells what is here; None: where nobody authenticates."""
        ...

    @property
    def playground(self) -> bool:
        """Whether there is a page to try the agents on."""
        ...

    @property
    def mcp(self) -> bool:
        """Whether the agents are tools of MCP clients."""
        ...

    @property
    def a2a(self) -> bool:
        """Whether the agents are reached over A2A."""
        ...

    async def older_servers(self) -> tuple[str, ...]:
        """What is to be told of older versions that work on the store, in sentences."""
        ...

    async def open(self) -> Engine:
        """The engine; the first call opens the store and starts the sweeper."""
        ...
