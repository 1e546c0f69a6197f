"""Recordings of a real Mastra server as AG-UI events, each beside its golden transcript.

`UPDATE_GOLDEN=1` writes the transcripts anew.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from agui_bridge_mastra.requests import Kind
from tests.adapters.mastra.replay import Server
from tests.docs.pages import Conversation

GOLDEN = Path(__file__).parent / "golden"
APPROVE, CONFIRM = {"approved": True}, {"confirmed": True}
IDS = frozenset({"messageId", "toolCallId", "subagentRunId", "parentToolCallId", "parentMessageId",
                 "id", "parentSubagentRunId"})  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """A conversation: what is said, what Mastra answered, and what people answer."""

    agent: str
    says: str
    recordings: tuple[str, ...]
    answers: tuple[Any, ...] = ()
    kind: Kind = "agent"


def decline(reason: str) -> dict[str, Any]:
    return {"approved": False, "reason": reason}


SCENARIOS = {
    "text": Scenario("approval-agent", "lookup 7", ("01",)),
    "approve": Scenario("approval-agent", "delete 42", ("02", "03"), (APPROVE,)),
    "decline": Scenario("approval-agent", "delete 43", ("06", "10"), (decline("not today"),)),
    "resume": Scenario("suspend-agent", "refund 11", ("19", "20"), (CONFIRM,)),
    "parallel": Scenario(
        "approval-agent", "delete 1 and 2", ("26", "28", "30"), (APPROVE, decline("only one"))
    ),
    "model-error": Scenario("approval-agent", "boom", ("61",)),
    "run-lost": Scenario("approval-agent", "delete 42", ("02", "04"), (APPROVE,)),
    "supervisor-approve": Scenario("supervisor", "agent delete 42", ("70", "72"), (APPROVE,)),
    "supervisor-decline": Scenario(
        "supervisor", "agent delete 43", ("73", "74"), (decline("keep it"),)
    ),
    "supervisor-resume": Scenario("supervisor", "agent refund 10", ("75", "76"), (CONFIRM,)),
    "supervisor-workflow": Scenario("supervisor", "workflow 10", ("77", "78"), (CONFIRM,)),
    "network-approve": Scenario("routing-agent", "delete 42", ("80", "81"), (APPROVE,), "network"),
    "network-decline": Scenario(
        "routing-agent", "delete 43", ("85", "86"), (decline("no thanks"),), "network"
    ),
    "network-run-lost": Scenario("routing-agent", "delete 42", ("80", "83"), (APPROVE,), "network"),
    "network-agent-decline": Scenario(
        "routing-agent", "agent delete 42", ("100", "101"), (decline("no way"),), "network"
    ),
    "network-resume": Scenario("routing-agent", "refund 10", ("102", "103"), (CONFIRM,), "network"),
    "network-agent-resume": Scenario(
        "routing-agent", "agent refund 10", ("104", "105"), (CONFIRM,), "network"
    ),
    "network-workflow": Scenario(
        "routing-agent", "workflow 10", ("106", "107"), (CONFIRM,), "network"
    ),
    "network-text": Scenario("routing-agent", "hello", ("108",), (), "network"),
}


class Names:
    """Ids by the order in which they appear: they are random."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def of(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: self.of(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.of(item, "id" if key == "interruptIds" else "") for item in value]
        if key in IDS and isinstance(value, str):
            return self._seen.setdefault(value, f"id{len(self._seen) + 1}")
        return value


async def transcript(scenario: Scenario) -> tuple[str, Server]:
    server = Server(*scenario.recordings)
    adapter = MastraAdapter(
        "http://mastra.test",
        scenario.agent,
        kind=scenario.kind,
        resume_network_path="/x/agents/{agent}/resume-network",
        client=server.client(),
    )
    bridge, names = Bridge(), Names()
    bridge.add("agent", adapter)
    async with bridge.lifespan():
        talk = Conversation(bridge, "agent")
        await talk.say(scenario.says)
        events = list(talk.events)
        for answer in scenario.answers:
            await talk.answer(answer)
            events += talk.events
    told = [names.of(event) for event in events if not event["type"].endswith("_SNAPSHOT")]
    lines = [json.dumps(event, ensure_ascii=False, sort_keys=True) for event in told]
    return "\n".join(lines) + "\n", server


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_recording_gives_its_transcript(name: str) -> None:
    found, server = await transcript(SCENARIOS[name])
    golden = GOLDEN / f"{name}.jsonl"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(found, encoding="utf-8")

    assert found == golden.read_text(encoding="utf-8")
    assert server.used_up
    check_requests(SCENARIOS[name], server)


def check_requests(scenario: Scenario, server: Server) -> None:
    """Every request names our run and the call that is answered."""
    (_, started), *continued = server.requests
    for path, body in continued:
        assert body["runId"] == started["runId"]
        assert ("toolCallId" in body) == (scenario.kind == "agent"), path
    assert started["autoResumeSuspendedTools"] is False
    assert started["memory"] == {"thread": "t", "resource": "default"}


def test_no_transcript_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.jsonl")} == set(SCENARIOS)
