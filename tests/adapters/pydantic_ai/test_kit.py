"""Every check of the kit on an agent of Pydantic AI."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_pydantic_ai import PydanticAIAdapter
from tests.adapters.pydantic_ai.mailer import SIGNATURE, Mailer

pytestmark = pytest.mark.timeout(120)


class TestPydanticAI(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached.
    leaves_out = ("undelivered",)

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        yield AdapterScenario(
            adapter=lambda: PydanticAIAdapter(Mailer(done.append).agent),
            text="think trees",
            approval="send a",
            parallel="both b",
            question="ask colour",
            answer={"answer": "blue"},
            edited={"to": "c", "body": "edited"},
            slow="slow",
            executed=lambda: [one for one in done if isinstance(one, dict)],
            private=lambda _: (SIGNATURE,),
        )
