"""Chunks of a stream that no recording has: reasoning, failing tools, agents within agents."""

from __future__ import annotations

import json
from typing import Any

from tests.adapters.mastra.replay import Server
from tests.adapters.mastra.scripted import APPROVE, FINISH, Talk, agent, stream


async def test_reasoning_is_told_apart_from_text() -> None:
    talk = Talk(
        Server(
            stream(
                agent("reasoning-start", id="r"),
                agent("reasoning-delta", id="r", text="Hm."),
                agent("reasoning-end", id="r"),
                agent("text-delta", id="t", text="So."),
                FINISH,
            )
        )
    )

    assert await talk.say("hello") == "So."
    kinds = [e["type"] for e in talk.events]
    assert [k for k in kinds if "REASONING" in k] == [
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
    ]


async def test_calls_without_streamed_arguments_errors_of_tools_and_data_come_through() -> None:
    talk = Talk(
        Server(
            stream(
                agent("tool-call", toolCallId="c", toolName="look", args={"at": "ü"}),
                agent("tool-output", toolCallId="c", toolName="look", output={"half": True}),
                agent("tool-error", toolCallId="c", toolName="look", error={"stack": "at x.mjs"}),
                agent("unheard-of", more=1),
                FINISH,
            )
        )
    )
    await talk.say("hello")

    found = {e["type"]: e for e in talk.events}
    assert json.loads(found["TOOL_CALL_ARGS"]["delta"]) == {"at": "ü"}
    assert found["CUSTOM"]["value"] == {"half": True}
    assert found["TOOL_CALL_RESULT"]["content"] == "The tool failed."
    assert found["RUN_FINISHED"]["outcome"] == {"type": "success"}


async def test_a_failing_sub_agent_is_an_error_of_its_own() -> None:
    inner = agent("error", error={"message": "no credit: key sk-1", "stack": "at y.mjs"})
    talk = Talk(
        Server(
            stream(
                agent("tool-call", toolCallId="c", toolName="agent-helper", args={}),
                agent("tool-output", toolCallId="c", toolName="agent-helper", output=inner),
                agent("tool-result", toolCallId="c", toolName="agent-helper", result="sorry"),
                FINISH,
            )
        )
    )
    await talk.say("hello")

    kinds = [e["type"] for e in talk.events]
    assert "SUBAGENT_ERROR" in kinds
    assert kinds[-1] == "RUN_FINISHED"
    assert "sk-1" not in str(talk.events)


def within(*path: tuple[str, str], chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk of a sub-agent, within the calls that lead to it, outermost first."""
    for call, name in reversed(path):
        payload = {"toolCallId": call, "toolName": f"agent-{name}", "output": chunk}
        chunk = {"type": "tool-output", "runId": "theirs", "from": "AGENT", "payload": payload}
    return chunk


async def test_a_sub_agent_of_a_sub_agent_asks_with_its_own_tool() -> None:
    middle, leaf = ("c1", "middle"), ("c2", "leaf")
    asking = {"toolName": "wipe", "args": {"disk": 1}}
    server = Server(
        stream(
            agent("tool-call", toolCallId="c1", toolName="agent-middle", args={}),
            within(middle, chunk=agent("start")),
            within(
                middle, chunk=agent("tool-call", toolCallId="c2", toolName="agent-leaf", args={})
            ),
            within(middle, leaf, chunk=agent("tool-call", toolCallId="c3", **asking)),
            within(middle, leaf, chunk=agent("tool-call-approval", toolCallId="c3", **asking)),
            within(middle, chunk=agent("tool-call-approval", toolCallId="c2", **asking)),
            agent("tool-call-approval", toolCallId="c1", **asking),
        ),
        stream(
            within(middle, leaf, chunk=agent("tool-result", toolCallId="c3", result="wiped")),
            within(middle, leaf, chunk=agent("finish")),
            within(middle, chunk=agent("tool-result", toolCallId="c2", result="done")),
            within(middle, chunk=agent("finish")),
            agent("tool-result", toolCallId="c1", result="all done"),
            FINISH,
        ),
    )
    talk = Talk(server)
    await talk.say("wipe")
    (ask,) = talk.asks
    first, second = [e for e in talk.events if e["type"] == "SUBAGENT_STARTED"]
    calls = {e["toolCallName"]: e for e in talk.events if e["type"] == "TOOL_CALL_START"}
    ended = [e for e in talk.events if e["type"] == "SUBAGENT_FINISHED"]
    assert (first["name"], second["name"]) == ("middle", "leaf")
    assert second["parentSubagentRunId"] == first["subagentRunId"]
    assert second["parentToolCallId"] == calls["agent-leaf"]["toolCallId"]
    assert ask["toolCallId"] == calls["wipe"]["toolCallId"]
    assert ask["subagentRunId"] == second["subagentRunId"]
    assert [e["outcome"]["type"] for e in ended] == ["suspended", "suspended"]
    await talk.answer(APPROVE)

    assert server.requests[-1][1]["toolCallId"] == "c1"
    results = [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]
    assert results == ["wiped", "done", "all done"]
