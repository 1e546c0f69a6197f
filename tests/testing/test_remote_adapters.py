"""The kit on the adapters of remote servers: SuperAgent's chat API, and NexAU."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Bridge, FunctionRun, KeywordAdapter
from agui_bridge.testing import AdapterScenario, AdapterSuite
from agui_bridge_nexau import NexauAdapter
from agui_bridge_superagent import SuperAgentAdapter
from tests.adapters.nexau import simulator
from tests.support.server import serve

pytestmark = pytest.mark.timeout(120)

PATIENCE = 10.0
NOBODY = "http://127.0.0.1:9"
NO_APPROVALS = (
    *("ids", "approve", "result", "decline", "edit", "cancel", "parallel", "threads", "policy"),
    *("beside", "twice", "stages", "nested", "acting", "free", "amid", "heard", "respond"),
)


class TestSuperAgent(AdapterSuite):
    """Before this project's own chat API."""

    leaves_out = (*NO_APPROVALS, "stop-by-itself", "stop-acting")

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        executed: list[Any] = []

        async def agent(run: FunctionRun) -> AsyncIterator[str]:
            if run.text == "deploy":
                yield "Please confirm: I will deploy."
            elif run.text.startswith("Yes, I confirm."):
                executed.append({"confirm": True})
                yield "Deployed."
            elif run.text == "slow":
                # The chat API holds a sentence back until it is no request.
                yield "Working.\n\nStill "
                await asyncio.sleep(3 * PATIENCE)
            else:
                yield "Hello."

        remote = Bridge(telemetry=False)
        remote.add("deployer", KeywordAdapter(agent))
        async with serve(remote.app(anonymous=True)) as base:
            yield AdapterScenario(
                adapter=lambda: SuperAgentAdapter(base, "deployer"),
                question="deploy",
                answer={"confirm": True},
                slow="slow",
                executed=lambda: executed,
                unreachable=lambda: SuperAgentAdapter(NOBODY, "deployer"),
                patience=PATIENCE,
            )


class Nexau(simulator.Nexau):
    """The simulator with a model that heeds the message: it asks, works, or answers.

    Attributes:
        told: every message that reached the model.
    """

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    async def _say(
        self, run: simulator.Run, events: asyncio.Queue[simulator.Event | None], message: str
    ) -> str:
        text = run.body["messages"][-1]["content"][0]["text"]
        self.told.append(text)
        if text == "ask":
            self._ask(events)
            return ""
        if text == "delegate":
            self._delegate(events)
        self.go.clear() if text == "slow" else self.go.set()
        return await super()._say(run, events, message)

    def _ask(self, events: asyncio.Queue[simulator.Event | None]) -> None:
        ids = {"tool_call_id": f"call-{secrets.token_hex(4)}"}
        arguments, marked = json.dumps({"question": "Name?"}), json.dumps({"_is_stop_tool": True})
        events.put_nowait({"type": "TOOL_CALL_START", "tool_call_name": "ask_user", **ids})
        events.put_nowait({"type": "TOOL_CALL_ARGS", "delta": arguments, **ids})
        events.put_nowait({"type": "TOOL_CALL_RESULT", "content": marked, **ids})

    def _delegate(self, events: asyncio.Queue[simulator.Event | None]) -> None:
        call, inner = secrets.token_hex(4), {"run_id": f"inner-{secrets.token_hex(4)}"}
        own, words = {"tool_call_id": call}, {"message_id": f"words-{call}"}
        arguments = json.dumps({"sub_agent_name": "helper", "message": "help"})
        for event in (
            {"type": "TOOL_CALL_START", "tool_call_name": "Agent", **own},
            {"type": "TOOL_CALL_ARGS", "delta": arguments, **own},
            {"type": "TOOL_CALL_END", **own},
            {"type": "RUN_STARTED", "agent_id": "agent_2", **inner},
            {"type": "TEXT_MESSAGE_START", **words, **inner},
            {"type": "TEXT_MESSAGE_CONTENT", "delta": "I help.", **words},
            {"type": "TEXT_MESSAGE_END", **words},
            {"type": "RUN_FINISHED", "result": "I help.", **inner},
            {"type": "TOOL_CALL_RESULT", "content": "I help.", **own},
        ):
            events.put_nowait(event)


class TestNexau(AdapterSuite):
    """Before a server that behaves like recordings of NexAU."""

    leaves_out = NO_APPROVALS

    @contextlib.asynccontextmanager
    async def scenario(self) -> AsyncIterator[AdapterScenario]:
        server = Nexau()
        async with serve(server.app, lifespan="off") as base:
            yield AdapterScenario(
                adapter=lambda: NexauAdapter(base, drain_timeout=PATIENCE / 4),
                question="ask",
                answer={"answer": "Bob"},
                arrives="Bob",
                slow="slow",
                subagent="delegate",
                executed=lambda: [text for text in server.told if text == "Bob"],
                unreachable=lambda: NexauAdapter(NOBODY),
                patience=PATIENCE,
            )
