"""A bridge that was closed and is opened again: its remote agents answer again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agui_bridge import Adapter, Bridge
from agui_bridge.testing import talk
from agui_bridge_agui import AguiAdapter
from agui_bridge_superagent import SuperAgentAdapter
from tests.support.server import serve

AGUI = """data: {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}

data: {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": "Hello."}

data: {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}

"""
SUPERAGENT = "event: message\ndata: Hello.\n\nevent: message\ndata: [DONE]\n\n"


@pytest.mark.parametrize(
    ("answer", "make"),
    [
        (AGUI, lambda base: AguiAdapter(f"{base}/run")),
        (SUPERAGENT, lambda base: SuperAgentAdapter(base, "agent", a2ui=False)),
    ],
    ids=["agui", "superagent"],
)
async def test_an_agent_answers_after_its_bridge_was_closed_and_opened_again(
    answer: str, make: Callable[[str], Adapter]
) -> None:
    async def answered(_: Request) -> Response:
        return Response(answer, media_type="text/event-stream")

    paths = ("/run", "/api/v1/chat/stream")
    server = Starlette(routes=[Route(path, answered, methods=["POST"]) for path in paths])
    async with serve(server) as base:
        bridge = Bridge(telemetry=False)
        bridge.add("agent", make(base))
        for _ in range(2):
            async with talk(bridge, "agent") as conversation:
                assert (await conversation.say("hi")).text == "Hello."
