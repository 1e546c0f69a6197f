"""Every check of the kit on an agent of the Agent Framework."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.mailer import SIGNATURE, Mailer

pytestmark = pytest.mark.timeout(120)


class TestAgent(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached. An agent in a tool can't
    # wait for anybody.
    leaves_out = ("undelivered", "amid", "nested")

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []

        def adapter() -> AgentFrameworkAdapter:
            mailers.append(Mailer(done.append))
            return AgentFrameworkAdapter(mailers[-1].agent)

        yield AdapterScenario(
            adapter=adapter,
            text="think trees",
            approval="send a",
            parallel="both b",
            question="ask colour",
            answer={"answer": "blue"},
            edited={"to": "c", "body": "edited"},
            slow="slow",
            beside="mixed d",
            twice="twice e",
            stages="sendlook f",
            acting="slowlytwice g",
            free="ask anything",
            image="look at this",
            heard=lambda: [m.heard for m in mailers if m.requests][-1],
            executed=lambda: done,
            private=lambda _: (SIGNATURE,),
        )
