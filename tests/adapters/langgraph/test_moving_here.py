"""What graphs that were made for AG-UI's and CopilotKit's own servers tell a page besides."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.callbacks.manager import adispatch_custom_event
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode
from typing_extensions import TypedDict

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.graphs import State, flow, says, serving
from tests.adapters.langgraph.test_told_and_known import Model, call, thread
from tests.docs.pages import Conversation

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

EVENTS = ("manually_emit", "copilotkit_manually_emit")
CONTEXT = [{"description": "The open invoice", "value": "INV-1"}]


class Shared(MessagesState):
    doc: str
    language: str


@pytest.mark.parametrize("prefix", EVENTS)
async def test_what_the_graphs_code_tells_itself_is_told_as_what_it_is(prefix: str) -> None:
    state = "state" if prefix == EVENTS[0] else "intermediate_state"

    async def work(_: State, config: RunnableConfig) -> State:
        said = {"message_id": "m1", "message": "working", "role": "assistant"}
        await adispatch_custom_event(f"{prefix}_message", said, config=config)
        await adispatch_custom_event(f"{prefix}_{state}", {"doc": "half"}, config=config)
        card = {"id": "t1", "name": "show_card", "args": {"x": 1}}
        await adispatch_custom_event(f"{prefix}_tool_call", card, config=config)
        # CopilotKit's page: "You still need to return the messages from the node."
        return {"doc": "whole", "messages": [AIMessage("working")]}

    async with talk(serving(flow(work, schema=Shared)), "graph") as one:
        ended = await one.say("go")
        shown = [e["snapshot"] for e in ended.events if e["type"] == "STATE_SNAPSHOT"]
        assert shown[-2:] == [{"doc": "half"}, {"doc": "whole"}]
        args = [e["delta"] for e in ended.events if e["type"] == "TOOL_CALL_ARGS"]
        assert args == ['{"x": 1}']
        told = await thread(one)
        assert ("assistant", ["show_card"]) in told
        assert told.count(("assistant", "working")) == 1
        assert await one.state() == {"doc": "whole"}


async def test_a_call_that_is_emitted_and_then_returned_is_one_call() -> None:
    async def work(_: State, config: RunnableConfig) -> State:
        card = {"id": "t1", "name": "show_card", "args": {"x": 1}}
        await adispatch_custom_event("manually_emit_tool_call", card, config=config)
        return {"messages": [AIMessage("", tool_calls=[call("show_card", "t1", x=1)])]}

    async with talk(serving(flow(work)), "graph") as one:
        ended = await one.say("go")
        assert len([e for e in ended.events if e["type"] == "TOOL_CALL_START"]) == 1


@pytest.mark.parametrize("key", ["predict_state", "copilotkit:emit-intermediate-state"])
async def test_predicted_state_is_announced_before_the_call(key: str) -> None:
    predicts = [{"state_key": "doc", "tool": "write_doc", "tool_argument": "text"}]
    writer = Model(replies=[AIMessage("", tool_calls=[call("write_doc", text="hello")])])

    async def write(state: State, config: RunnableConfig) -> State:
        about: Any = {**config, "metadata": {**config["metadata"], key: predicts}}
        said = await writer.ainvoke(state["messages"], about)
        result = {"role": "tool", "content": "written", "tool_call_id": "c1"}
        return {"messages": [said, result], "doc": "hello"}

    async with talk(serving(flow(write, schema=Shared)), "graph") as one:
        ended = await one.say("go")
        kinds = [e["type"] for e in ended.events]
        at = kinds.index("CUSTOM")
        assert ended.events[at]["value"] == predicts
        assert at < kinds.index("TOOL_CALL_START")
        # No older state between: the page would take its prediction back.
        assert "STATE_SNAPSHOT" not in kinds[at : kinds.index("TOOL_CALL_END")]
        assert await one.state() == {"doc": "hello"}
        assert ("tool", "written") in await thread(one)


async def test_context_is_told_in_the_state_or_to_the_model_never_both() -> None:
    class Made(MessagesState):
        copilotkit: dict[str, Any]

    for schema in (MessagesState, Made):
        model = Model(replies=[AIMessage("ok")])
        found = list[Any]()

        async def think(state: Any, model: Any = model, found: Any = found) -> State:
            found.append(state.get("copilotkit"))
            return {"messages": [await model.ainvoke(state["messages"])]}

        async with talk(serving(flow(think, schema=schema)), "graph") as one:
            one.context = CONTEXT
            await one.say("go")
            assert "INV-1" not in str(await one.messages())
        in_state = bool(found[0])
        assert in_state is (schema is Made)
        assert ("INV-1" in str(model.requests)) is not in_state
        assert ("INV-1" in str(found)) is in_state


async def test_context_reaches_models_of_code_but_no_prompt_that_the_person_did_not_write() -> None:
    model = Model(replies=[AIMessage("ok")])
    saver = InMemorySaver()

    async def think(state: State) -> State:
        # What the person said, under an id of its own; and a prompt of the code's own.
        await model.ainvoke([("user", state["messages"][-1].content)])
        await model.ainvoke([HumanMessage("something else")])
        return {"messages": [await model.ainvoke(state["messages"])]}

    async with talk(serving(flow(think, checkpointer=saver)), "graph") as one:
        one.context = CONTEXT
        await one.say("go")
        await one.say("go on")
    assert [str(request).count("INV-1") for request in model.requests] == [1, 0, 1] * 2
    assert "INV-1" not in str([kept.checkpoint for kept in saver.list(None)])


async def test_what_a_client_forwards_is_input_only_where_it_is_allowed() -> None:
    def tell(state: State) -> State:
        return says(f"{state.get('language')} {state.get('doc')}")

    told = []
    for allowed in (False, ["language"], True):
        bridge = serving(flow(tell, schema=Shared), forwarded_props=allowed)
        one = Conversation(bridge, "graph", keeps_list=True)
        async with bridge.lifespan():
            props = {"language": "de", "doc": "d", "messages": [], "other": 1}
            said = [{"id": "u", "role": "user", "content": "go"}]
            await one._send(messages=said, forwardedProps=props)
        told += [e["delta"] for e in one.events if e["type"] == "TEXT_MESSAGE_CONTENT"]
    assert told == ["None None", "de None", "de d"]


async def test_nodes_of_subgraphs_are_steps_and_messages_have_their_agents_name() -> None:
    inner = create_agent(Model(replies=[AIMessage("hi")]), [], name="planner")

    def last(_: State) -> State:
        return {"messages": [AIMessage("bye", name="closer")]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("plan", inner)
    builder.add_node("last", last)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "last")
    async with talk(serving(builder.compile(checkpointer=InMemorySaver())), "graph") as one:
        ended = await one.say("go")
        steps = [e["stepName"] for e in ended.events if e["type"] == "STEP_STARTED"]
        assert steps == ["plan", "model", "last"]
        assert [m.get("name") for m in await one.messages()] == [None, "planner", "closer"]


async def test_an_approval_waits_for_a_tool_that_is_gone_until_it_is_back() -> None:
    done, saver = list[str](), InMemorySaver()

    @tool
    def pay(to: str) -> str:
        """Pay."""
        done.append(to)
        return f"paid {to}"

    @tool
    def look() -> str:
        """Look."""
        return ""

    model = Model(replies=[AIMessage("", tool_calls=[call("pay", to="ann")]), AIMessage("Done.")])

    def graph(*tools: Any) -> Any:
        gate: Any = HumanInTheLoopMiddleware({"pay": True})
        return create_agent(model, list(tools), middleware=[gate], checkpointer=saver)

    holder = [graph(pay, look)]
    adapter = LangGraphAdapter(lambda: holder[0])
    bridge = Bridge("memory:")
    bridge.add("graph", adapter)
    async with talk(bridge, "graph") as one:
        asked = await one.say("pay")
        holder[0] = graph(look)
        await adapter.aclose()
        refused = await one.answer(asked, {"approved": True})
        assert "has no tool 'pay' any more" in refused.fault
        assert done == []
        holder[0] = graph(pay, look)
        await adapter.aclose()
        assert (await one.answer(asked, {"approved": True})).ending == "success"
    assert done == ["ann"]


async def test_an_edit_with_an_argument_that_the_tool_does_not_take_runs_nothing() -> None:
    done = list[str]()

    @tool
    def pay(to: str) -> str:
        """Pay."""
        done.append(to)
        return f"paid {to}"

    replies = [AIMessage("", tool_calls=[call("pay", to="ann")]), AIMessage("Done.")]
    gate: Any = HumanInTheLoopMiddleware({"pay": True})
    graph = create_agent(
        Model(replies=replies), [pay], middleware=[gate], checkpointer=InMemorySaver()
    )
    async with talk(serving(graph), "graph") as one:
        asked = await one.say("pay")
        more = {"approved": True, "editedArgs": {"to": "eve", "amount": 5}}
        assert (await one.answer(asked, more)).ending == "INVALID_RESUME_PAYLOAD"
        assert done == []
        fits = {"approved": True, "editedArgs": {"to": "eve"}}
        assert (await one.answer(asked, fits)).ending == "success"
    assert done == ["eve"]


async def test_an_official_servers_agent_is_taken_for_the_graph_inside() -> None:
    class LangGraphAgent:
        def __init__(self, graph: Any, config: Any) -> None:
            self.graph, self.config = graph, config

    LangGraphAgent.__module__ = "ag_ui_langgraph.agent"
    seen = list[Any]()

    def see(_: State, config: RunnableConfig) -> State:
        seen.append(config["configurable"]["tenant"])
        return says("ok")

    agent = LangGraphAgent(flow(see), {"configurable": {"tenant": "acme"}})
    async with talk(serving(agent), "graph") as one:
        assert (await one.say("go")).text == "ok"
    assert seen == ["acme"]


@pytest.mark.parametrize(
    ("owner", "name"), [(BaseChatModel, "_convert_input"), (ToolNode, "__init__")]
)
async def test_a_version_that_lacks_what_is_replaced_is_refused_when_the_agent_is_added(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agui_bridge_langgraph import adapter

    def nothing(self: Any, *_: Any) -> None:
        pass

    graph = flow(lambda_node)
    adapter._expect_known_versions.cache_clear()
    if name == "__init__":
        monkeypatch.setattr(owner, name, nothing)
    else:
        monkeypatch.delattr(owner, name)
    with pytest.raises(ConfigurationError, match=r"Install lang(chain|graph)"):
        LangGraphAdapter(graph)
    monkeypatch.undo()
    adapter._expect_known_versions.cache_clear()


def lambda_node(_: State) -> State:
    return {}


@pytest.mark.parametrize("allowed", [True, False])
async def test_copilotkits_middleware_finds_what_it_makes_surfaces_by(allowed: bool) -> None:
    Made = TypedDict("Made", {"messages": Annotated[list[Any], add_messages], "ag-ui": Any})
    found = list[Any]()

    def tell(state: Made) -> State:
        found.append(state["ag-ui"])
        return says("ok")

    schema: Any = {"description": "A2UI Component Schema — available", "value": "{}"}
    options: Any = {} if allowed else {"a2ui": None}
    async with talk(serving(flow(tell, schema=Made), **options), "graph") as one:
        one.context = [*CONTEXT, schema]
        one.forwarded = {"injectA2UITool": "paint"}
        await one.say("go")
        one.context, one.forwarded = CONTEXT, {}
        await one.say("go on")
    offered, later = found
    if not allowed:
        assert "inject_a2ui_tool" not in offered and offered["context"] == [*CONTEXT, schema]
        return
    # As behind ag-ui-langgraph: the components apart from what the page shows.
    assert offered["inject_a2ui_tool"] == "paint"
    assert (offered["a2ui_schema"], offered["context"]) == ("{}", CONTEXT)
    assert later.keys() == {"tools", "context"}
