"""A tool that a framework's own MCP client brings: asked about, and executed once, as any other.

A real server in a process of its own counts what it executes in a file. Each framework is asked in
two ways: by what it has for approvals itself, and by the bridge's policy.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from typing import Any, Final

import pytest
from agent_framework import Agent as AgentFrameworkAgent, MCPStreamableHTTPTool
from agents import Agent as OpenAIAgent
from agents.mcp import MCPServerStreamableHttp
from agno.agent import Agent as AgnoAgent
from agno.tools.mcp import MCPTools
from google.adk.agents import LlmAgent
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from mcp.client.streamable_http import streamable_http_client
from packaging.version import Version
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from strands import Agent as StrandsAgent
from strands.tools.mcp import MCPClient
from strands.vended_interventions.hitl import HumanInTheLoop

from agui_bridge import Adapter, Bridge
from agui_bridge.testing import talk
from agui_bridge_adk import AdkAdapter
from agui_bridge_agent_framework import AgentFrameworkAdapter
from agui_bridge_agno import AgnoAdapter
from agui_bridge_langgraph import LangGraphAdapter
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from agui_bridge_pydantic_ai import PydanticAIAdapter
from agui_bridge_strands import StrandsAdapter
from examples.adk.model import Call as AdkCall, OfflineModel as AdkModel
from examples.agno.offline import Call as AgnoCall, OfflineModel as AgnoModel
from examples.openai_agents.offline import Call as OpenAICall, OfflineModel as OpenAIModel
from examples.strands.model import Call as StrandsCall, OfflineModel as StrandsModel
from tests.adapters.agent_framework.scripted import Call as AgentFrameworkCall, Scripted
from tests.mcp.conftest import Shop

pytestmark = [
    pytest.mark.timeout(240),
    # ADK reads the fields of the SDK by their names of before 2.0, of which fastmcp warns.
    pytest.mark.filterwarnings(
        "ignore:Accessing `.*` is deprecated; MCP SDK v2:DeprecationWarning"
    ),
    pytest.mark.filterwarnings("ignore:`langchain.mcp` is in beta"),
]

TOOL: Final = "delete_rows"
ARGS: Final = {"table": "users", "limit": 3}
DONE: Final = "deleted 3 users"


async def reply(has_result: bool, call: Any) -> AsyncIterator[Any]:
    yield "done" if has_result else call


# Each gives an adapter whose agent has the tools of the server at an address. Where `asks`, the
# framework itself has people approve `delete_rows`.


@asynccontextmanager
async def of_adk(url: str, asks: bool) -> AsyncIterator[Adapter]:
    def model(request: Any) -> Any:
        parts = request.contents[-1].parts or ()
        has_result = any(part.function_response for part in parts)
        return reply(has_result, AdkCall(TOOL, ARGS))

    tools = McpToolset(
        connection_params=StreamableHTTPConnectionParams(url=url), require_confirmation=asks
    )
    yield AdkAdapter(LlmAgent(name="worker", model=AdkModel(reply=model), tools=[tools]))
    await tools.close()


@asynccontextmanager
async def of_agent_framework(url: str, asks: bool) -> AsyncIterator[Adapter]:
    def model(messages: Any, _: Any) -> Any:
        has_result = any(one.type == "function_result" for one in messages[-1].contents)
        return reply(has_result, AgentFrameworkCall(TOOL, ARGS))

    mode: Any = "always_require" if asks else "never_require"
    async with MCPStreamableHTTPTool("shop", url, approval_mode=mode) as tools:
        yield AgentFrameworkAdapter(AgentFrameworkAgent(Scripted(model), tools=[tools]))


@asynccontextmanager
async def of_agno(url: str, asks: bool) -> AsyncIterator[Adapter]:
    def model(messages: Any, _: Any) -> Any:
        return reply(messages[-1].role == "tool", AgnoCall(TOOL, ARGS))

    confirmed = [TOOL] if asks else []
    tools = MCPTools(url=url, transport="streamable-http", requires_confirmation_tools=confirmed)
    async with tools:
        yield AgnoAdapter(AgnoAgent(model=AgnoModel(reply=model), tools=[tools], telemetry=False))


class _LangChainModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("only the stream is read")

    async def _astream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        if isinstance(messages[-1], ToolMessage):
            said: dict[str, Any] = {"content": "done"}
        else:
            call = {"index": 0, "id": "c1", "name": TOOL, "args": json.dumps(ARGS)}
            said = {"content": "", "tool_call_chunks": [call]}
        yield ChatGenerationChunk(message=AIMessageChunk(**said))


@asynccontextmanager
async def of_langgraph(url: str, asks: bool) -> AsyncIterator[Adapter]:
    from langchain.mcp import MCPAdapter

    async with MCPAdapter(url) as adapter:
        tools = await adapter.list_tools()
        people = [HumanInTheLoopMiddleware({TOOL: True})] if asks else []
        graph = create_agent(
            _LangChainModel(), tools, middleware=people, checkpointer=InMemorySaver()
        )
        yield LangGraphAdapter(graph)


@asynccontextmanager
async def of_openai_agents(url: str, asks: bool) -> AsyncIterator[Adapter]:
    def model(items: Any, _: Any) -> Any:
        has_result = items[-1].get("type") == "function_call_output"
        return reply(has_result, OpenAICall(TOOL, ARGS))

    needed: Any = {"always": {"tool_names": [TOOL]}} if asks else None
    async with MCPServerStreamableHttp({"url": url}, require_approval=needed) as server:
        agent: Any = OpenAIAgent(name="worker", model=OpenAIModel(model), mcp_servers=[server])
        yield OpenAIAgentsAdapter(agent)


@asynccontextmanager
async def of_pydantic_ai(url: str, asks: bool) -> AsyncIterator[Adapter]:
    from pydantic_ai.mcp import MCPToolset

    def model(messages: Any, _: Any) -> Any:
        has_result = any(isinstance(part, ToolReturnPart) for part in messages[-1].parts)
        return reply(has_result, {0: DeltaToolCall(name=TOOL, json_args=json.dumps(ARGS))})

    tools: Any = MCPToolset(url)
    if asks:
        tools = tools.approval_required(lambda context, tool, args: tool.name == TOOL)
    yield PydanticAIAdapter(PydanticAgent(FunctionModel(stream_function=model), toolsets=[tools]))


@asynccontextmanager
async def of_strands(url: str, asks: bool) -> AsyncIterator[Adapter]:
    def model(messages: Any, _: Any) -> Any:
        has_result = any("toolResult" in block for block in messages[-1]["content"])
        return reply(has_result, StrandsCall(TOOL, ARGS))

    people: Any = [HumanInTheLoop(allowed_tools=["*", f"!{TOOL}"])] if asks else None

    def connect() -> Any:
        return streamable_http_client(url)

    tools: Any = MCPClient(connect)
    agent = StrandsAgent(
        model=StrandsModel(model), tools=[tools], interventions=people, callback_handler=None
    )
    yield StrandsAdapter(agent)
    await asyncio.to_thread(tools.stop, None, None, None)


Kind = Callable[[str, bool], AbstractAsyncContextManager[Adapter]]

SINCE: Final = {
    "agent_framework": ("agent-framework-core", "1.23"),
    "langgraph": ("langchain", "1.5"),
    "pydantic_ai": ("pydantic-ai-slim", "2.40"),
}
"""The first versions whose client takes the second version of the SDK; the others always did."""

ALL: Final[Mapping[str, Kind]] = {
    "adk": of_adk,
    "agent_framework": of_agent_framework,
    "agno": of_agno,
    "langgraph": of_langgraph,
    "openai_agents": of_openai_agents,
    "pydantic_ai": of_pydantic_ai,
    "strands": of_strands,
}

KINDS: Final = {
    name: kind
    for name, kind in ALL.items()
    if name not in SINCE or Version(version(SINCE[name][0])) >= Version(SINCE[name][1])
}

kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
BY: Final = {"the framework": True, "the policy": False}
by = pytest.mark.parametrize("asks", BY.values(), ids=BY)
ANSWERS: Final[Mapping[str, tuple[dict[str, Any], list[str]]]] = {
    "approved": ({"approved": True}, [DONE]),
    "declined": ({"approved": False, "reason": "not today"}, []),
}


@kinds
@by
@pytest.mark.parametrize(("answer", "executed"), ANSWERS.values(), ids=ANSWERS)
async def test_a_tool_of_an_mcp_server_is_executed_once_approved_and_never_before(
    kind: Kind, asks: bool, answer: dict[str, Any], executed: list[str], shop: Shop
) -> None:
    bridge = Bridge("memory:")
    if not asks:
        bridge.policy(lambda call: "allow" if call.approved else "ask")
    async with kind(shop.url, asks) as adapter:
        bridge.add("worker", adapter)
        async with talk(bridge, "worker") as one:
            asked = await one.say("delete the users")
            (question,) = asked.asks
            assert (question["reason"], shop.effects) == ("tool_call", [])
            told = await asyncio.gather(*(one.answer(asked, answer) for _ in range(3)))
            assert ({each.ending for each in told}, shop.effects) == ({"success"}, executed)
            late = await one.answer(asked, answer)
            assert (late.ending, shop.effects) == ("success", executed)


@pytest.fixture
def ordering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has the models call another tool."""

    def call(tool: str, **args: Any) -> None:
        monkeypatch.setattr(f"{__name__}.TOOL", tool)
        monkeypatch.setattr(f"{__name__}.ARGS", args)

    return call


@pytest.mark.parametrize(
    "kind",
    [kind for name, kind in KINDS.items() if name != "langgraph"],
    ids=[name for name in KINDS if name != "langgraph"],
)
async def test_a_tool_that_asks_in_its_middle_executes_nothing_where_nobody_can_be_asked(
    kind: Kind, shop: Shop, ordering: Callable[..., None]
) -> None:
    ordering("order", item="hat")
    async with kind(shop.url, False) as adapter:
        bridge = Bridge("memory:")
        bridge.add("worker", adapter)
        async with talk(bridge, "worker") as one:
            assert ((await one.say("order")).asks, shop.effects) == ([], [])


Asked = tuple[str, dict[str, Any], tuple[tuple[Any, str], ...], list[str]]
"""The tool and its arguments, each answer with what it is told, what is executed."""

SIZE: Final = {"size": "M"}
ASKED: Final[Mapping[str, Asked]] = {
    "a wrong answer, then a right one": (
        "order",
        {"item": "hat"},
        (({"size": 3}, "INVALID_RESUME_PAYLOAD"), (SIZE, "success")),
        ["ordered hat M False"],
    ),
    "declined": (
        "order",
        {"item": "hat"},
        (({"declined": True}, "success"),),
        ["not ordered hat"],
    ),
    "twice": (
        "tailor",
        {},
        ((SIZE, "interrupt"), ({"colour": "red"}, "success")),
        ["tailored M red"],
    ),
    "an address": (
        "pay",
        {"url": "https://bank.example/sign"},
        (({"opened": True}, "success"),),
        ["paid"],
    ),
    "an address that misleads": (
        "pay",
        {"url": "https://bank.example@evil.example/"},
        (({"opened": True}, "success"),),
        [],
    ),
    "a secret": ("log_in", {}, (({"password": "x"}, "success"),), []),
}


@pytest.mark.skipif(
    "langgraph" not in KINDS,
    reason="only on langchain-mcp-adapters that take the MCP SDK 2.0 or later",
)
@pytest.mark.parametrize(("tool", "args", "answers", "executed"), ASKED.values(), ids=ASKED)
async def test_what_a_server_asks_langchains_client_is_a_form_and_answered_once(
    tool: str,
    args: dict[str, Any],
    answers: tuple[tuple[Any, str], ...],
    executed: list[str],
    shop: Shop,
    ordering: Callable[..., None],
) -> None:
    ordering(tool, **args)
    async with of_langgraph(shop.url, False) as adapter:
        bridge = Bridge("memory:")
        bridge.add("worker", adapter)
        async with talk(bridge, "worker") as one:
            asked = await one.say("go")
            for answer, ending in answers:
                (question,) = asked.asks
                assert question["reason"].startswith("mcp:elicitation")
                assert (question["toolCallId"], shop.effects) == ("c1", [])
                told = await asyncio.gather(*(one.answer(asked, answer) for _ in range(3)))
                assert {each.ending for each in told} == {ending}
                asked = told[0]
        assert shop.effects == executed
