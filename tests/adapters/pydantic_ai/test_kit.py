"""Every check of the kit on an agent of Pydantic AI."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_pydantic_ai import PydanticAIAdapter
from tests.adapters.pydantic_ai.mailer import SIGNATURE, Mailer

pytestmark = pytest.mark.timeout(120)


class TestPydanticAI(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached.
    # Its denied calls have no result of a person's own, and agents in tools don't bubble up.
    leaves_out = ("undelivered", "amid", "respond", "nested")

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []

        async def look_up_slowly(name: str) -> str:
            await asyncio.sleep(0.25)
            done.append(f"looked up {name}")
            return f"{name} is known"

        def adapter() -> PydanticAIAdapter:
            mailers.append(mailer := Mailer(done.append))
            mailer.agent.tool_plain(look_up_slowly)
            return PydanticAIAdapter(mailer.agent)

        def heard() -> object:
            asked = [mailer.requests[-1] for mailer in mailers if mailer.requests]
            return ModelMessagesTypeAdapter.dump_python(asked[-1], mode="json")

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
            heard=heard,
            executed=lambda: done,
            private=lambda _: (SIGNATURE,),
        )
