"""Every check of the kit on an agent of ADK, and on one that a conversation is handed to."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_adk import AdkAdapter
from tests.adapters.adk.mailer import SIGNATURE, Mailer

pytestmark = pytest.mark.timeout(120)


class TestAdk(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached. An agent in a tool can't
    # wait for anybody, and what agents below say they say themselves.
    leaves_out = ("undelivered", "amid", "nested")

    approval = "send a"

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []

        def adapter() -> AdkAdapter:
            mailers.append(Mailer(done.append))
            return AdkAdapter(mailers[-1].agent)

        yield AdapterScenario(
            adapter=adapter,
            text="think trees",
            approval=self.approval,
            parallel="both b",
            question="book friday",
            answer={"hour": 5},
            edited={"to": "c", "body": "edited"},
            slow="slow",
            beside="mixed d",
            twice="twice e",
            stages="sendlook f",
            acting="slowlytwice g",
            free="book anything",
            image="look at this",
            heard=lambda: [m.heard for m in mailers if m.requests][-1],
            executed=lambda: done,
            private=lambda _: (SIGNATURE,),
            # Surfaces of a page are drawn by one: tests/adapters/test_a2ui.py.
            elsewhere=("subagents",),
        )


class TestAnAgentThatTakesOver(TestAdk):
    approval = "handoff a"
