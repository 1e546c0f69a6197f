"""What is told of a conversation, and what the graph knows of it, are one conversation."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware, SummarizationMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from pydantic import BaseModel, Field

from agui_bridge.testing import talk
from tests.adapters.langgraph.graphs import State, flow, says, serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

Told = list[tuple[str, Any]]


class Model(BaseChatModel):
    """Says what it was made to, one reply after the other, and the last one again."""

    replies: list[AIMessage]
    requests: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "replies"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self.bind(**options)

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.requests.append(list(messages))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        for word in str(reply.content).split():
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))
        for place, call in enumerate(reply.tool_calls):
            part: Any = {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"]}
            chunk = AIMessageChunk(content="", tool_call_chunks=[{**part, "index": place}])
            yield ChatGenerationChunk(message=chunk)


def call(name: str, own: str = "c1", **args: Any) -> dict[str, Any]:
    return {"id": own, "name": name, "args": args}


async def thread(one: Any) -> Told:
    """The thread's messages, each with its role and its text or the tools that it calls."""
    return [
        (m["role"], m.get("content") or [c["function"]["name"] for c in m.get("toolCalls") or ()])
        for m in await one.messages()
    ]


def snapshots(events: Sequence[Any]) -> list[Any]:
    return [event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT"]


# --- what the graph knows is told ---

PAY: list[Any] = [
    {"role": "tool", "content": "paid 100", "tool_call_id": "c1"},
    ToolMessage("paid 100", tool_call_id="c1"),
]
ASKED: list[Any] = [
    AIMessage("", tool_calls=[call("pay", amount=100)]),
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "pay", "arguments": '{"amount": 100}'},
            }
        ],
    },
]
THEN: list[Any] = [
    {"role": "assistant", "content": "I paid 100."},
    ("ai", "I paid 100."),
    AIMessage("I paid 100."),
]


@pytest.mark.parametrize("said", THEN, ids=["dict", "tuple", "object"])
@pytest.mark.parametrize("paid", PAY, ids=["dict", "object"])
@pytest.mark.parametrize("asked", ASKED, ids=["object", "dict"])
async def test_messages_are_told_in_whatever_form_nodes_write_them(
    asked: Any, paid: Any, said: Any
) -> None:
    done = list[int]()

    def model(_: State) -> State:
        return {"messages": [asked]}

    def tools(_: State) -> State:
        done.append(100)
        return {"messages": [paid]}

    def say(_: State) -> State:
        return {"messages": [said]}

    async with talk(serving(flow(model, tools, say)), "graph") as one:
        ended = await one.say("pay")
        assert ended.ending == "success"
        assert await thread(one) == [
            ("user", "pay"),
            ("assistant", ["pay"]),
            ("tool", "paid 100"),
            ("assistant", "I paid 100."),
        ]
        # In the order in which it happened, and nothing twice.
        kinds = [e["type"] for e in ended.events if e["type"].endswith(("_START", "_RESULT"))]
        assert kinds == ["TOOL_CALL_START", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START"]
    assert done == [100]


async def test_dicts_are_told_before_a_question_and_after_its_answer() -> None:
    def before(_: State) -> State:
        return {"messages": [{"role": "assistant", "content": "Before."}]}

    def ask(_: State) -> State:
        return {"messages": [("ai", f"You said {interrupt('Which?')}.")]}

    async with talk(serving(flow(before, ask)), "graph") as one:
        asked = await one.say("go")
        assert await thread(one) == [("user", "go"), ("assistant", "Before.")]
        await one.answer(asked, "this")
        assert await thread(one) == [
            ("user", "go"),
            ("assistant", "Before."),
            ("assistant", "You said this."),
        ]


async def test_a_run_that_fails_tells_what_the_checkpoint_has() -> None:
    def model(_: State) -> State:
        return {"messages": [ASKED[1]]}

    def tools(_: State) -> State:
        return {"messages": [PAY[0]]}

    def fail(_: State) -> State:
        raise ValueError("no")

    async with talk(serving(flow(model, tools, fail)), "graph") as one:
        assert (await one.say("pay")).ending == "AGENT_ERROR"
        assert ("tool", "paid 100") in await thread(one)


async def test_a_message_that_the_graph_never_got_is_not_taken_for_one_that_it_took_out() -> None:
    class Lost(InMemorySaver):
        async def aput(self, *_: Any, **__: Any) -> Any:
            raise OSError("the disk is full")

    async with talk(serving(flow(_fails, checkpointer=Lost())), "graph") as one:
        assert (await one.say("keep me")).ending == "AGENT_ERROR"
        assert ("user", "keep me") in await thread(one)


def _fails(_: State) -> State:
    raise ValueError("no")


async def test_words_that_were_redacted_before_a_failure_are_redacted() -> None:
    def redact(state: State) -> State:
        return {"messages": [HumanMessage("[redacted]", id=state["messages"][-1].id)]}

    async with talk(serving(flow(redact, _fails)), "graph") as one:
        assert (await one.say("a secret")).ending == "AGENT_ERROR"
        assert await thread(one) == [("user", "[redacted]")]


# --- what the graph writes anew, or takes out ---


async def test_redacted_words_leave_the_stream_the_store_and_every_reload() -> None:
    model = Model(replies=[AIMessage("write to bob@corp.example please")])
    redacting: Any = PIIMiddleware(
        "email", strategy="redact", apply_to_input=True, apply_to_output=True
    )
    graph = create_agent(model, [], middleware=[redacting], checkpointer=InMemorySaver())
    async with talk(serving(graph), "graph") as one:
        ended = await one.say("my mail is eve@home.example")
        told = snapshots(ended.events)[-1]
        assert [m["content"].strip() for m in told] == [
            "my mail is [REDACTED_EMAIL]",
            "write to [REDACTED_EMAIL] please",
        ]
        assert "@" not in str(await one.messages())
        await one.say("and now")
        assert "@" not in str(await one.messages())


async def test_a_result_that_is_redacted_is_told_so_and_its_call_stays() -> None:
    @tool
    def find() -> str:
        """Find a mail."""
        return "eve@home.example"

    model = Model(replies=[AIMessage("", tool_calls=[call("find")]), AIMessage("Found.")])
    redacting: Any = PIIMiddleware("email", strategy="redact", apply_to_tool_results=True)
    graph = create_agent(model, [find], middleware=[redacting], checkpointer=InMemorySaver())
    async with talk(serving(graph), "graph") as one:
        await one.say("find")
        assert await thread(one) == [
            ("user", "find"),
            ("assistant", ["find"]),
            ("tool", "[REDACTED_EMAIL]"),
            ("assistant", "Found. "),
        ]


async def test_an_image_stays_beside_words_that_are_redacted() -> None:
    def edit(state: State) -> State:
        said = state["messages"][-1]
        return {"messages": [HumanMessage("[redacted]", id=said.id), AIMessage("Seen.")]}

    image = {"type": "image", "source": {"type": "url", "value": "https://a.example/a.png"}}
    async with talk(serving(flow(edit)), "graph") as one:
        content: Any = [{"type": "text", "text": "my secret"}, image]
        await one.say(content)
        (said, _) = await one.messages()
        assert said["content"] == [{"type": "text", "text": "[redacted]"}, image]


async def test_what_is_taken_out_leaves_but_not_what_was_carried_out() -> None:
    done = list[str]()

    @tool
    def pay(to: str) -> str:
        """Pay."""
        done.append(to)
        return f"paid {to}"

    def ask(_: State) -> State:
        return {"messages": [AIMessage("A secret.", tool_calls=[call("pay", to="ann")])]}

    def forget(state: State) -> State:
        gone = [RemoveMessage(id=m.id) for m in state["messages"]]
        return {"messages": [*gone, AIMessage("Forgotten.")]}

    graph = flow(ask, _tools(pay), forget)
    async with talk(serving(graph), "graph") as one:
        await one.say("a secret, too")
        assert await thread(one) == [
            ("assistant", ["pay"]),
            ("tool", "paid ann"),
            ("assistant", "Forgotten."),
        ]
    assert done == ["ann"]


def _tools(*those: Any) -> Any:
    node = ToolNode(list(those))

    async def tools(state: State, config: RunnableConfig) -> Any:
        return await node.ainvoke(state, config)

    return tools


async def test_a_summary_and_the_oldest_turns_stay_what_people_see() -> None:
    model = Model(replies=[AIMessage("ok")])
    shortening = SummarizationMiddleware(
        model=Model(replies=[AIMessage("SUMMARY")]), trigger=("messages", 4), keep=("messages", 1)
    )
    graph = create_agent(model, [], middleware=[shortening], checkpointer=InMemorySaver())

    def trim(state: State) -> State:
        gone = [RemoveMessage(id=m.id) for m in state["messages"][:-2]]
        return {"messages": [*gone, AIMessage("ok ")]}

    for shortened in (graph, flow(trim)):
        async with talk(serving(shortened), "graph") as one:
            for n in range(4):
                ended = await one.say(f"question {n}")
                assert not snapshots(ended.events)
                assert "SUMMARY" not in ended.text
            said = [("user", f"question {n}") for n in range(4)]
            assert [m for m in await thread(one) if m[0] == "user"] == said
            assert [m for m in await thread(one) if m[0] != "user"] == [("assistant", "ok ")] * 4
    assert len(model.requests[-1]) < 4


# --- what is hidden, and what only passed by ---


@pytest.mark.parametrize(
    "metadata",
    [
        {"emit-messages": False, "emit-tool-calls": False},
        {"copilotkit:emit-messages": False, "copilotkit:emit-tool-calls": False},
        {"tags": ["nostream"]},
        {"tags": ["langsmith:nostream"]},
    ],
    ids=lambda told: next(iter(told)) + str(next(iter(told.values()))),
)
async def test_a_hidden_call_is_neither_shown_nor_kept(metadata: dict[str, Any]) -> None:
    thought = AIMessage("SECRET", tool_calls=[call("internal")])

    async def think(state: State, config: RunnableConfig) -> State:
        tags = metadata.get("tags", [])
        about = {key: value for key, value in metadata.items() if key != "tags"}
        hidden: Any = {**config, "tags": tags, "metadata": {**config["metadata"], **about}}
        await Model(replies=[thought]).ainvoke(state["messages"], hidden)
        return says("public")

    async with talk(serving(flow(think)), "graph") as one:
        ended = await one.say("go")
        assert "SECRET" not in ended.raw.decode()
        assert "internal" not in ended.raw.decode()
        assert await thread(one) == [("user", "go"), ("assistant", "public")]


async def test_a_call_of_a_hidden_model_that_is_carried_out_is_told() -> None:
    done = list[str]()

    @tool
    def pay(to: str) -> str:
        """Pay."""
        done.append(to)
        return f"paid {to}"

    model = Model(replies=[AIMessage("SECRET", tool_calls=[call("pay", to="ann")]), AIMessage("x")])
    inner = create_agent(model, [pay])

    async def think(_: State, config: RunnableConfig) -> State:
        hidden = {"emit-messages": False, "emit-tool-calls": False}
        about: Any = {**config, "metadata": {**config["metadata"], **hidden}}
        await inner.ainvoke({"messages": [HumanMessage("pay")]}, about)
        return says("public")

    async with talk(serving(flow(think)), "graph") as one:
        ended = await one.say("go")
        assert "SECRET" not in ended.raw.decode()
        told = await thread(one)
        assert ("tool", "paid ann") in told
        assert ("assistant", ["pay"]) in told
        assert told.index(("assistant", ["pay"])) < told.index(("tool", "paid ann"))
    assert done == ["ann"]


class Route(BaseModel):
    """Where to go."""

    to: str


async def test_what_a_router_decides_is_not_said() -> None:
    router = Model(replies=[AIMessage("", tool_calls=[call("Route", to="flights")])])

    async def route(state: State) -> State:
        chosen: Any = await router.with_structured_output(Route).ainvoke(state["messages"])
        return says(f"On my way to {chosen.to}.")

    async with talk(serving(flow(route)), "graph") as one:
        ended = await one.say("go")
        assert not [e for e in ended.events if e["type"].startswith("TOOL_CALL")]
        assert await thread(one) == [("user", "go"), ("assistant", "On my way to flights.")]


async def test_words_that_only_passed_by_are_not_kept_where_the_graph_has_an_answer() -> None:
    inner = create_agent(Model(replies=[AIMessage("inner answer")]), [])

    async def ask(_: State) -> State:
        got = await inner.ainvoke({"messages": [HumanMessage("sub question")]})
        return says(f"digest: {got['messages'][-1].text}")

    async def only_talks(_: State) -> State:
        await inner.ainvoke({"messages": [HumanMessage("sub question")]})
        return {}

    async def quotes(_: State) -> State:
        got = await inner.ainvoke({"messages": [HumanMessage("sub question")]})
        named = HumanMessage(str(got["messages"][-1].text), name="inner")
        return {"messages": [named, AIMessage("See above.")]}

    kept = {
        ask: ["digest: inner answer "],
        only_talks: ["inner answer "],
        quotes: ["inner answer ", "See above."],
    }
    for node, told in kept.items():
        async with talk(serving(flow(node)), "graph") as one:
            await one.say("go")
            assert await thread(one) == [("user", "go"), *(("assistant", t) for t in told)]


async def test_what_stands_before_a_question_is_kept_and_told_once_in_the_end() -> None:
    model = Model(replies=[AIMessage("I need to know.")])

    async def ask(state: State) -> State:
        said = await model.ainvoke(state["messages"])
        return {"messages": [said, AIMessage(f"You said {interrupt('Which?')}.")]}

    async with talk(serving(flow(ask)), "graph") as one:
        asked = await one.say("go")
        assert await thread(one) == [("user", "go"), ("assistant", "I need to know. ")]
        await one.answer(asked, "this")
        assert [m[1] for m in await thread(one)] == ["go", "I need to know. ", "You said this."]


class Through(Model):
    """Hands its requests on to another model."""

    other: Model

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in self.other.astream(messages):
            yield ChatGenerationChunk(message=chunk)


async def test_a_request_that_is_handed_on_has_what_the_page_shows_once() -> None:
    model = Model(replies=[AIMessage("Yes.")])
    through = Through(replies=[], other=model)

    async def node(state: State) -> State:
        return {"messages": [await through.ainvoke(state["messages"])]}

    async with talk(serving(flow(node)), "graph") as one:
        one.context = [{"description": "The open invoice", "value": "INV-1"}]
        for word in ("one", "two"):
            await one.say(word)
    assert [m.text.count("INV-1") for m in model.requests[-1]] == [0, 0, 1]


async def test_what_the_graph_says_only_to_its_model_is_told_to_nobody() -> None:
    def prime(_: State) -> State:
        return {"messages": [SystemMessage("be kind"), HumanMessage("hint"), AIMessage("Hi.")]}

    async with talk(serving(flow(prime)), "graph") as one:
        await one.say("go")
        assert await thread(one) == [("user", "go"), ("assistant", "Hi.")]
