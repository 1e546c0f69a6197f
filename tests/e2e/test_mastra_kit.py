"""The kit of an adapter's author on agents, supervisors and networks of a real Mastra server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_mastra import MastraAdapter
from agui_bridge_mastra.requests import Kind
from tests.e2e.mastra import fresh, ran
from tests.support.mastra import MastraProcess

pytestmark = pytest.mark.timeout(180)

NOBODY = "http://127.0.0.1:9"
UNDECLARED = (
    *("edit", "policy", "respond"),
    *("beside", "twice", "stages", "nested", "acting", "free", "amid", "later", "heard"),
)
NO_STOPS = (*UNDECLARED, "text-kept", "cancelled", "stop-by-itself", "after-stop")
"""Of the agents that have no slow answer: the supervisor has."""
ONE_BY_ONE = ("parallel",)
"""Mastra asks about the second of two calls once the first one is decided."""
NO_QUESTIONS = ("answer", "cancel-question")
NO_PAUSES = (
    *("pause-last", "continuation", "secret", "pause", "restart", "once", "race", "next-message"),
    *("undelivered", "lease", "stopped-pause", "stop-acting"),
)
NO_APPROVALS = ("ids", "approve", "result", "decline", "cancel", "parallel", "threads")


class BeforeMastra(AdapterSuite):
    """A suite whose framework is the server of tests/servers/mastra."""

    agent: ClassVar[str]
    kind: ClassVar[Kind] = "agent"

    @pytest.fixture(autouse=True)
    def know_server(self, mastra: MastraProcess) -> None:
        """Have the server that all tests share."""
        self.mastra = mastra

    def adapter(self, url: str = "") -> MastraAdapter:
        return MastraAdapter(
            url or self.mastra.url,
            self.agent,
            kind=self.kind,
            resume_network_path="/x/agents/{agent}/resume-network",
            resume_task_path="/x/tasks/{task}/resume",
        )

    def of(self, number: int, **told: Any) -> AdapterScenario:
        """A scenario that counts what was done with a number, by the tool's own arguments."""

        def executed() -> list[Any]:
            found = [done["result"] for done in ran(self.mastra, number)]
            return [{k: v for k, v in result.items() if k != "deleted"} for result in found]

        async def restart() -> None:
            await asyncio.to_thread(self.mastra.kill)
            await asyncio.to_thread(self.mastra.start)

        return AdapterScenario(
            adapter=self.adapter,
            executed=executed,
            restart=restart,
            unreachable=lambda: self.adapter(NOBODY),
            **told,
        )


class TestApprovals(BeforeMastra):
    agent = "approval-agent"
    leaves_out = (*NO_STOPS, *NO_QUESTIONS, *ONE_BY_ONE)

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        number = fresh()
        yield self.of(
            number, approval=f"delete {number}", elsewhere={"answer", "stop", "subagents"}
        )


class TestApprovalsOfANetwork(BeforeMastra):
    agent = "routing-agent"
    kind = "network"
    leaves_out = (*NO_STOPS, *NO_QUESTIONS, *ONE_BY_ONE)

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        number = fresh()
        yield self.of(
            number, approval=f"delete {number}", elsewhere={"answer", "stop", "subagents"}
        )


class TestApprovalsBelowASupervisor(BeforeMastra):
    agent = "supervisor"
    leaves_out = (*UNDECLARED, *NO_QUESTIONS, *ONE_BY_ONE)

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        number = fresh()
        yield self.of(
            number,
            approval=f"agent delete {number}",
            subagent=f"agent delete {number}",
            slow=f"drip {fresh()}",
            elsewhere={"answer"},
        )


class TestQuestions(BeforeMastra):
    agent = "suspend-agent"
    leaves_out = (*NO_STOPS, *NO_APPROVALS)

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        number = fresh()
        yield self.of(
            number,
            question=f"refund {number}",
            answer={"confirmed": True},
            arrives={"refunded": True, "amount": number},
            elsewhere={"approve", "decline", "stop", "subagents"},
        )


class TestBackgroundTasks(BeforeMastra):
    agent = "background-supervisor"
    leaves_out = (
        *(name for name in NO_STOPS if name != "later"),
        *(*NO_APPROVALS, *NO_QUESTIONS, *NO_PAUSES),
    )

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        number, gate = fresh(), fresh()

        async def goes_on() -> None:
            await asyncio.sleep(3.0)
            self.mastra.release(gate)

        later = asyncio.create_task(goes_on())
        try:
            yield self.of(
                number,
                later=f"to laterAgent later {gate} delete {number}",
                elsewhere={"approve", "decline", "answer", "stop", "subagents", "cancel"},
            )
        finally:
            later.cancel()
