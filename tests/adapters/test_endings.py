"""How a run ends, behind every framework that runs in this process: one table for all of them.

What only one of them does stands in its row: `Kind`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from agent_framework import Agent as AgentFrameworkAgent, InMemoryCheckpointStorage
from agents import (
    Agent as OpenAIAgent,
    GuardrailFunctionOutput,
    function_tool,
    input_guardrail,
    output_guardrail,
)
from agno.agent import Agent as AgnoAgent
from google.adk.agents import LlmAgent, RunConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.workflow import Workflow, _tool_node
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool as langchain_tool
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.agent.workflow import FunctionAgent
from pydantic_ai import Agent as PydanticAgent, UsageLimits
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from strands import Agent as StrandsAgent, tool as strands_tool

from agui_bridge import Adapter, Bridge
from agui_bridge.protocol.answers.unexecuted import FAILED_AMID, STOPPED_AMID
from agui_bridge.testing import talk
from agui_bridge.testing.conversation import Stream
from agui_bridge_adk import AdkAdapter
from agui_bridge_agent_framework import AgentFrameworkAdapter
from agui_bridge_agno import AgnoAdapter
from agui_bridge_langgraph import LangGraphAdapter
from agui_bridge_llama_index import LlamaIndexAdapter
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from agui_bridge_pydantic_ai import PydanticAIAdapter
from agui_bridge_strands import StrandsAdapter
from examples.adk.model import Call as AdkCall, OfflineModel as AdkModel
from examples.agno.offline import Call as AgnoCall, OfflineModel as AgnoModel
from examples.llama_index.model import Call as LlamaIndexCall, OfflineModel as LlamaIndexModel
from examples.openai_agents.offline import Call as OpenAICall, OfflineModel as OpenAIModel
from examples.strands.model import Call as StrandsCall, OfflineModel as StrandsModel
from tests.adapters.agent_framework.flows import agents
from tests.adapters.agent_framework.scripted import Call as AgentFrameworkCall, Scripted

pytestmark = pytest.mark.timeout(120)


async def nothing() -> None:
    pass


async def fail() -> None:
    raise LookupError("nothing there")


async def wait() -> None:
    await asyncio.Event().wait()


async def cut_off() -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


@dataclass
class Scene:
    """What a model and its tool do in the first run of a thread; the second is a plain one.

    Attributes:
        model: done once the model has said half of its words.
        tool: what the tool does.
        is_endless: whether the model calls its tool again and again.
        is_over: whether the first run is.
        begun: set when the tool begins.
        done: how many times the tool came to its end.
    """

    model: Callable[[], Awaitable[None]] = nothing
    tool: Callable[[], Awaitable[None]] = nothing
    is_endless: bool = False
    is_over: bool = False
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    done: int = 0

    async def reply(self, has_result: bool, call: Any) -> AsyncIterator[Any]:
        """What the model says: texts, and a call as its framework has it."""
        if self.is_over or (has_result and not self.is_endless):
            yield "whole"
            return
        yield "half "
        await self.model()
        yield call

    async def work(self) -> str:
        """Work."""
        self.begun.set()
        await self.tool()
        self.done += 1
        return "worked"


def of_adk(scene: Scene, limit: bool) -> Adapter:
    def reply(request: Any) -> Any:
        parts = request.contents[-1].parts or ()
        return scene.reply(any(part.function_response for part in parts), AdkCall("work"))

    agent = LlmAgent(name="worker", model=AdkModel(reply=reply), tools=[scene.work])
    return AdkAdapter(agent, run_config=RunConfig(max_llm_calls=3) if limit else None)


def of_an_adk_workflow(scene: Scene, limit: bool) -> Adapter:
    def reply(request: Any) -> Any:
        parts = request.contents[-1].parts or ()
        return scene.reply(any(part.function_response for part in parts), AdkCall("work"))

    agent = LlmAgent(name="worker", model=AdkModel(reply=reply), tools=[scene.work])
    edges: Any = [("START", agent)]
    flow = Workflow(name="flow", edges=edges)
    return AdkAdapter(flow, run_config=RunConfig(max_llm_calls=3) if limit else None)


def _agent_framework_agent(scene: Scene) -> Any:
    def reply(messages: Any, _: Any) -> Any:
        has_result = any(one.type == "function_result" for one in messages[-1].contents)
        return scene.reply(has_result, AgentFrameworkCall("work", {}))

    return AgentFrameworkAgent(Scripted(reply), tools=[scene.work])


def of_agent_framework(scene: Scene, limit: bool) -> Adapter:
    return AgentFrameworkAdapter(_agent_framework_agent(scene))


def of_a_workflow(scene: Scene, limit: bool) -> Adapter:
    kept = InMemoryCheckpointStorage()
    return AgentFrameworkAdapter(
        lambda run: agents(_agent_framework_agent(scene)), checkpoints=lambda run: kept
    )


def of_agno(scene: Scene, limit: bool) -> Adapter:
    def reply(messages: Any, _: Any) -> Any:
        return scene.reply(messages[-1].role == "tool", AgnoCall("work"))

    return AgnoAdapter(AgnoAgent(model=AgnoModel(reply=reply), tools=[scene.work], telemetry=False))


class _LangGraphModel(BaseChatModel):
    scene: Any

    @property
    def _llm_type(self) -> str:
        return "scene"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("only the stream is read")

    async def _astream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        call = {"index": 0, "id": f"call_{len(messages)}", "name": "work", "args": "{}"}
        async for one in self.scene.reply(isinstance(messages[-1], ToolMessage), call):
            told = {"content": one} if one is not call else {"tool_call_chunks": [call]}
            yield ChatGenerationChunk(message=AIMessageChunk(**{"content": "", **told}))


def of_langgraph(scene: Scene, limit: bool) -> Adapter:
    tools = [langchain_tool(scene.work)]
    graph = create_agent(_LangGraphModel(scene=scene), tools, checkpointer=InMemorySaver())
    return LangGraphAdapter(graph, config=lambda run: {"recursion_limit": 5} if limit else {})


def of_llama_index(scene: Scene, limit: bool) -> Adapter:
    def reply(messages: Any, _: Any) -> Any:
        return scene.reply(messages[-1].role.value == "tool", LlamaIndexCall("work", {}))

    agent = FunctionAgent(llm=LlamaIndexModel(reply), tools=[scene.work])
    return LlamaIndexAdapter(agent, max_iterations=3 if limit else None)


def of_openai_agents(scene: Scene, limit: bool, **options: Any) -> Adapter:
    def reply(items: Any, _: Any) -> Any:
        has_result = items[-1].get("type") == "function_call_output"
        return scene.reply(has_result, OpenAICall("work", {}))

    tools: Any = [function_tool(scene.work)]
    agent: Any = OpenAIAgent(name="worker", model=OpenAIModel(reply), tools=tools, **options)
    return OpenAIAgentsAdapter(agent, max_turns=3 if limit else 10)


def of_pydantic_ai(scene: Scene, limit: bool) -> Adapter:
    def reply(messages: Any, _: Any) -> Any:
        has_result = any(isinstance(part, ToolReturnPart) for part in messages[-1].parts)
        return scene.reply(has_result, {0: DeltaToolCall(name="work", json_args="{}")})

    agent: Any = PydanticAgent(FunctionModel(stream_function=reply), tools=[scene.work])
    return PydanticAIAdapter(agent, usage_limits=UsageLimits(request_limit=3) if limit else None)


def of_strands(scene: Scene, limit: bool) -> Adapter:
    def reply(messages: Any, _: Any) -> Any:
        has_result = any("toolResult" in block for block in messages[-1]["content"])
        return scene.reply(has_result, StrandsCall("work", {}))

    tools: Any = [strands_tool(scene.work)]
    agent = StrandsAgent(model=StrandsModel(reply), tools=tools, callback_handler=None)
    return StrandsAdapter(agent, limits={"turns": 3} if limit else None)


@dataclass(frozen=True)
class Kind:
    """A framework.

    Attributes:
        adapter: of an agent that plays a scene, within a limit or not.
        broken_tool: how a run ends whose tool raises: most tell it to the model.
        limit: how a run ends that came to its framework's limit, and the reason; None if that
            does not end it.
        asks: whether its tools can be asked about by the bridge's policy.
    """

    adapter: Callable[[Scene, bool], Adapter]
    broken_tool: str = "success"
    limit: tuple[str, str] | None = None
    asks: bool = True


LIMITED: Final = ("success", "MAX_ITERATIONS_REACHED")
FAILED: Final = ("AGENT_ERROR", "ERROR_OCCURRED")
KINDS: Final[Mapping[str, Kind]] = {
    "adk": Kind(of_adk, broken_tool="AGENT_ERROR", limit=LIMITED),
    **(
        {"adk, a workflow": Kind(of_an_adk_workflow, broken_tool="AGENT_ERROR", limit=LIMITED)}
        if hasattr(_tool_node._ToolNode, "_run_tool_with_plugin_callbacks")
        else {}  # an older ADK, whose workflows are refused
    ),
    "agent_framework": Kind(of_agent_framework),
    "agent_framework, a workflow": Kind(of_a_workflow, asks=False),
    "agno": Kind(of_agno),
    "langgraph": Kind(of_langgraph, broken_tool="AGENT_ERROR", limit=FAILED),
    "llama_index": Kind(of_llama_index, limit=LIMITED),
    "openai_agents": Kind(of_openai_agents, limit=LIMITED),
    "pydantic_ai": Kind(of_pydantic_ai, broken_tool="AGENT_ERROR", limit=LIMITED),
    "strands": Kind(of_strands, limit=LIMITED),
}

kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@dataclass(frozen=True)
class Ending:
    """What is told of a run, and done in it.

    Attributes:
        scene: what is played.
        ending: how it ends; None: as a broken tool has it end.
        text: what the model said.
        results: of its calls; None where they are the framework's words.
        done: how many times the tool came to its end.
        stop: what stops it: a person, once text came, or by force, once the tool began.
    """

    scene: Callable[[], Scene]
    ending: str | None
    text: str | None = "half "
    results: tuple[str, ...] | None = ()
    done: int = 0
    stop: str | None = None


ENDINGS: Final[Mapping[str, Ending]] = {
    "finished": Ending(Scene, "success", "half whole", None, done=1),
    "stopped in the model": Ending(lambda: Scene(model=wait), "cancelled", stop="text"),
    "stopped by force in the tool": Ending(
        lambda: Scene(tool=wait), "cancelled", results=(STOPPED_AMID,), stop="tool"
    ),
    # OpenAI's SDK drops what was said right before.
    "failed in the model": Ending(lambda: Scene(model=fail), "AGENT_ERROR", None),
    "failed in the tool": Ending(lambda: Scene(tool=fail), None, None, None),
    "cut off in the model": Ending(lambda: Scene(model=cut_off), "AGENT_ERROR"),
    "cut off in the tool": Ending(
        lambda: Scene(tool=cut_off), "AGENT_ERROR", results=(FAILED_AMID,)
    ),
}


@kinds
@pytest.mark.parametrize("told", ENDINGS.values(), ids=ENDINGS)
async def test_a_run_ends_alike_in_every_framework(kind: Kind, told: Ending) -> None:
    scene = told.scene()
    bridge = Bridge("memory:")
    bridge.add("worker", kind.adapter(scene, False))
    async with talk(bridge, "worker") as one:
        stream = one.begin("go")
        if told.stop == "text":
            assert await stream.until("TEXT_MESSAGE_CONTENT")
            await one.stop()
        elif told.stop == "tool":
            await asyncio.wait_for(scene.begun.wait(), 30)
            await one.stop(force=True)
        ended = await stream.rest()
        assert ended.ending == (told.ending or kind.broken_tool)
        assert told.text is None or ended.text == told.text
        assert told.results is None or results_in(ended) == list(told.results)
        assert scene.done == told.done
        scene.is_over = True
        assert (await one.say("again")).ending == "success"


ASKING: Final = {name: kind for name, kind in KINDS.items() if kind.asks}


@pytest.mark.parametrize("kind", ASKING.values(), ids=ASKING)
async def test_an_approved_call_that_is_cut_off_is_of_unknown_fate(kind: Kind) -> None:
    scene = Scene(tool=cut_off)
    bridge = Bridge("memory:")
    bridge.add("worker", kind.adapter(scene, False))
    bridge.policy(lambda call: "allow" if call.approved else "ask")
    async with talk(bridge, "worker") as one:
        ended = await one.answer(await one.say("go"), {"approved": True})
        assert (ended.ending, scene.begun.is_set()) == ("AGENT_ERROR", True)
        told = [message["content"] for message in await one.messages() if message["role"] == "tool"]
        assert told == [FAILED_AMID]
        store = (await bridge.open()).store
        (row,) = await store.list_interrupts("default")
        assert row.interrupt.status.value == "indeterminate"


LIMITS: Final = {name: kind for name, kind in KINDS.items() if kind.limit is not None}


@pytest.mark.parametrize("kind", LIMITS.values(), ids=LIMITS)
async def test_a_limit_of_the_framework_ends_the_run(kind: Kind) -> None:
    scene, reasons = Scene(is_endless=True), list[str]()
    bridge = Bridge("memory:")
    bridge.add("worker", kind.adapter(scene, True))
    bridge.on_run_end(lambda run, reason: reasons.append(reason))
    async with talk(bridge, "worker") as one:
        ended = await one.say("go")
        scene.is_over = True
        assert (await one.say("again")).ending == "success"
    assert (ended.ending, reasons[0]) == kind.limit


# --- guards ---


class _Refusing(BaseLlm):
    model: str = "refusing"
    code: str

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        yield LlmResponse(error_code=self.code, error_message="what it said of the prompt")


async def _tripped(*_: Any) -> GuardrailFunctionOutput:
    return GuardrailFunctionOutput(None, tripwire_triggered=True)


def _guarded(**guards: Any) -> Adapter:
    scene = Scene()
    scene.is_over = True  # it says one word
    return of_openai_agents(scene, False, **guards)


def _refused(code: str) -> Adapter:
    return AdkAdapter(LlmAgent(name="worker", model=_Refusing(code=code)))


GUARDED: Final[Mapping[str, tuple[Callable[[], Adapter], str, str]]] = {
    "the input, OpenAI Agents": (
        lambda: _guarded(input_guardrails=[input_guardrail(name="polite")(_tripped)]),
        "AGENT_REFUSED",
        "The agent's guardrail 'polite' ended the run.",
    ),
    "the output, OpenAI Agents": (
        lambda: _guarded(output_guardrails=[output_guardrail(name="polite")(_tripped)]),
        "AGENT_REFUSED",
        "The agent's guardrail 'polite' ended the run.",
    ),
    "the reply, ADK": (
        lambda: _refused("SAFETY"),
        "AGENT_REFUSED",
        "The model gave no reply: SAFETY.",
    ),
    "nothing, ADK": (
        lambda: _refused("MAX_TOKENS"),
        "UPSTREAM_ERROR",
        "The model gave no reply: MAX_TOKENS.",
    ),
}


@pytest.mark.parametrize(("adapter", "code", "why"), GUARDED.values(), ids=GUARDED)
async def test_what_a_guard_refuses_is_told_as_refused(
    adapter: Callable[[], Adapter], code: str, why: str
) -> None:
    bridge = Bridge("memory:")
    bridge.add("worker", adapter())
    async with talk(bridge, "worker") as one:
        ended = await one.say("go")
    assert (ended.ending, ended.fault) == (code, why)


def results_in(stream: Stream) -> list[Any]:
    return [event["content"] for event in stream.events if event["type"] == "TOOL_CALL_RESULT"]
