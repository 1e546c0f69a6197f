"""Agents of each kind that can make A2UI surfaces, with clients of real providers.

One server says what all their models say: the first request is the agent's, the ones after its call
of `generate_a2ui` draw, and the last one ends the turn.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

from ag_ui.core import BaseEvent, ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent
from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from langchain.agents import create_agent
from langchain_core.tools import tool as langchain_tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openai import AsyncOpenAI
from strands import Agent, tool as strands_tool
from strands.models.openai import OpenAIModel

from agui_bridge.agents.chat import ChatAgent
from agui_bridge.agents.chat.endpoint import chat_messages
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.frameworks.a2ui.offer import GENERATE
from agui_bridge.frameworks.a2ui.settings import WHERE_OFFERED
from agui_bridge.frameworks.application import Application, with_words
from agui_bridge.media import handles_at
from agui_bridge_adk import AdkAdapter
from agui_bridge_langgraph import FrontendTools, LangGraphAdapter
from agui_bridge_strands import StrandsAdapter
from tests.servers.model.gemini import MODEL

Item = str | BaseEvent
Painter = Callable[[str, AsyncExitStack, Mapping[str, Any]], Any]
"""Makes an agent, given the server's address, what closes its connections, and options."""


def generate_a2ui(intent: str = "create") -> str:
    """Make a surface without a model."""
    return '{"a2ui_operations": []}'


_OF_TESTS: Final = ("own", "frontend")


def split(options: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
    """Whether the agent has a tool of its own, and the adapter's options."""
    return bool(options.get("own")), {k: v for k, v in options.items() if k not in _OF_TESTS}


def strands(base: str, used: AsyncExitStack, options: Mapping[str, Any]) -> Any:
    client = AsyncOpenAI(base_url=base, api_key="k", max_retries=0)
    used.push_async_callback(client.close)
    model = OpenAIModel(client=client, model_id="scripted")
    own, more = split(options)
    tools: list[Any] = [strands_tool(generate_a2ui)] if own else []
    agent = Agent(model=model, tools=tools, callback_handler=None)
    return StrandsAdapter(agent, **more)


def chat(base: str, used: AsyncExitStack, options: Mapping[str, Any]) -> Any:
    own, more = split(options)
    tools = [generate_a2ui] if own else []
    return ChatAgent("scripted", tools=tools, base_url=base, api_key="k", retries=0, **more)


def adk(base: str, used: AsyncExitStack, options: Mapping[str, Any]) -> Any:
    model = Gemini(model=MODEL, base_url=base.removesuffix("/v1"))
    used.push_async_callback(model.api_client.aio.aclose)
    own, more = split(options)
    agent = LlmAgent(name="painter", model=model, tools=[generate_a2ui] if own else [])
    return AdkAdapter(agent, **more)


def function(base: str, used: AsyncExitStack, options: Mapping[str, Any]) -> Any:
    """A loop written by hand."""
    client = AsyncOpenAI(base_url=base, api_key="k", max_retries=0)
    used.push_async_callback(client.close)
    own, more = split(options)

    async def deltas(messages: Any, tools: Any, **choice: Any) -> AsyncIterator[Any]:
        stream = await client.chat.completions.create(
            model="scripted", messages=messages, tools=functions(tools), stream=True, **choice
        )
        async for chunk in stream:
            for each in chunk.choices:
                yield each.delta

    async def agent(run: FunctionRun) -> None:
        page = run.page(None if own else more.get("a2ui", WHERE_OFFERED))
        tools = [one.model_dump() for one in page.tools]
        if own:
            tools.append({"name": GENERATE, "description": "", "parameters": {"type": "object"}})
        elif page.offer is not None:
            tools.append(page.offer.tool)
        turns = with_words(run.turns(), Application().words(run, page.context))
        messages = chat_messages(turns, [tool["name"] for tool in tools], handles_at(base, set()))
        for number in itertools.count():
            calls = list[dict[str, str]]()

            async def reply(
                into: Any = calls, heard: Any = messages
            ) -> AsyncIterator[str | BaseEvent]:
                async for delta in deltas(heard, tools):
                    if delta.content:
                        yield delta.content
                    for part in delta.tool_calls or ():
                        if part.function.name:
                            into.append({"id": f"{run.run_id}-{part.id}", "args": ""})
                            into[-1]["name"] = part.function.name
                            yield ToolCallStartEvent(
                                tool_call_id=into[-1]["id"], tool_call_name=into[-1]["name"]
                            )
                        piece = part.function.arguments or ""
                        into[-1]["args"] += piece
                        yield ToolCallArgsEvent(tool_call_id=into[-1]["id"], delta=piece)
                for call in into:
                    yield ToolCallEndEvent(tool_call_id=call["id"])

            await run.stream("reply", reply, key=str(number))
            kept: Any = await run.step("calls", lambda got=calls: got, key=str(number))
            if not kept:
                return
            (call,) = kept
            args = json.loads(call["args"])
            if page.offer is not None and call["name"] == GENERATE:

                async def draw(
                    prompt: str, offer: Any = page.offer, heard: Any = messages
                ) -> AsyncIterator[str]:
                    told = [{"role": "system", "content": prompt}, *heard]
                    named = {"type": "function", "function": {"name": offer.draw["name"]}}
                    async for delta in deltas(told, [offer.draw], tool_choice=named):
                        for part in delta.tool_calls or ():
                            yield part.function.arguments or ""

                result = await run.surface(page.offer, draw, args=args, call_id=call["id"])
            else:
                result = await run.frontend_tool(call["name"], args, call_id=call["id"])
            told = {"name": call["name"], "arguments": call["args"]}
            made = [{"id": call["id"], "type": "function", "function": told}]
            answer = {"role": "tool", "tool_call_id": call["id"], "content": str(result)}
            messages = [*messages, {"role": "assistant", "tool_calls": made}, answer]

    return FunctionAdapter(agent)


def functions(tools: Any) -> list[Any]:
    """Tools as chat completions describe them."""
    return [{"type": "function", "function": tool} for tool in tools]


def langgraph(base: str, used: AsyncExitStack, options: Mapping[str, Any]) -> Any:
    model = ChatOpenAI(model="scripted", base_url=base, api_key="k", stream_usage=True)
    own, more = split(options)
    tools = [langchain_tool(generate_a2ui)] if own else []
    middleware: Any = [FrontendTools()] if options.get("frontend", True) else []
    saver = InMemorySaver()
    return LangGraphAdapter(
        create_agent(model, tools, middleware=middleware, checkpointer=saver), **more
    )


PAINTERS: Final[Mapping[str, Painter]] = {
    "adk": adk,
    "chat": chat,
    "function": function,
    "langgraph": langgraph,
    "strands": strands,
}
