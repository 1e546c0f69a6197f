"""State that page and agent share: tools and models have it, and what tools make of it is told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import StateSnapshotEvent
from agent_framework import (
    Agent,
    Content,
    ContextProvider,
    FunctionInvocationContext,
    Message,
    tool,
)
from pydantic import BaseModel

from agui_bridge import Bridge, emit
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge.testing.conversation import Stream
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework import flows
from tests.adapters.agent_framework.scripted import Call, Scripted
from tests.adapters.mails import YES

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

SCHEMA = {"recipe": {"type": "object"}, "steps": {"type": "array"}}
CONFIG = {"recipe": {"tool": "cook", "tool_argument": "recipe"}}
SOUP = {"title": "soup <b>"}


class Cook:
    """An agent with a tool that cooks a recipe.

    Args:
        work: what the tool does, with the recipe and its context.
        approval: the tool's `approval_mode`.

    Attributes:
        requests: the texts of each request to the model.
        agent: the agent.
    """

    def __init__(
        self,
        work: Callable[[Any, Any], Any],
        approval: Any = "never_require",
        **agent: Any,
    ) -> None:
        self.requests: list[list[str]] = []

        @tool(approval_mode=approval)
        async def cook(recipe: dict[str, Any], ctx: FunctionInvocationContext) -> Any:
            """Cook it."""
            return work(recipe, ctx)

        self.agent = Agent(Scripted(self._reply), name="cook", tools=[cook], **agent)

    async def _reply(self, messages: Sequence[Message], _: Any) -> AsyncIterator[str | Call]:
        self.requests.append([one.text for one in messages])
        last = messages[-1]
        if last.role == "tool" or last.text == "hello":
            yield "Done."
        else:
            yield Call("cook", {"recipe": {"title": last.text}})

    def serving(self, **options: Any) -> Bridge:
        bridge = Bridge("memory:")
        bridge.add("cook", AgentFrameworkAdapter(self.agent, **options))
        return bridge


def states(stream: Stream) -> list[tuple[str, Any]]:
    """What a run told of the state, each before or after the tool's result."""
    told: list[tuple[str, Any]] = []
    for event in stream.events:
        if event["type"] == "STATE_DELTA":
            told.append(("delta", event["delta"]))
        if event["type"] == "TOOL_CALL_RESULT":
            told.append(("result", event["content"]))
    return told


async def test_tools_and_the_model_have_the_state_and_a_change_is_told_with_its_tool() -> None:
    seen: list[Any] = []

    def work(recipe: Any, ctx: FunctionInvocationContext) -> str:
        assert ctx.session is not None
        seen.append(json.loads(json.dumps(ctx.session.state["recipe"])))
        seen.append(ctx.session.state["steps"])
        ctx.session.state["recipe"]["title"] += "!"
        return "cooked"

    cook = Cook(work)
    async with talk(cook.serving(state_schema=SCHEMA), "cook") as one:
        ended = await one.say("stew", state={"recipe": SOUP, "secret": 1})
        assert (ended.ending, seen) == ("success", [SOUP, []])
        changed = {"op": "add", "path": "/recipe", "value": {"title": "soup <b>!"}}
        assert states(ended) == [("delta", [changed]), ("result", "cooked")]
        assert await one.state() == {"recipe": {"title": "soup <b>!"}, "secret": 1}
        first, second = ("\n".join(texts) for texts in cook.requests)
        assert "soup \\u003cb>" in first
        assert "soup \\u003cb>!" in second
        assert "secret" not in first + second
        await one.say("hello")
        assert [text for text in cook.requests[-1] if "<application_state>" in text] == [
            text for text in cook.requests[-1] if "soup \\u003cb>!" in text
        ]
        assert sum("<application_state>" in text for text in cook.requests[-1]) == 1
        assert "application_state" not in str(await one.messages())


async def test_state_that_a_tool_returns_is_merged_into_the_pages() -> None:
    def work(recipe: Any, _: Any) -> Content:
        # As agent-framework-ag-ui's state_update() makes it.
        state = {"__ag_ui_tool_result_state__": {"recipe": recipe, "a/b": 1}}
        return Content.from_text("cooked", additional_properties=state)

    cook = Cook(work)
    async with talk(cook.serving(), "cook") as one:
        assert (await one.say("stew")).ending == "success"
        assert await one.state() == {"recipe": {"title": "stew"}, "a/b": 1}
        assert (await one.say("soup")).ending == "success"
        assert await one.state() == {"recipe": {"title": "soup"}, "a/b": 1}


@pytest.mark.parametrize("answer", [YES, {"approved": False}])
async def test_what_arguments_predict_is_the_state_once_the_tool_is_done(answer: Any) -> None:
    cook = Cook(lambda recipe, ctx: "cooked", "always_require")
    bridge = cook.serving(state_schema=SCHEMA, predict_state=CONFIG)
    async with talk(bridge, "cook") as one:
        asked = await one.say("stew", state={"recipe": SOUP})
        (told,) = [event for event in asked.events if event["type"] == "CUSTOM"]
        assert (told["name"], told["value"]) == (
            "PredictState",
            [{"state_key": "recipe", "tool": "cook", "tool_argument": "recipe"}],
        )
        assert await one.state() == {"recipe": SOUP}
        edited = {"title": "edited"}
        more = {"editedArgs": {"recipe": edited}} if answer is YES else {}
        ended = await one.answer(asked, {**answer, **more})
        assert ended.ending == "success"
        assert await one.state() == {"recipe": edited if answer is YES else SOUP}


async def test_what_a_tool_tells_itself_goes_before_what_its_arguments_predicted() -> None:
    own = {"recipe": {"title": "own"}}

    def work(recipe: Any, ctx: FunctionInvocationContext) -> str:
        emit(StateSnapshotEvent(snapshot=own))
        assert ctx.session is not None
        assert ctx.session.state["recipe"] == own["recipe"]
        return "cooked"

    cook = Cook(work)
    bridge = cook.serving(state_schema=SCHEMA, predict_state=CONFIG)
    async with talk(bridge, "cook") as one:
        assert (await one.say("stew", state={"recipe": SOUP})).ending == "success"
        assert await one.state() == own
    assert "own" in "".join(cook.requests[-1])


async def test_the_agents_of_a_workflow_have_it_too(tmp_path: Path) -> None:
    def work(recipe: Any, ctx: FunctionInvocationContext) -> str:
        assert ctx.session is not None
        ctx.session.state["steps"] = [*ctx.session.state["steps"], "cook"]
        return "cooked"

    cook = Cook(work)
    bridge = Bridge("memory:")
    adapter = AgentFrameworkAdapter(
        lambda run: flows.agents(cook.agent), checkpoints=tmp_path, state_schema=SCHEMA
    )
    bridge.add("cook", adapter)
    async with talk(bridge, "cook") as one:
        assert (await one.say("stew", state={"steps": ["buy"]})).ending == "success"
        assert await one.state() == {"steps": ["buy", "cook"]}
    assert "buy" in "".join(cook.requests[0])


class Kitchen(BaseModel):
    """State as a model."""

    steps: list[str]


@pytest.mark.parametrize("schema", [Kitchen, Kitchen.model_json_schema()])
async def test_a_model_or_its_schema_says_the_keys(schema: Any) -> None:
    cook = Cook(lambda recipe, ctx: str(ctx.session.state["steps"]))
    async with talk(cook.serving(state_schema=schema), "cook") as one:
        ended = await one.say("stew", state={"steps": ["a"], "other": 1})
        assert ("result", "['a']") in states(ended)


class Memory(ContextProvider):
    """A provider that keeps its own."""

    def __init__(self) -> None:
        super().__init__("recipe")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"state_schema": ["recipe"]}, "a JSON Schema for each key"),
        ({"predict_state": ["recipe"]}, "PredictState in it"),
        ({"predict_state": {"recipe": "cook"}}, "tool_argument"),
        ({"state_schema": SCHEMA, "provider": True}, "'recipe' of state_schema"),
        ({"state_schema": {"in_memory": {}}}, "'in_memory' of state_schema"),
    ],
)
def test_options_that_are_none_are_refused(options: Mapping[str, Any], words: str) -> None:
    own = [Memory()] if options.get("provider") else []
    cook = Cook(lambda recipe, ctx: "", context_providers=own)
    given = {name: value for name, value in options.items() if name != "provider"}
    with pytest.raises(ConfigurationError, match=words):
        AgentFrameworkAdapter(cook.agent, **given)
