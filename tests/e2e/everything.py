"""A server whose agent sends an event, a message and a part of every kind that there is."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from agui_bridge import Bridge, FunctionRun, Settings
from examples.approval_target import LOOPBACK
from tests.e2e.target import serve_for_target

__all__ = ["PARTS", "SAID", "main", "make_bridge"]

PARTS: Final[list[dict[str, Any]]] = [
    {"type": "text", "text": "show"},
    {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}},
    {
        "type": "document",
        "source": {"type": "data", "value": "aGk=", "mimeType": "text/plain"},
        "metadata": {"filename": "a.txt"},
    },
    {"type": "image", "source": {"type": "file", "value": "file-1"}},
    {"type": "hologram", "rays": 7},
    {"type": "binary", "mimeType": "image/png", "id": "upload-1"},
]
"""What a user may say."""

SAID: Final = "There it is."


def _everything() -> list[BaseEvent]:
    thought, plan, call, result, noted, said = (secrets.token_hex(6) for _ in range(6))
    typed: dict[str, Any] = {"encryptedValueType": "acme.signature"}
    content: Any = [{"type": "text", "text": "a chart"}, PARTS[1], PARTS[3]]
    return [
        ReasoningStartEvent(message_id=thought),
        ReasoningMessageStartEvent(message_id=thought, role="reasoning"),
        ReasoningMessageContentEvent(message_id=thought, delta="Hm."),
        ReasoningMessageEndEvent(message_id=thought),
        ReasoningEndEvent(message_id=thought),
        ReasoningEncryptedValueEvent(
            subtype="message", entity_id=thought, encrypted_value="v", **typed
        ),
        ActivitySnapshotEvent(message_id=plan, activity_type="PLAN", content={"done": 0}),
        ActivityDeltaEvent(
            message_id=plan,
            activity_type="PLAN",
            patch=[{"op": "replace", "path": "/done", "value": 1}],
        ),
        SubagentStartedEvent(subagent_run_id="helper", name="helper"),
        SubagentFinishedEvent(subagent_run_id="helper"),
        ToolCallStartEvent(tool_call_id=call, tool_call_name="chart"),
        ToolCallEndEvent(tool_call_id=call),
        ToolCallResultEvent(message_id=result, tool_call_id=call, content=content),
        TextMessageStartEvent(message_id=noted, role="user"),
        TextMessageContentEvent(message_id=noted, delta="Noted."),
        TextMessageEndEvent(message_id=noted),
        TextMessageStartEvent(message_id=said, role="assistant"),
        TextMessageContentEvent(message_id=said, delta=""),
        TextMessageContentEvent(message_id=said, delta=SAID),
        TextMessageEndEvent(message_id=said),
    ]


def make_bridge(store: str, effects: Path, lease: float) -> Bridge:
    """The bridge with its one agent.

    Args:
        store: store URL.
        effects: the file of the payments.
        lease: a run whose process is silent this long counts as lost.
    """
    bridge = Bridge(store, settings=Settings(lease_seconds=lease), cors_origin_regex=LOOPBACK)

    async def pay(to: str) -> str:
        with effects.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"to": to}) + "\n")
        return f"paid {to}"

    # `Target` asks for an agent of this name.
    @bridge.agent("target")
    async def target(run: FunctionRun) -> AsyncIterator[str | BaseEvent]:
        """Shows everything for `show`, and pays NAME for `pay NAME` once it may."""
        verb, _, name = run.text.partition(" ")
        if verb == "show":
            for event in _everything():
                yield event
        else:
            approval = await run.approve("pay", {"to": name}, fn=pay)
            yield f"{await run.tool(approval, pay)}" if approval else "not paid"

    return bridge


def main() -> None:
    """Serve it by the target's command line."""
    serve_for_target(make_bridge)


if __name__ == "__main__":
    main()
