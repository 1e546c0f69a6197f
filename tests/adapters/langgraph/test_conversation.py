"""What is remembered from turn to turn, and what a run tells."""

from __future__ import annotations

import operator
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from agui_bridge import Bridge, Principal, Run
from agui_bridge.testing import talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.mailer import Mailer
from tests.adapters.langgraph.model import ScriptedModel, mails
from tests.adapters.langgraph.serving import conversing, serving, talking
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio

# --- the conversation ---


async def test_a_message_sent_along_with_the_answer_comes_after_what_it_answers() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("send bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
        await one.say("hello again", resume=[entry])
        assert one.events[-1]["outcome"]["type"] == "success"
    assert len(mailer.done) == 1
    kinds = [m.type for m in mailer.requests[-1]]
    assert kinds == ["human", "ai", "tool", "ai", "human"]


async def test_a_message_sent_along_waits_for_the_next_answer_too() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("twice bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
        await one.say("hello again", resume=[entry])
        assert "hello again" not in mailer.told()
        await one.answer(YES)
        assert one.events[-1]["outcome"]["type"] == "success"
    assert len(mailer.done) == 2
    assert mailer.told().count("hello again") == 1


async def test_an_answer_that_is_asked_anew_is_not_remembered() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("hello")
        (own,) = [e["messageId"] for e in one.events if e["type"] == "TEXT_MESSAGE_START"]
        first = [
            {"id": "u1", "role": "user", "content": "hello"},
            {"id": own, "role": "assistant", "content": "Hello."},
        ]
        await one.say("think trees")
        await one._send(messages=[*first, {"id": "u2", "role": "user", "content": "think trees"}])
        assert len(mailer.requests) == 3
        assert "I thought of trees." not in mailer.told()
        assert [m.type for m in mailer.requests[-1]] == ["human", "ai", "human"]
        edited = {"id": "u9", "role": "user", "content": "think stones"}
        await one._send(messages=[*first, edited])
    assert "trees" not in mailer.told()
    assert mailer.told().count("think stones") == 1


async def test_turns_that_left_for_the_threads_size_leave_the_graph_and_no_others() -> None:
    mailer = Mailer()
    bridge = Bridge("memory:")
    bridge.add("mailer", LangGraphAdapter(mailer.graph), max_thread_bytes=4_000)
    async with conversing(bridge) as one:
        for n in range(5):
            said = {"id": f"u{n}", "role": "user", "content": f"hello {n} ".ljust(900, "x")}
            await one._send(messages=[said])
    told = [m.id for m in mailer.requests[-1] if m.type == "human"]
    assert told == ["u2", "u3", "u4"]
    assert [m.type for m in mailer.requests[-1]] == ["human", "ai", "human", "ai", "human"]


async def test_what_the_graphs_author_put_into_the_conversation_stays() -> None:
    class Summary(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if any(message.id == "s" for message in state["messages"]):
                return None
            return {"messages": [HumanMessage("A summary.", id="s")]}

    mailer = Mailer(middleware=[Summary()])
    async with conversing(serving(mailer)) as one:
        await one.say("hello")
        await one.say("hello")
        await one.say("hello")
    assert [m.type for m in mailer.requests[-1]].count("human") == 4


async def test_images_reach_the_model_now_and_in_the_history() -> None:
    mailer = Mailer()
    image = {
        "type": "image",
        "source": {"type": "data", "value": "iVBORw==", "mimeType": "image/png"},
    }
    message = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "hello"}, image]}
    async with conversing(serving(mailer)) as one:
        await one._send(messages=[message])
        one._sent = 1
        await one.say("hello")
    for request in mailer.requests:
        (found,) = [b for m in request for b in m.content_blocks if b["type"] == "image"]
        assert (found["base64"], found["mime_type"]) == ("iVBORw==", "image/png")


async def test_a_failed_call_is_told_to_the_next_turn_and_not_carried_out_again() -> None:
    def fail(effect: Any) -> None:
        done.append(effect)
        raise RuntimeError

    done: list[Any] = []
    mailer = Mailer(fail)
    async with talking(mailer) as one:
        assert (await one.answer(await one.say("send bob"), YES)).ending == "AGENT_ERROR"
        assert (await one.say("hello")).text == "Hello."
    assert len(done) == 1
    assert "whether this tool call was executed is unknown" in mailer.results("send_email")[0]


# --- what a run gives ---


class Report(BaseModel):
    sent: int


async def test_text_arguments_and_results_are_told_in_their_order() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = await one.say("look bob")
    kinds = [event["type"] for event in stream.events]
    assert "I will do it. " in stream.text
    assert kinds.count("TOOL_CALL_ARGS") == 2
    assert kinds.index("TOOL_CALL_END") < kinds.index("TOOL_CALL_RESULT")
    steps = [(e["type"], e["stepName"]) for e in stream.events if "STEP" in e["type"]]
    assert steps[:2] == [("STEP_STARTED", "model"), ("STEP_FINISHED", "model")]
    assert ("STEP_STARTED", "tools") in steps
    assert stream.events[-1]["usage"][0]["outputTokens"] == 3


class Themed(AgentState[Any]):
    theme: str
    notes: Annotated[list[str], operator.add]


async def test_state_goes_both_ways() -> None:
    @tool
    def set_theme(theme: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Set the theme."""
        message = ToolMessage("set", tool_call_id=tool_call_id)
        return Command(update={"theme": theme, "notes": [theme], "messages": [message]})

    def steps(verb: str, rest: str) -> list[list[Any]]:
        return [[("set_theme", {"theme": rest})]] if verb == "theme" else mails(verb, rest)

    model = ScriptedModel(steps=steps)
    graph = create_agent(model, [set_theme], state_schema=Themed, checkpointer=InMemorySaver())
    bridge = Bridge("memory:")
    bridge.add("mailer", graph)
    async with conversing(bridge) as one:
        await one.say("theme dark", state={"theme": "light", "notes": ["first"], "mine": 1})
        shown = [e["snapshot"] for e in one.events if e["type"] == "STATE_SNAPSHOT"]
        assert shown[0]["theme"] == "light"
        assert shown[-1]["theme"] == "dark"
        assert shown[-1]["notes"] == ["first", "dark"]
        await one.say("theme blue", state={"theme": "red", "notes": ["only"]})
        shown = [e["snapshot"] for e in one.events if e["type"] == "STATE_SNAPSHOT"]
    assert shown[-1] == {"theme": "blue", "notes": ["only", "blue"]}


async def test_a_structured_output_is_the_runs_result() -> None:
    def steps(verb: str, rest: str) -> list[list[Any]]:
        return [[("Report", {"sent": 1})]]

    model = ScriptedModel(steps=steps)
    graph = create_agent(
        model, [], response_format=ToolStrategy(Report), checkpointer=InMemorySaver()
    )
    bridge = Bridge("memory:")
    bridge.add("mailer", graph)
    async with talk(bridge, "mailer") as one:
        stream = await one.say("report")
    assert stream.events[-1]["result"] == {"sent": 1}


async def test_the_context_is_made_of_who_asks() -> None:
    seen = list[str]()

    class See(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> None:
            seen.append(runtime.context)

    mailer = Mailer(middleware=[See()])

    async def context(run: Run) -> str:
        return f"for {run.principal.actor}"

    bridge = serving(mailer, graph_context=context)
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        await one.say("hello")
    assert seen == ["for ann"]


async def test_an_agent_without_streaming_is_told_whole() -> None:
    mailer = Mailer()
    mailer.model.disable_streaming = True
    async with talking(mailer) as one:
        asked = await one.say("mixed bob")
        done = await one.answer(asked, YES)
    assert (asked.text, done.text) == ("I will do it. ", "Done with 2 calls.")
    names = [e["toolCallName"] for e in asked.events if e["type"] == "TOOL_CALL_START"]
    assert names == ["look_up", "send_email"]
    assert not [e for e in done.events if e["type"] == "TOOL_CALL_START"]
