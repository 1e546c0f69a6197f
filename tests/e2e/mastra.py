"""A bridge before a real Mastra server, and what its tests count from outside."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from agui_bridge import Bridge, Principal
from agui_bridge_mastra import MastraAdapter
from agui_bridge_mastra.chunks.custom_events import log_once
from agui_bridge_mastra.requests import Kind
from tests.docs.pages import Conversation
from tests.support.mastra import MastraProcess

__all__ = ["AGENTS", "APPROVE", "CONFIRM", "DECLINE", "Talk", "bridge_before", "fresh", "ran",
           "suspended", "unknown_chunks"]  # fmt: skip

AGENTS: Mapping[str, Kind] = {
    "approval-agent": "agent",
    "suspend-agent": "agent",
    "ask-agent": "agent",
    "mixed-agent": "agent",
    "records-agent": "agent",
    "auto-agent": "agent",
    "work-agent": "agent",
    "supervisor": "agent",
    "lead": "agent",
    "chief": "agent",
    "guarded-agent": "agent",
    "guard-supervisor": "agent",
    "telling-agent": "agent",
    "task-agent": "agent",
    "object-agent": "agent",
    "durable-agent": "agent",
    "evented-agent": "agent",
    "durable-asker": "agent",
    "durable-supervisor": "agent",
    "lead-network": "network",
    "routing-agent": "network",
    "auto-routing-agent": "network",
    "refundWorkflow": "workflow",
    "slowWorkflow": "workflow",
}
"""The agents of tests/servers/mastra, and what they are."""

APPROVE = {"approved": True}
DECLINE = {"approved": False, "reason": "not today"}
CONFIRM = {"confirmed": True}

_numbers = itertools.count(1000)


def fresh() -> int:
    """A number that no other test has: what is executed with it, this test has asked for."""
    return next(_numbers)


def ran(mastra: MastraProcess, number: int | str) -> list[dict[str, Any]]:
    """The executions of a number, in order."""
    return [
        done
        for done in mastra.executions()
        if str(number) in (str(value) for value in done["result"].values())
    ]


def bridge_before(mastra: MastraProcess, store: str = "memory:", **settings: Any) -> Bridge:
    """A bridge with an agent for each of the server's."""
    bridge = Bridge(store)
    for name, kind in AGENTS.items():
        confirm = {"type": "object", "required": ["confirmed"]}
        adapter = MastraAdapter(
            mastra.url,
            name,
            kind=kind,
            resume_network_path="/x/agents/{agent}/resume-network",
            step_schemas={
                "confirm-refund": {**confirm, "properties": {"confirmed": {"type": "boolean"}}}
            },
        )
        bridge.add(name, adapter, **settings)
    return bridge


@contextlib.contextmanager
def unknown_chunks() -> Iterator[set[str]]:
    """Collects what the adapter logs of chunks that are new to it."""
    found: set[str] = set()

    def note(record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if said.startswith("a chunk "):
            found.add(said.removeprefix("a chunk ").partition(": its version")[0])
        return True

    logger = logging.getLogger("agui_bridge")
    log_once.cache_clear()
    logger.addFilter(note)
    try:
        yield found
    finally:
        logger.removeFilter(note)


class Talk(Conversation):
    """A conversation on a thread of its own, by a client that keeps its list."""

    def __init__(self, bridge: Bridge, agent: str, thread: str = "", **options: Any) -> None:
        self.agent = agent
        super().__init__(bridge, agent, thread or f"thread-{fresh()}", keeps_list=True, **options)

    @property
    def ending(self) -> str:
        """How the last run ended: its outcome, or the code of its error."""
        last = self.events[-1]
        return str(last["code"] if last["type"] == "RUN_ERROR" else last["outcome"]["type"])

    @property
    def results(self) -> list[str]:
        """Contents of the tool results of the last run."""
        return [e["content"] for e in self.events if e["type"] == "TOOL_CALL_RESULT"]

    def kinds(self, *wanted: str) -> list[str]:
        """The types of the last run's events, of those wanted."""
        return [e["type"] for e in self.events if e["type"] in wanted]

    async def asked(self, text: str) -> Any:
        """Say what is answered with one question; gives the question."""
        await self.say(text)
        (ask,) = self.asks
        return ask

    async def resume(
        self, ask: Any, payload: Any, principal: Principal | None = None, **members: Any
    ) -> str:
        """Answer a question that this conversation need not know of; gives how the run ended."""
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": payload}
        await self._send(principal=principal, resume=[entry], **members)
        return self.ending

    async def send(self, **members: Any) -> str:
        """Send an input of these members; gives the text that came back."""
        return await self._send(**members)


def suspended(mastra: MastraProcess, talk: Talk) -> list[Any]:
    """What waits at Mastra on a conversation's thread."""
    listed = httpx.get(
        f"{mastra.url}/api/agents/{talk.agent}/suspended-runs",
        params={"threadId": talk.thread, "resourceId": "default"},
        trust_env=False,
    )
    runs: list[Any] = listed.json()["runs"]
    return runs
