"""The surfaces of ag_ui_strands, and of the bridge, made of what the same model says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from ag_ui_strands import StrandsAgent, StrandsAgentConfig
from strands import Agent
from strands.models.openai import OpenAIModel

from agui_bridge import Bridge
from agui_bridge.testing import talk
from tests.adapters.test_a2ui import CALL, DONE, NO_ROOT, VALID, drawing, offered
from tests.servers.model.script import Reply
from tests.servers.model.server import ScriptedModel

pytestmark = pytest.mark.anyio

Event = Mapping[str, Any]


def official(model: ScriptedModel, a2ui: Any) -> StrandsAgent:
    # A client for each request: the class draws in an event loop of its own.
    args = {"base_url": model.base_url, "api_key": "k", "max_retries": 0}
    agent = Agent(model=OpenAIModel(client_args=args, model_id="m"), callback_handler=None)
    return StrandsAgent(agent, "painter", config=StrandsAgentConfig(a2ui=a2ui))


async def told_by_the_class(script: list[Reply], a2ui: Any) -> tuple[list[Any], list[Any]]:
    flag, context, tools = offered()
    body = {
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "u", "role": "user", "content": "show tea"}],
        "tools": tools,
        "context": context,
        "forwardedProps": flag,
        "state": {},
    }
    async with ScriptedModel(*script) as model:
        agent = official(model, a2ui)
        events = [
            event.model_dump(by_alias=True, exclude_none=True, mode="json")
            async for event in agent.run(RunAgentInput.model_validate(body))
        ]
        return shown(events), asked(model)


async def told_by_the_bridge(script: list[Reply], a2ui: Any) -> tuple[list[Any], list[Any]]:
    flag, context, tools = offered()
    async with ScriptedModel(*script) as model:
        bridge = Bridge("memory:")
        bridge.add("painter", official(model, a2ui))
        async with talk(bridge, "painter") as one:
            one.forwarded, one.context = flag, context
            told = await one.say("show tea", tools=tools)
        return shown(told.events), asked(model)


def shown(events: Iterable[Event]) -> list[Any]:
    """What AG-UI's middleware reads of a stream: calls with their arguments, the agent's result."""
    found: list[Any] = []
    names: dict[str, str] = {}
    for event in events:
        match event["type"]:
            case "TOOL_CALL_START":
                names[event["toolCallId"]] = event["toolCallName"]
                found.append([event["toolCallName"], ""])
            case "TOOL_CALL_ARGS":
                found[-1][1] += event["delta"]
            case "TOOL_CALL_RESULT" if names[event["toolCallId"]] == "generate_a2ui":
                found.append(json.loads(event["content"]))
            case "TEXT_MESSAGE_CONTENT":
                found.append(event["delta"])
    return found


def asked(model: ScriptedModel) -> list[Any]:
    """The tools of each request, and which of them the model must call."""
    bodies = [one.body for one in model.requests]
    return [
        ([tool["function"]["name"] for tool in body["tools"]], body.get("tool_choice"))
        for body in bodies
    ]


@pytest.mark.parametrize(
    ("drawn", "a2ui"),
    [
        ([VALID], None),
        ([NO_ROOT, VALID], None),
        ([NO_ROOT, NO_ROOT, NO_ROOT], None),
        ([NO_ROOT, NO_ROOT], {"recovery": {"maxAttempts": 2}}),
        ([VALID], {"default_catalog_id": "https://other.example/catalog.json"}),
        ([{"components": [{"id": "root", "component": "Card"}]}], {"default_surface_id": "s"}),
    ],
)
async def test_the_page_is_told_the_same(drawn: list[Any], a2ui: Any) -> None:
    draws = [drawing(args, number) for number, args in enumerate(drawn)]
    script = [CALL, *draws, DONE]
    theirs = await told_by_the_class(script, a2ui)
    assert await told_by_the_bridge(script, a2ui) == theirs
    assert len(theirs[0]) == len(drawn) + 3


async def test_their_switch_and_texts_count() -> None:
    described = {"inject_a2ui_tool": True, "tool_description": "Paint!"}
    guide = {"guidelines": {"generation_guidelines": "", "composition_guide": "Use a Card."}}
    async with ScriptedModel(CALL, drawing(VALID), DONE) as model:
        bridge = Bridge("memory:")
        bridge.add("painter", official(model, {**described, **guide}))
        async with talk(bridge, "painter") as one:
            assert (await one.say("show tea")).text == "Here it is."
        told = [json.dumps(request.body) for request in model.requests]
    assert "Paint!" in told[0]
    assert "Use a Card." in told[1] and "A2UI Protocol Instructions" not in told[1]
