"""Every check of the kit on an agent of Strands, and on one inside a tool."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_strands import StrandsAdapter
from tests.adapters.strands.mailer import SIGNATURE, Mailer

pytestmark = pytest.mark.timeout(120)


class TestStrands(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached.
    leaves_out = ("undelivered", "amid")

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []

        def adapter() -> StrandsAdapter:
            mailers.append(Mailer(done.append))
            return StrandsAdapter(mailers[-1].agent)

        yield AdapterScenario(
            adapter=adapter,
            text="think trees",
            approval="send a",
            parallel="both b",
            question="book friday",
            answer={"hour": 5},
            edited={"to": "c", "body": "edited"},
            slow="slow",
            subagent="inside h",
            nested="inside h",
            beside="mixed d",
            twice="twice e",
            stages="sendlook f",
            acting="slowlytwice g",
            free="book anything",
            image="look at this",
            heard=lambda: [m.heard for m in mailers if m.requests][-1],
            executed=lambda: done,
            private=lambda _: (SIGNATURE,),
        )
