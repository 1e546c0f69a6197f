"""Every check of the kit on an agent of the OpenAI Agents SDK, and on one that is its tool."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from tests.adapters.openai_agents.mailer import SIGNATURE, Mailer

pytestmark = pytest.mark.timeout(120)


class TestOpenAIAgents(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached. The SDK has no questions
    # but approvals, and refuses a call whose arguments have changed.
    leaves_out = ("undelivered", "amid", "answer", "cancel-question", "edit", "free")

    approval = "send a"
    parallel = "both b"
    acting = "slowlytwice g"

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []

        def adapter() -> OpenAIAgentsAdapter:
            mailers.append(Mailer(done.append))
            return OpenAIAgentsAdapter(mailers[-1].agent)

        yield AdapterScenario(
            adapter=adapter,
            text="think trees",
            approval=self.approval,
            parallel=self.parallel,
            subagent="lookinside c",
            slow="slow",
            beside="mixed d",
            twice="twice e",
            stages="sendlook f",
            nested="inside g",
            acting=self.acting,
            image="picture this",
            heard=lambda: [m.requests[-1] for m in mailers if m.requests][-1],
            executed=lambda: done,
            private=lambda _: (SIGNATURE,),
        )


class TestAnAgentThatIsATool(TestOpenAIAgents):
    approval = "inside a"
    parallel = "twoinside b"
    acting = "slowlyinside g"


class TestAnAgentThatTakesOver(TestOpenAIAgents):
    approval = "handoff a"
