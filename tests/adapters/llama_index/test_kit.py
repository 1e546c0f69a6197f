"""Every check of the kit on an agent of LlamaIndex, on several, and on a workflow of steps."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest
from workflows import Context, Workflow, step
from workflows.events import (
    Event,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
)

from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_llama_index import LlamaIndexAdapter
from tests.adapters.llama_index.mailer import SIGNATURE, Mailer, Team

pytestmark = pytest.mark.timeout(120)


class TestAgent(AdapterSuite):
    # It runs in this process: there is nothing that could not be reached. An agent that works in a
    # tool runs by itself.
    leaves_out = ("undelivered", "nested")

    kind: ClassVar[type[Mailer]] = Mailer
    approval = "send a"

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        mailers: list[Mailer] = []

        def adapter() -> LlamaIndexAdapter:
            mailers.append(self.kind(done.append))
            return LlamaIndexAdapter(mailers[-1].agent, approve=["send_email"])

        yield AdapterScenario(
            adapter=adapter,
            text="think trees",
            approval=self.approval,
            parallel="both b",
            question="book friday",
            answer={"hour": 5},
            amid="book monday",
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
        )


class TestAnAgentThatTakesOver(TestAgent):
    kind = Team
    approval = "handoff a"


class Slow(Event):
    """Work goes on."""


class Survey(Workflow):
    """Asks which way to go, by an event of its own or in the middle of a step."""

    def __init__(self, done: list[Any]) -> None:
        super().__init__(timeout=None)
        self._done = done

    @step
    async def begin(
        self, ctx: Context, ev: StartEvent
    ) -> InputRequiredEvent | Slow | StopEvent | None:
        """Do what was said."""
        if ev.user_msg.startswith("ask"):
            return InputRequiredEvent(prefix="Which way?", number=7)
        if ev.user_msg.startswith("within"):
            told = await ctx.wait_for_event(
                HumanResponseEvent,
                waiter_event=InputRequiredEvent(prefix="Which way?"),
            )
            self._done.append(told.response)
            return StopEvent(result=f"You went {told.response}.")
        if ev.user_msg == "slow":
            ctx.write_event_to_stream(Slow(text="Slowly. "))
            return Slow()
        return StopEvent(result=f"You said {ev.user_msg}.")

    @step
    async def work(self, ev: Slow) -> StopEvent:
        """Work."""
        await asyncio.sleep(600)
        return StopEvent()

    @step
    async def go(self, ev: HumanResponseEvent) -> StopEvent:
        """Go the way."""
        assert ev.number == 7
        self._done.append(ev.response)
        return StopEvent(result=f"You went {ev.response}.")


class TestWorkflow(AdapterSuite):
    # Its steps are its author's code: there are no tools that people could be asked about.
    leaves_out = (
        *("undelivered", "nested", "parallel", "edit", "policy", "respond", "beside"),
        *("approval", "twice", "stages", "acting", "amid", "heard", "image"),
    )
    question: ClassVar[str] = "ask"

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        done: list[object] = []
        yield AdapterScenario(
            adapter=lambda: LlamaIndexAdapter(
                Survey(done), tell=lambda ev: ev.get("text") if isinstance(ev, Slow) else None
            ),
            text="hello",
            question=self.question,
            answer="left",
            free=f"{self.question} freely",
            slow="slow",
            executed=lambda: done,
        )


class TestAStepThatWaits(TestWorkflow):
    question = "within"
