"""Words that an agent redacts, in every framework that can: the thread and its chain tell of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from ag_ui.core import EventType, MessagesSnapshotEvent

from agui_bridge import Bridge, FunctionRun
from agui_bridge.adapters import Run, RunItem
from agui_bridge.cli.approvals.audit_chain import verify_store
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.testing import talk
from tests.support.agents import Scripted, text_events

pytestmark = pytest.mark.timeout(120)

KEY: Final = "k" * 40
SAID: Final = "my mail is eve@home.example"
Add = Callable[[Bridge, Path], None]
SECRETS: Final = ("eve@home.example", "bob@corp.example")


def anew(messages: Any) -> MessagesSnapshotEvent:
    return MessagesSnapshotEvent.model_construct(
        type=EventType.MESSAGES_SNAPSHOT, messages=messages
    )


def langgraph(**options: Any) -> Add:
    """An agent behind `PIIMiddleware`, which asks a tool for a mail and says one."""

    def add(bridge: Bridge, _: Path) -> None:
        pytest.importorskip("langchain", reason="only on Python with LangChain")
        from langchain.agents import create_agent
        from langchain.agents.middleware import PIIMiddleware
        from langchain_core.messages import AIMessage
        from langchain_core.tools import tool
        from langgraph.checkpoint.memory import InMemorySaver

        from agui_bridge_langgraph import LangGraphAdapter
        from tests.adapters.langgraph.test_told_and_known import Model, call

        @tool
        def find() -> str:
            """Find a mail."""
            return "bob@corp.example"

        words = "Write to bob@corp.example please" if "apply_to_output" in options else "Found."
        replies = [AIMessage(words)]
        if "apply_to_tool_results" in options:
            replies.insert(0, AIMessage("", tool_calls=[call("find")]))
        redacting: Any = PIIMiddleware("email", strategy="redact", **options)
        graph = create_agent(
            Model(replies=replies), [find], middleware=[redacting], checkpointer=InMemorySaver()
        )
        bridge.add("agent", LangGraphAdapter(graph))

    return add


def strands(**redacted: str) -> Add:
    """An agent whose provider has a guardrail: it redacts when the model has said its part."""

    def add(bridge: Bridge, _: Path) -> None:
        pytest.importorskip("strands", reason="only on Python with Strands")
        from strands import Agent

        from agui_bridge_strands import StrandsAdapter
        from examples.strands.model import OfflineModel

        async def reply(messages: Any, names: Any) -> AsyncIterator[str]:
            yield "Write to "
            yield "bob@corp.example"

        class Guarded(OfflineModel):
            async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                async for chunk in super().stream(*args, **kwargs):
                    if "messageStop" in chunk:
                        yield {"redactContent": redacted}
                    yield chunk

        agent = Agent(model=Guarded(reply), callback_handler=None)
        bridge.add("agent", StrandsAdapter(agent))

    return add


def agno(bridge: Bridge, _: Path) -> None:
    """An agent whose guardrail masks what its model is not to read."""
    pytest.importorskip("agno", reason="only on Python with Agno")
    from agno.agent import Agent
    from agno.guardrails import PIIDetectionGuardrail

    from examples.agno.offline import OfflineModel

    async def reply(messages: Any, names: Any) -> AsyncIterator[str]:
        assert not any(secret in str(messages) for secret in SECRETS)
        yield "Noted."

    guard = PIIDetectionGuardrail(mask_pii=True)
    model = OfflineModel(reply=reply)
    bridge.add("agent", Agent(model=model, pre_hooks=[guard], telemetry=False))


def agent_framework(bridge: Bridge, folder: Path) -> None:
    """An agent that says something in place of what it said."""
    pytest.importorskip("agent_framework", reason="only on Python with Agent Framework")
    from agui_bridge_agent_framework import AgentFrameworkAdapter
    from tests.adapters.agent_framework import flows
    from tests.adapters.agent_framework.test_replacing import Parrot, repeated, said

    updates = [said("Write to bob@corp.example"), repeated("[redacted]")]

    def build(_: Any) -> Any:
        return flows.agents(Parrot(updates))

    bridge.add("agent", AgentFrameworkAdapter(build, checkpoints=folder))


def function(bridge: Bridge, _: Path) -> None:
    @bridge.agent("agent")
    async def agent(run: FunctionRun) -> AsyncIterator[Any]:
        said = [m.model_dump(by_alias=True, exclude_none=True) for m in run.messages]
        yield anew([*said[:-1], {**said[-1], "content": "my mail is [redacted]"}])
        yield "Noted."


def adapter(bridge: Bridge, _: Path) -> None:
    """An adapter of one's own, which takes its words back."""

    async def redacting(run: Run) -> AsyncIterator[RunItem]:
        for event in text_events(run.mint(), "Write to bob@corp.example"):
            yield event
        yield anew(
            [
                {**one, "content": "[redacted]"} if one["role"] in ("user", "assistant") else one
                for one in run.conversation()
            ]
        )

    bridge.add("agent", Scripted(redacting))


@dataclass(frozen=True)
class Case:
    """An agent, and what it redacts.

    Attributes:
        add: adds it to a bridge.
        roles: of the messages that it redacts, in order.
        leaves: what it was told and leaves as it is.
    """

    add: Add
    roles: tuple[str, ...]
    leaves: tuple[str, ...] = ()


REDACTS_USER: Final = "redactUserContentMessage"
REDACTS_REPLY: Final = "redactAssistantContentMessage"
EVE: Final = SECRETS[:1]
CASES: Final = {
    "langgraph": Case(langgraph(apply_to_input=True, apply_to_output=True), ("user", "assistant")),
    "langgraph, results": Case(langgraph(apply_to_tool_results=True), ("user", "tool")),
    "strands": Case(
        strands(**{REDACTS_USER: "[in]", REDACTS_REPLY: "[out]"}), ("user", "assistant")
    ),
    "strands, the reply": Case(strands(**{REDACTS_REPLY: "[out]"}), ("assistant",), EVE),
    "agno": Case(agno, ("user",)),
    "agent framework": Case(agent_framework, ("assistant",), EVE),
    "function": Case(function, ("user",)),
    "adapter": Case(adapter, ("user", "assistant")),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_what_is_redacted_leaves_the_thread_and_has_a_row(case: Case, tmp_path: Path) -> None:
    bridge = Bridge("memory:", audit_keys=[KEY])
    case.add(bridge, tmp_path)
    async with talk(bridge, "agent") as one:
        ended = await one.say(SAID)
        assert ended.ending == "success"
        kept = await one.messages()
        store = (await bridge.open()).store
        key = ThreadKey("default", "agent", one.thread)
        stored = await store.audit.rows(key)
        verdict = await verify_store(store, AuditKeys([KEY]))
    hidden = [secret for secret in SECRETS if secret not in case.leaves]
    assert not any(secret in str(kept) for secret in hidden)
    told = [e["messages"] for e in ended.events if e["type"] == "MESSAGES_SNAPSHOT"][-1]
    assert not any(secret in str(told) for secret in hidden)

    rows = [json.loads(row.data) for row in stored]
    roles = {message["id"]: message["role"] for message in kept}
    assert tuple(roles[row["messageId"]] for row in rows) == case.roles
    for row in rows:
        assert (row["event"], row["actor"], row["run"]) == ("redacted", "agent", "run-1")
        assert (row["interrupt"], row["status"], row["askedBy"]) == (None, None, "anonymous")
        assert row["before"] != row["after"]
    assert not any(secret in str(stored) for secret in SECRETS)
    assert (verdict.faults, verdict.redactions) == ([], len(case.roles))
