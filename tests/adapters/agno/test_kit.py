"""Every check of the kit on an agent of Agno, on a team, and on a member of it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection
from typing import ClassVar

import pytest

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_agno import AgnoAdapter
from tests.adapters.agno.mailer import SIGNATURE, Mailer

pytestmark = pytest.mark.timeout(120)


class TestAgno(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached. An agent has no members.
    leaves_out: ClassVar[Collection[str]] = ("undelivered", "amid", "nested")

    approval = "send a"
    parallel = "both b"
    acting = "slowlytwice g"
    is_team = False

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []

        def adapter() -> AgnoAdapter:
            mailers.append(mailer := Mailer(done.append))
            return AgnoAdapter(mailer.team if self.is_team else mailer.agent)

        yield AdapterScenario(
            adapter=adapter,
            text="think trees",
            approval=self.approval,
            parallel=self.parallel,
            question="book friday",
            answer={"hour": 5, "note": "late"},
            edited={"to": "c", "body": "edited"},
            slow="slow",
            subagent="knowninside c" if self.is_team else None,
            beside="mixed d",
            twice="twice e",
            stages="sendlook f",
            nested="inside g" if self.is_team else None,
            acting=self.acting,
            free="fetch anything",
            image="look at this",
            heard=lambda: [m.heard for m in mailers if m.requests][-1],
            executed=lambda: [*done, *(told for m in mailers for told in m.arrived)],
            private=lambda _: (SIGNATURE,),
            elsewhere=() if self.is_team else ("subagents",),
        )


class TestATeam(TestAgno):
    leaves_out = ("undelivered", "amid")
    is_team = True


class TestAMemberOfATeam(TestATeam):
    approval = "inside a"
    parallel = "twoinside b"
    acting = "slowlyinside g"
