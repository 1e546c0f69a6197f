"""What a remote agent was told to carry out, and of which it tells no result: nobody knows of it.

Each server here takes the answer and then comes to a proper end, as one does that was restarted
and knows nothing of the turn; servers that tell of no calls break off instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agui_bridge import Adapter, Bridge
from agui_bridge.protocol.answers.unexecuted import UNKNOWN
from agui_bridge_agui import AguiAdapter
from agui_bridge_mastra import MastraAdapter
from agui_bridge_nexau import NexauAdapter
from agui_bridge_superagent import SuperAgentAdapter
from tests.adapters.agui.upstream import APPROVAL, call, finished, interrupt, started, text
from tests.adapters.mastra.scripted import FINISH, SUSPENDED, agent
from tests.docs.pages import Conversation
from tests.support.server import serve

YES: Final = {"approved": True}


@dataclass(frozen=True)
class Case:
    """A remote agent that asks, and forgets what it asked.

    Attributes:
        adapter: for the server at an address.
        asks: what the server says first.
        forgets: what it says to the answer.
        answer: that a person gives.
        shows: whether clients are shown the call that the answer lets run.
    """

    adapter: Callable[[str], Adapter]
    asks: str
    forgets: str
    answer: Any
    shows: bool = True


def sse(*events: Mapping[str, Any] | str) -> str:
    lines = [one if isinstance(one, str) else json.dumps(one) for one in events]
    return "".join(f"data: {line}\n\n" for line in lines)


def proxied(*asking: Any, answer: Any = None, **options: Any) -> Case:
    """An AG-UI endpoint that asks so."""
    forgets = sse(started(), *text("Well.", "m9"), finished({"type": "success"}))

    def adapter(url: str) -> AguiAdapter:
        return AguiAdapter(url, **options)

    return Case(adapter, sse(started(), *asking), forgets, answer or YES)


def of_mastra(asking: Mapping[str, Any], answer: Any, kind: Any = "agent", *said: Any) -> Case:
    """An agent of a Mastra server."""

    def adapter(url: str) -> MastraAdapter:
        return MastraAdapter(url, "a", kind=kind)

    spoken = [agent("text-start", id="t"), agent("text-delta", id="t", text="Well.")]
    forgets = sse(*(said or (*spoken, FINISH)), "[DONE]")
    return Case(adapter, sse(asking, "[DONE]"), forgets, answer)


def named(call_id: str = "c1") -> dict[str, Any]:
    return {"toolCallId": call_id, "toolName": "ask", "args": {"topic": "red"}}


REVIEW: Final = {
    "action_requests": [{"name": "delete", "args": {"n": 1}}],
    "review_configs": [{"action_name": "delete", "allowed_decisions": ["approve", "reject"]}],
}
CONFIRMATION: Final = {
    "originalFunctionCall": {"id": "call-1", "name": "delete", "args": {"n": 1}},
    "toolConfirmation": {"hint": "Really?"},
}
NEXAU: Final = (
    {"type": "RUN_STARTED"},
    {"type": "TOOL_CALL_START", "tool_call_id": "c", "tool_call_name": "ask_user"},
    {"type": "TOOL_CALL_ARGS", "tool_call_id": "c", "delta": '{"question":"Name?"}'},
    {"type": "TOOL_CALL_RESULT", "tool_call_id": "c", "content": '{"_is_stop_tool": true}'},
    {"type": "RUN_FINISHED"},
)
FORM: Final = {"reason": "Sure?", "fields": [{"name": "ok", "type": "confirm", "label": "Ok"}]}


def asked(schema: Any) -> tuple[Any, ...]:
    """A call, and a question about it with this schema."""
    member = {} if schema is None else {"responseSchema": schema}
    return (*call(), finished(interrupt({"toolCallId": "call-1", **member})))


CASES: Final[Mapping[str, Case]] = {
    "Mastra's approval": of_mastra(agent("tool-call-approval", **named()), YES),
    "Mastra's tool that suspends": of_mastra(SUSPENDED, {"answer": "red"}),
    "Mastra's approval, with another step": of_mastra(
        agent("tool-call-approval", **named()), YES, "agent", agent("step-start"), FINISH
    ),
    "Mastra's network": of_mastra(
        {"type": "tool-execution-approval", "payload": named()},
        YES,
        "network",
        {"type": "network-execution-event-finish", "payload": {"result": "Well."}},
    ),
    "AG-UI's approval": proxied(*asked(APPROVAL)),
    "an approval without a schema": proxied(*asked(None)),
    "an approval in another shape": proxied(*asked({"type": "boolean"})),
    "a question about a call": proxied(*asked({"type": "string"}), answer="yes"),
    "LangGraph's middleware": proxied(
        *call(),
        {
            **{"type": "CUSTOM", "name": "on_interrupt", "value": json.dumps(REVIEW)},
            "rawEvent": {"id": "a" * 32, "value": REVIEW},
        },
        finished(),
    ),
    "ADK's confirmation": proxied(
        *call(),
        *call("adk-1", "adk_request_confirmation", json.dumps(CONFIRMATION)),
        finished(),
        peer="adk",
    ),
    "agno's open call": proxied(*call(), finished(), peer="agno"),
    "NexAU": Case(
        NexauAdapter, sse(*NEXAU), sse({"type": "RUN_STARTED"}), {"answer": "Bob"}, shows=False
    ),
    "SuperAgent": Case(
        lambda url: SuperAgentAdapter(url, "a"),
        f"event: interrupt\n{sse({'type': 'interrupt', 'data': FORM})}",
        f"event: text\n{sse({'data': {'delta': 'Well.'}})}",
        {"ok": True},
        shows=False,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_what_came_of_a_call_without_a_result_is_unknown_and_no_success(case: Case) -> None:
    posted: list[object] = []

    async def reply(request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse({"runs": [], "messages": [], "threadExists": False})
        posted.append(request.client)
        body = case.asks if len(posted) == 1 else case.forgets
        return Response(body, media_type="text/event-stream")

    app = Starlette(routes=[Route("/{path:path}", reply, methods=["GET", "POST"])])
    async with serve(app, lifespan="off") as url:
        bridge = Bridge("memory:")
        bridge.add("agent", case.adapter(url))
        talk = Conversation(bridge, "agent", keeps_list=True)
        async with bridge.lifespan():
            await talk.say("go")
            (ask,) = talk.asks
            for _ in range(2):
                await talk._send(
                    resume=[
                        {"interruptId": ask["id"], "status": "resolved", "payload": case.answer}
                    ]
                )
                last = talk.events[-1]
                assert last.get("code") == "RUN_INDETERMINATE", last
            assert len(posted) == 2, "the answer is not sent again"
            # On the other one's connection, which the server may be closing, it could be lost.
            assert len(set(posted)) == 2, "the answer comes on a connection of its own"
            store = (await bridge.open()).store
            (row,) = await store.list_interrupts("default")
            assert row.interrupt.status.value == "indeterminate"
            if case.shows:
                (told,) = [e for e in _told(talk) if e["role"] == "tool"]
                assert told["content"] in UNKNOWN


def _told(talk: Conversation) -> list[dict[str, Any]]:
    """The conversation as clients have it in the end."""
    snapshots = [e["messages"] for e in talk.events if e["type"] == "MESSAGES_SNAPSHOT"]
    messages: list[dict[str, Any]] = snapshots[-1]
    return messages
