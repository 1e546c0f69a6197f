"""An office whose agent asks two questions at once, and what is done on their answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agui_bridge import Bridge, FunctionRun, Principal, Settings
from agui_bridge.engine.input.submission import Submission
from agui_bridge.inbox.reference import Reference
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store

ANN = Principal("team", "ann")
BOB = Principal("team", "bob")
YES = {"approved": True}
NO = {"approved": False, "reason": "not today"}


class Office:
    """Ann asks for a payment and a letter.

    Attributes:
        bridge: with the agent `office`.
        done: the tools that were executed.
        may_go_on: what tools wait for; None: for nothing.
        waits: the only tool that waits; None: each.
    """

    def __init__(
        self,
        store: str | Store = "memory:",
        inbox: Inbox | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.bridge = Bridge(store, inbox=inbox, settings=settings)
        self.done: list[str] = []
        self.may_go_on: asyncio.Event | None = None
        self.waits: str | None = None
        self.bridge.agent("office")(self._agent)

    async def _agent(self, run: FunctionRun) -> AsyncIterator[str]:
        approvals = await asyncio.gather(
            run.approve("pay", {"name": "pay"}), run.approve("post", {"name": "post"})
        )
        for approval in approvals:
            if approval:
                await run.tool(approval, self._do)
        yield "Done."

    async def _do(self, name: str) -> None:
        if self.may_go_on is not None and self.waits in (None, name):
            await self.may_go_on.wait()
        self.done.append(name)

    async def ask(self, thread: str = "t", principal: Principal = ANN) -> list[Reference]:
        """Have somebody begin; gives references to the payment and the letter."""
        said = [{"id": "u", "role": "user", "content": "Pay, and write to them."}]
        body = {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": said}
        engine = await self.bridge.open()
        agent = self.bridge.agents["office"]
        pipe, _ = engine.submit(Submission(agent, principal, parse_input(body)))
        while await pipe.read():
            pass
        key = ThreadKey(principal.scope, "office", thread)
        loaded = await engine.store.load(key)
        return [Reference(key, ask.id) for ask in loaded.waiting]

    async def said(self, reference: Reference) -> list[Any]:
        """The conversation, as texts."""
        engine = await self.bridge.open()
        loaded = await engine.store.load(reference.key, messages=True)
        return [message.message.get("content") for message in loaded.messages]
