"""A tool that suspends is asked about whatever its zod schema, and a wrong answer is not sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.adapters.mastra.replay import Server
from tests.adapters.mastra.scripted import FINISH, Talk, agent, result, stream

EMITTED: Final = Path(__file__).parents[2] / "golden" / "response_schemas" / "javascript.json"
KINDS: Final = ("z.string().email()", "z.string().regex(/^(?!admin$)", "(() => { const tree")


def schemas() -> list[dict[str, Any]]:
    cases = json.loads(EMITTED.read_text(encoding="utf-8"))
    return [
        case
        for case in cases
        if case["library"].startswith("zod") and case["source"].startswith(KINDS)
    ]


@pytest.mark.parametrize("case", schemas(), ids=lambda case: case["source"][:60])
async def test_a_suspended_tool_is_asked_about_and_gets_a_right_answer_only(
    case: dict[str, Any],
) -> None:
    suspended = agent(
        "tool-call-suspended",
        toolCallId="c1",
        toolName="ask",
        args={},
        suspendPayload={"question": "Well?"},
        resumeSchema=json.dumps(case["schema"]),
    )
    server = Server(stream(suspended), stream(result(), FINISH))
    talk = Talk(server)

    await talk.say("ask")
    (asked,) = talk.asks
    assert asked["responseSchema"] == case["schema"]
    wrong, right = (
        {"interruptId": asked["id"], "status": "resolved", "payload": case[which]}
        for which in ("wrong", "right")
    )
    await talk._send(resume=[wrong])
    assert talk.error[0] == "INVALID_RESUME_PAYLOAD"
    assert len(server.requests) == 1
    await talk._send(resume=[right])

    assert server.requests[-1][1]["resumeData"] == case["right"]
    assert talk.events[-1]["outcome"] == {"type": "success"}
