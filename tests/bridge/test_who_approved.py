"""A policy is told who approved a call, also when a pause is answered by several people."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from agui_bridge import Bridge, CallDenied, FunctionRun, Principal, ProposedCall
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import CHAT, V1, Dialect, parse_input
from agui_bridge.stores.memory import MemoryStore
from tests.support.clock import FakeClock


class Office:
    """Ann asks for a payment and a letter; nobody may approve what they asked for themselves.

    Attributes:
        clock: the store's.
        done: the tools that were executed.
        told: whom the policy was told of, by tool.
        asks: ids of the questions, the payment's first.
    """

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.done: list[str] = []
        self.told: dict[str, str | None] = {}
        self.asks: list[str] = []
        self._bridge = Bridge(MemoryStore(self.clock.time))
        self._bridge.policy(self._judge)
        self._bridge.agent("office")(self._agent)

    def _judge(self, call: ProposedCall) -> str:
        self.told[call.name] = call.approved_by
        return "deny" if call.approved_by == call.principal.actor else "allow"

    async def _agent(self, run: FunctionRun) -> AsyncIterator[str]:
        approvals = await asyncio.gather(
            run.approve("pay", {"name": "pay"}),
            run.approve("post", {"name": "post"}, expires_in=60),
        )
        for approval in approvals:
            if approval:
                try:
                    await run.tool(approval, lambda name: self.done.append(name))
                except CallDenied:
                    yield f"{approval.name} was denied. "

    async def send(self, actor: str, dialect: Dialect = CHAT, **members: Any) -> None:
        """Carry an input of somebody's out, to its end."""
        body = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [], **members}
        call = Submission(
            self._bridge.agents["office"],
            Principal("team", actor),
            replace(parse_input(body), dialect=dialect),
        )
        pipe, stream = (await self._bridge.open()).submit(call)
        while await pipe.read():
            pass
        assert stream.terminal is not None
        asked = (stream.terminal.get("outcome") or {}).get("interrupts", ())
        self.asks = self.asks or [each["id"] for each in asked]

    async def ask(self) -> None:
        """Have Ann begin."""
        await self.send("ann", messages=[{"id": "u", "role": "user", "content": "Pay."}])

    def yes(self, *positions: int) -> list[dict[str, Any]]:
        """Resume entries that approve some of the questions."""
        return [
            {"interruptId": self.asks[i], "status": "resolved", "payload": {"approved": True}}
            for i in positions
        ]


async def test_who_gives_the_last_answer_has_not_approved_what_others_did() -> None:
    office = Office()
    await office.ask()
    await office.send("ann", resume=office.yes(0))
    await office.send("bob", resume=office.yes(1))
    assert office.told == {"pay": "ann", "post": "bob"}
    assert office.done == ["post"]


async def test_who_names_a_held_answer_again_approves_it_too() -> None:
    office = Office()
    await office.ask()
    await office.send("ann", resume=office.yes(0))
    await office.send("bob", V1, resume=office.yes(0, 1))
    assert office.told == {"pay": "bob", "post": "bob"}
    assert office.done == ["pay", "post"]


async def test_who_writes_a_message_when_the_rest_has_expired_has_approved_nothing() -> None:
    office = Office()
    await office.ask()
    await office.send("ann", resume=office.yes(0))
    office.clock.advance(61)
    await office.send("bob", messages=[{"id": "u2", "role": "user", "content": "And?"}])
    assert office.told == {"pay": "ann"}
    assert office.done == []
