"""Tools that the provider carries out: shown, and approved where their server asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, HostedMCPTool, Tool, WebSearchTool
from openai.types.responses import ResponseFunctionWebSearch
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_output_item import McpApprovalRequest, McpCall

from agui_bridge import Bridge, ProposedCall
from agui_bridge.testing import Talk, talk
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from examples.openai_agents.offline import Item, OfflineModel
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio

REQUEST = "mcpr_1"


class Provider:
    """A model whose provider calls the tools of a server, once that was approved."""

    def __init__(self) -> None:
        self.answers: list[Item] = []
        config: Any = {
            "type": "mcp",
            "server_label": "wiki",
            "server_url": "https://wiki.invalid",
            "require_approval": "always",
        }
        tools: list[Tool] = [HostedMCPTool(tool_config=config), WebSearchTool()]
        self.agent: Agent[Any] = Agent("wiki", model=OfflineModel(self._reply), tools=tools)

    async def _reply(self, items: list[Item], tools: list[Tool]) -> AsyncIterator[Any]:
        responses = [item for item in items if item.get("type") == "mcp_approval_response"]
        if str(items[-1].get("content")) == "search":
            action = ActionSearch(type="search", query="trees", queries=["trees"])
            yield ResponseFunctionWebSearch(
                id="ws_1", type="web_search_call", status="completed", action=action
            )
            yield "Trees grow."
        elif not responses:
            yield McpApprovalRequest(
                id=REQUEST,
                type="mcp_approval_request",
                name="edit_page",
                arguments='{"page": "trees"}',
                server_label="wiki",
            )
        else:
            self.answers += responses
            if responses[-1]["approve"]:
                yield McpCall(
                    id="mcp_1",
                    type="mcp_call",
                    name="edit_page",
                    arguments='{"page": "trees"}',
                    server_label="wiki",
                    approval_request_id=REQUEST,
                    output="edited",
                )
            yield "Done."


def talking(provider: Provider, policy: Any = None) -> Any:
    bridge = Bridge("memory:")
    bridge.add("wiki", OpenAIAgentsAdapter(provider.agent))
    if policy is not None:
        bridge.policy(policy)
    return talk(bridge, "wiki")


async def asked_of(one: Talk) -> Any:
    asked = await one.say("edit trees")
    (ask,) = asked.asks
    (start,) = [e for e in asked.events if e["type"] == "TOOL_CALL_START"]
    assert (start["toolCallName"], start["toolCallId"]) == ("edit_page", ask["toolCallId"])
    return asked


async def test_a_hosted_servers_call_is_approved_and_its_result_told() -> None:
    provider = Provider()
    async with talking(provider) as one:
        asked = await asked_of(one)
        answered = await one.answer(asked, YES)
    (result,) = [e for e in answered.events if e["type"] == "TOOL_CALL_RESULT"]
    assert (result["toolCallId"], result["content"]) == (REQUEST, "edited")
    assert [(a["approval_request_id"], a["approve"]) for a in provider.answers] == [(REQUEST, True)]


async def test_a_hosted_servers_call_is_declined() -> None:
    provider = Provider()
    async with talking(provider) as one:
        asked = await asked_of(one)
        answered = await one.answer(asked, {"approved": False, "reason": "not now"})
        (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert answered.ending == "success"
    assert kept == "The user declined this tool call; it was not executed. Reason: not now"
    (answer,) = provider.answers
    assert answer["approve"] is False
    assert "not now" in answer["reason"]


async def test_the_policy_judges_a_hosted_servers_call_before_it_is_approved() -> None:
    provider, seen = Provider(), list[Any]()

    def deny(call: ProposedCall) -> str:
        seen.append((call.name, dict(call.args), call.approved))
        return "deny"

    async with talking(provider, deny) as one:
        asked = await asked_of(one)
        assert (await one.answer(asked, YES)).ending == "success"
    assert seen == [("edit_page", {"page": "trees"}, True)]
    assert [answer["approve"] for answer in provider.answers] == [False]


async def test_a_search_of_the_provider_is_a_call_with_its_result() -> None:
    async with talking(Provider()) as one:
        stream = await one.say("search")
        again = await one.say("search")
    told = [e for e in stream.events if "TOOL_CALL" in e["type"]]
    assert [e["type"] for e in told] == [
        *("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT")
    ]
    assert (told[0]["toolCallName"], told[3]["content"]) == ("web_search", "completed")
    assert "trees" in told[1]["delta"]
    assert again.ending == "success"
