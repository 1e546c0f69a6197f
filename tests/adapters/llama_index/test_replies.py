"""Replies as clients of providers leave them: calls in pieces, thoughts in providers' events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any, Final

import pytest
from anthropic.types import RawContentBlockDeltaEvent, SignatureDelta, TextDelta, ThinkingDelta
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock, ToolCallBlock
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.utils import parse_partial_json
from llama_index.core.tools import FunctionTool
from pydantic import PrivateAttr

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge.testing.conversation import Stream
from agui_bridge_llama_index import LlamaIndexAdapter
from examples.llama_index.model import OfflineModel

pytestmark = pytest.mark.anyio

IN_PIECES: Final[Mapping[str, list[tuple[str, str]]]] = {
    "arguments that end early": [("look", '{"to": "an')],
    "a call that is whole beside them": [("look", '{"to": "bob"}'), ("look", '{"to": "an')],
    "a piece without a name": [("look", '{"to": "bob"}'), ("", '{"to": "ann"}')],
    "one that people approve": [("pay", '{"to": "bob"}'), ("pay", '{"to": "an')],
}
WHOLE: Final[Mapping[str, list[tuple[str, str]]]] = {
    "line breaks in a text": [("look", '{"to": "two\nlines"}')],
    "no text for no arguments": [("look", "")],
}


async def _never(_: Any, __: Collection[str]) -> AsyncIterator[str]:
    raise AssertionError
    yield


class Client(OfflineModel):
    """A model that replies as the clients of providers do, and says good-bye after that.

    Args:
        replies: the pieces of each reply.
    """

    _replies: list[list[ChatResponse]] = PrivateAttr()

    def __init__(self, *replies: list[ChatResponse]) -> None:
        super().__init__(_never)
        self._replies = list(replies)

    async def _grown(self, *_: Any) -> AsyncIterator[ChatResponse]:
        for piece in self._replies.pop(0) if self._replies else [said("Bye.")]:
            yield piece

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **_: Any
    ) -> list[ToolSelection]:
        """The calls of a reply, with what is missing of their arguments made up."""
        blocks = [one for one in response.message.blocks if isinstance(one, ToolCallBlock)]
        return [
            ToolSelection(
                tool_id=block.tool_call_id or "",
                tool_name=block.tool_name,
                tool_kwargs=parse_partial_json(str(block.tool_kwargs or "{}")),
            )
            for block in blocks
        ]


def said(text: str = "", raw: Any = None, calls: Collection[tuple[str, str]] = ()) -> ChatResponse:
    blocks: list[Any] = [TextBlock(text=text)] if text else []
    blocks += [
        ToolCallBlock(tool_call_id=f"call_{place}", tool_name=name, tool_kwargs=arguments)
        for place, (name, arguments) in enumerate(calls)
    ]
    message = ChatMessage(role="assistant", blocks=blocks)
    return ChatResponse(message=message, delta=text, raw=raw)


def agent_of(model: OfflineModel, done: list[str]) -> Bridge:
    async def look(to: str = "around") -> str:
        """Look."""
        done.append(f"look {to}")
        return "seen"

    async def pay(to: str) -> str:
        """Pay."""
        done.append(f"pay {to}")
        return "paid"

    tools: Any = [FunctionTool.from_defaults(async_fn=tool) for tool in (look, pay)]
    bridge = Bridge("memory:")
    agent = FunctionAgent(name="cashier", tools=tools, llm=model)
    bridge.add("cashier", LlamaIndexAdapter(agent, approve=["pay"]))
    return bridge


@pytest.mark.parametrize("calls", IN_PIECES.values(), ids=IN_PIECES)
async def test_no_call_of_a_reply_runs_of_which_one_is_not_whole(
    calls: list[tuple[str, str]],
) -> None:
    done: list[str] = []
    bridge = agent_of(Client([said("I do. ", calls=calls)]), done)
    async with talk(bridge, "cashier") as one:
        ended = await one.say("do")
        assert (ended.ending, ended.text) == ("UPSTREAM_ERROR", "I do. ")
        assert "None of the reply's calls ran." in str(ended.fault)
        assert "TOOL_CALL_START" not in [event["type"] for event in ended.events]
        assert (await one.say("bye")).text == "Bye."
    assert done == []


@pytest.mark.parametrize("calls", WHOLE.values(), ids=WHOLE)
async def test_a_call_runs_that_is_whole(calls: list[tuple[str, str]]) -> None:
    done: list[str] = []
    async with talk(agent_of(Client([said(calls=calls)]), done), "cashier") as one:
        assert (await one.say("look")).ending == "success"
    assert done == ["look two\nlines" if calls[0][1] else "look around"]


async def test_thoughts_that_only_the_providers_events_hold_are_told_before_the_text() -> None:
    kind = "response.reasoning_summary"
    pieces = [
        said(raw={"type": f"{kind}_part.added", "summary_index": 0}),
        said(raw={"type": f"{kind}_text.delta", "delta": "It is "}),
        said(raw={"type": f"{kind}_text.delta", "delta": "late."}),
        said(raw={"type": f"{kind}_text.done", "text": "It is late."}),
        said(raw={"type": f"{kind}_part.added", "summary_index": 1}),
        said(raw={"type": f"{kind}_text.delta", "delta": "I go."}),
        said("Bye.", raw={"type": "response.output_text.delta", "delta": "Bye."}),
    ]
    async with talk(agent_of(Client(pieces), []), "cashier") as one:
        ended = await one.say("go")
        kept = [(m["role"], m["content"]) for m in await one.messages() if m["role"] != "user"]
    assert _told(ended) == "It is late.\n\nI go."
    assert kept == [("reasoning", "It is late.\n\nI go."), ("assistant", "Bye.")]


async def test_thoughts_that_anthropics_client_has_in_its_messages_are_told_before_the_text() -> (
    None
):
    def piece(delta: Any) -> dict[str, Any]:
        return dict(RawContentBlockDeltaEvent(delta=delta, index=0, type="content_block_delta"))

    thoughts = [ThinkingDelta(thinking=one, type="thinking_delta") for one in ("It is ", "late.")]
    pieces = [
        *(said(raw=piece(thought)) for thought in thoughts),
        said(raw=piece(SignatureDelta(signature="s", type="signature_delta"))),
        said("Bye.", raw=piece(TextDelta(text="Bye.", type="text_delta"))),
    ]
    async with talk(agent_of(Client(pieces), []), "cashier") as one:
        ended = await one.say("go")
        kept = [(m["role"], m["content"]) for m in await one.messages() if m["role"] != "user"]
    assert _told(ended) == "It is late."
    assert kept == [("reasoning", "It is late."), ("assistant", "Bye.")]


def _told(stream: Stream) -> str:
    kind = "REASONING_MESSAGE_CONTENT"
    return "".join(event["delta"] for event in stream.events if event["type"] == kind)
