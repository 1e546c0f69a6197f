"""The agents of `benchmarks.budget.frameworks`, whose models say the same tokens at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Final

from benchmarks.measuring.requests import new_thread

TOKEN: Final = " token"


@dataclass(frozen=True)
class Contender:
    """An agent, and what one has without the bridge.

    Attributes:
        agent: what the bridge is given.
        alone: the framework's own stream, as its documentation reads it, as texts.
        official: its maker's AG-UI endpoint, where there is one that is installed.
    """

    agent: Any
    alone: Callable[[], AsyncIterator[str]]
    official: Any = None


def _adk(tokens: int) -> Contender:
    from google.adk.agents import LlmAgent, RunConfig

    # Documented there; ADK makes it in a private module and does not tell type checkers.
    from google.adk.agents.run_config import StreamingMode  # type: ignore[attr-defined]
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    from examples.adk.model import OfflineModel

    async def said(_request: object) -> AsyncIterator[str]:
        for _ in range(tokens):
            yield TOKEN

    agent = LlmAgent(name="agent", model=OfflineModel(reply=said))
    message = types.Content(role="user", parts=[types.Part(text="go")])

    async def alone() -> AsyncIterator[str]:
        runner, thread = InMemoryRunner(agent, app_name="agent"), new_thread()
        await runner.session_service.create_session(
            app_name="agent", user_id="user", session_id=thread
        )
        async for event in runner.run_async(
            user_id="user",
            session_id=thread,
            new_message=message,
            run_config=RunConfig(streaming_mode=StreamingMode.SSE),
        ):
            if event.partial and event.content is not None:
                for part in event.content.parts or ():
                    yield part.text or ""

    return Contender(agent, alone)


def _agent_framework(tokens: int) -> Contender:
    from agent_framework import Agent

    from examples.agent_framework.model import OfflineClient

    async def said(_messages: object, _options: object) -> AsyncIterator[str]:
        for _ in range(tokens):
            yield TOKEN

    agent = Agent(OfflineClient(said), name="agent")

    async def alone() -> AsyncIterator[str]:
        async for update in agent.run("go", stream=True, session=agent.create_session()):
            yield update.text

    return Contender(agent, alone)


def _agno(tokens: int) -> Contender:
    from agno.agent import Agent
    from agno.models.message import Message
    from agno.run.agent import RunContentEvent

    from examples.agno.offline import OfflineModel

    async def said(_messages: list[Message], _tools: set[str]) -> AsyncIterator[str]:
        for _ in range(tokens):
            yield TOKEN

    agent = Agent(model=OfflineModel(reply=said), telemetry=False)

    async def alone() -> AsyncIterator[str]:
        async for event in agent.arun("go", stream=True, session_id=new_thread()):
            if isinstance(event, RunContentEvent) and isinstance(event.content, str):
                yield event.content

    return Contender(agent, alone)


def _pydantic_ai(tokens: int) -> Contender:
    from pydantic_ai import Agent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.ui.ag_ui import AGUIAdapter
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def said(_messages: object, _info: object) -> AsyncIterator[str]:
        for _ in range(tokens):
            yield TOKEN

    agent = Agent(FunctionModel(stream_function=said))

    async def alone() -> AsyncIterator[str]:
        async with agent.run_stream_events("go") as events:
            async for event in events:
                match event:
                    case PartStartEvent(part=TextPart(content=text)):
                        yield text
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                        yield text

    async def official(request: Request) -> Response:
        answer: Response = await AGUIAdapter.dispatch_request(request, agent=agent)
        return answer

    app = Starlette(routes=[Route("/agents/agent", official, methods=["POST"])])
    return Contender(agent, alone, app)


def _openai_agents(tokens: int) -> Contender:
    from agents import Agent, Runner, Tool, set_tracing_disabled

    from examples.openai_agents.offline import Item, OfflineModel

    async def said(_items: list[Item], _tools: list[Tool]) -> AsyncIterator[str]:
        for _ in range(tokens):
            yield TOKEN

    set_tracing_disabled(True)
    agent: Agent[Any] = Agent("agent", model=OfflineModel(said))

    async def alone() -> AsyncIterator[str]:
        async for event in Runner.run_streamed(agent, "go").stream_events():
            if (
                event.type == "raw_response_event"
                and event.data.type == "response.output_text.delta"
            ):
                yield event.data.delta

    return Contender(agent, alone)


def _strands(tokens: int) -> Contender:
    from strands import Agent

    from examples.strands.model import OfflineModel

    async def said(_messages: object, _names: object) -> AsyncIterator[str]:
        for _ in range(tokens):
            yield TOKEN

    def made() -> Agent:
        return Agent(model=OfflineModel(said), callback_handler=None)

    async def alone() -> AsyncIterator[str]:
        async for event in made().stream_async("go"):
            if "data" in event:
                yield event["data"]

    return Contender(made(), alone)


def _langgraph(tokens: int) -> Contender:
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk, HumanMessage
    from langchain_core.outputs import ChatGenerationChunk, ChatResult
    from langgraph.checkpoint.memory import InMemorySaver

    class Ready(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "ready"

        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            raise NotImplementedError

        async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
            for _token in range(tokens):
                yield ChatGenerationChunk(message=AIMessageChunk(content=TOKEN))

    graph = create_agent(Ready(), checkpointer=InMemorySaver())

    async def alone() -> AsyncIterator[str]:
        config: Any = {"configurable": {"thread_id": new_thread()}}
        given: Any = {"messages": [HumanMessage("go")]}
        parts: AsyncIterator[Any] = graph.astream(given, config, stream_mode="messages")
        async for chunk, _ in parts:
            yield chunk.content

    return Contender(graph, alone, _official_langgraph(graph))


def _official_langgraph(graph: Any) -> Any:
    """ag-ui-langgraph's endpoint; None where that is not installed."""
    if find_spec("ag_ui_langgraph") is None:
        return None
    from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
    from fastapi import FastAPI

    app = FastAPI()
    agent = LangGraphAgent(name="agent", graph=graph)
    add_langgraph_fastapi_endpoint(app, agent, "/agents/agent")
    return app


FRAMEWORKS: Final[Mapping[str, Callable[[int], Contender]]] = {
    "agent_framework": _agent_framework,
    "agents": _openai_agents,
    "agno": _agno,
    "google.adk": _adk,
    "langgraph": _langgraph,
    "pydantic_ai": _pydantic_ai,
    "strands": _strands,
}
"""By the module that must be installed."""


def is_installed(module: str) -> bool:
    """Whether a module can be imported, `google.adk` where nothing is called `google` too."""
    return find_spec(module.partition(".")[0]) is not None and find_spec(module) is not None
