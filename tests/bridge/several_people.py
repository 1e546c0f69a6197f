"""Some people, and an agent that has them approve what it deletes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from agui_bridge import ApprovalRule, Bridge, FunctionRun, Principal, ProposedCall
from agui_bridge.approvals import Approvals, Question
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import V1, Dialect, parse_input
from agui_bridge.protocol.threads.records import Interrupt
from agui_bridge.stores.memory import MemoryStore
from tests.support.clock import FakeClock

__all__ = ["Office", "always", "shown"]

ROLES: Mapping[str, frozenset[str]] = {"bob": frozenset({"dba"}), "cy": frozenset({"dba", "law"})}
YES = {"approved": True}


class Office:
    """Some people, an agent that asks for two deletions, and what was done.

    Attributes:
        asked: the questions that the rules were asked for.
        done: what was deleted.
        told: what the policy was told of each deletion.
        clock: the store's, unless a bridge is given.
    """

    def __init__(
        self,
        approvals: Approvals | None = None,
        agent: Callable[[FunctionRun], Any] | None = None,
        bridge: Bridge | None = None,
        **asking: Any,
    ) -> None:
        self.asked: list[Question] = []
        self.done: list[str] = []
        self.told: list[tuple[str | None, tuple[str, ...]]] = []
        self.asking = asking
        self.clock = FakeClock()
        self.bridge = bridge or Bridge(MemoryStore(self.clock.time))
        self.bridge.policy(self._judge)
        if approvals is not None:
            self.bridge.approvals(approvals)
        self.bridge.agent("office", auto_resume="on")(agent or self._delete)

    def _judge(self, call: ProposedCall) -> str:
        if call.approved:
            self.told.append((call.approved_by, call.approvers))
        return "allow"

    async def _delete(self, run: FunctionRun) -> AsyncIterator[str]:
        names = run.text.split()
        for approval in await asyncio.gather(
            *(
                run.approve(f"delete_{n}", {"n": n}, parameters={"type": "object"}, **self.asking)
                for n in names
            )
        ):
            if approval:
                await run.tool(approval, lambda n: self.done.append(n))
        yield "Done."

    async def send(
        self, actor: str, dialect: Dialect = V1, scope: str = "team", **members: Any
    ) -> dict[str, Any]:
        """Carry an input of somebody's out; gives its last event."""
        body = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [], **members}
        who = Principal(scope, actor, ROLES.get(actor, frozenset()))
        call = Submission(
            self.bridge.agents["office"], who, replace(parse_input(body), dialect=dialect)
        )
        pipe, stream = (await self.bridge.open()).submit(call)
        while await pipe.read():
            pass
        assert stream.terminal is not None
        return stream.terminal

    async def say(self, actor: str, text: str) -> dict[str, Any]:
        message = {"id": text, "role": "user", "content": text}
        return await self.send(actor, messages=[message])

    async def answer(
        self, actor: str, asks: list[str], payload: Any = YES, **more: Any
    ) -> dict[str, Any]:
        """Answer questions, or cancel them with None; gives the last event."""
        entries = [
            {"interruptId": ask, "status": "cancelled"}
            if payload is None
            else {"interruptId": ask, "status": "resolved", "payload": payload}
            for ask in asks
        ]
        return await self.send(actor, resume=entries, **more)

    async def rows(self) -> list[Interrupt]:
        engine = await self.bridge.open()
        rows = await engine.store.list_interrupts("team", limit=10)
        return sorted((row.interrupt for row in rows), key=lambda ask: ask.position)

    async def ids(self) -> list[str]:
        return [ask.id for ask in await self.rows()]


def shown(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What an outcome says of each question's rule."""
    asked = event["outcome"]["interrupts"]
    return [each["metadata"]["agui_bridge"]["approval"] for each in asked]


def always(rule: ApprovalRule | None) -> Approvals:
    return lambda question: rule
