"""A conversation with a workflow, seen from both sides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    StartWorkflowUpdateInput,
    WorkflowHandle,
    WorkflowUpdateHandle,
)

from agui_bridge import Bridge, Principal, Settings
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge_temporal.told import workflow_of
from tests.adapters.temporal.bench import Bench
from tests.docs.pages import Conversation


class Talk(Conversation):
    """A conversation, and the workflow that it is with."""

    def __init__(self, bridge: Bridge, bench: Bench, thread: str) -> None:
        super().__init__(bridge, "agent", thread)
        self.address = bench.server.address

    async def workflow(self) -> WorkflowHandle[Any, Any]:
        """The workflow, as Temporal has it."""
        client = await Client.connect(self.address)
        return client.get_workflow_handle(workflow_of(Principal().scope, "agent", self.thread))

    async def send(self, **members: Any) -> str:
        """Send an input as it stands."""
        return await self._send(**members)

    async def asked(self) -> list[str]:
        """The ids of what is asked, whoever's run asked it."""
        engine = await self._bridge.open()
        key = ThreadKey(Principal().scope, "agent", self.thread)
        return [ask.id for ask in (await engine.store.load(key)).waiting]

    async def shown(self) -> str:
        """The conversation, as its clients have it."""
        engine = await self._bridge.open()
        key = ThreadKey(Principal().scope, "agent", self.thread)
        loaded = await engine.store.load(key, messages=True)
        return str([stored.message for stored in loaded.messages])

    async def decide(self, payload: Any) -> str:
        """Answer the one that is asked."""
        (id,) = await self.asked()
        entry = {"interruptId": id, "status": "resolved", "payload": payload}
        return await self._send(resume=[entry])

    async def status(self) -> str:
        found = (await (await self.workflow()).describe()).status
        return "" if found is None else found.name

    async def told(self) -> Any:
        """What its query gives."""
        return await (await self.workflow()).query("agui_bridge_told", 0)

    @property
    def failure(self) -> tuple[Any, Any]:
        """How the last run failed."""
        last = self.events[-1]
        return last.get("code"), last.get("message")


@asynccontextmanager
async def talking(
    bench: Bench, thread: str, *, sweep: float = 0.1, **options: Any
) -> AsyncIterator[Talk]:
    """A conversation with a workflow, on a bridge of its own."""
    bridge = Bridge("memory:", settings=Settings(sweep_interval=sweep), telemetry=False)
    bridge.add("agent", bench.adapter(**options))
    try:
        yield Talk(bridge, bench, thread)
    finally:
        await bridge.aclose()


class Before(Interceptor):
    """Does something right before an update is sent, once it was asked what it waits for."""

    def __init__(self) -> None:
        self.happens: Callable[[], Awaitable[Any]] | None = None

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        before = self

        class Outbound(OutboundInterceptor):
            async def start_workflow_update(
                self, input: StartWorkflowUpdateInput
            ) -> WorkflowUpdateHandle[Any]:
                if (happens := before.happens) is not None:
                    before.happens = None
                    await happens()
                return await super().start_workflow_update(input)

        return Outbound(next)
