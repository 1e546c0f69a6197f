"""Tools of a local MCP server pass the gate, though they are made anew for each request."""

from __future__ import annotations

from typing import Any

import pytest
from agents.mcp import MCPServer
from mcp.types import CallToolResult, TextContent, Tool as MCPTool

from agui_bridge.testing import talk
from tests.adapters.mails import YES
from tests.adapters.openai_agents.mailer import Mailer
from tests.adapters.openai_agents.talking import serving

pytestmark = pytest.mark.anyio


class Colours(MCPServer):
    """A server in this process that counts what it did."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.done: list[Any] = []

    @property
    def name(self) -> str:
        return "colours"

    async def connect(self) -> None: ...

    async def cleanup(self) -> None: ...

    async def list_tools(self, *_: Any, **__: Any) -> list[MCPTool]:
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
        tool = {"name": "set_colour", "description": "Colour.", "inputSchema": schema}
        return [MCPTool.model_validate(tool)]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, *_: Any, **__: Any
    ) -> CallToolResult:
        self.done.append(arguments)
        return CallToolResult(content=[TextContent(type="text", text="it is red")])

    async def list_prompts(self) -> Any:
        raise NotImplementedError("the SDK wants this of every server; agents don't call it")

    async def get_prompt(self, name: str, arguments: Any = None) -> Any:
        raise NotImplementedError("the SDK wants this of every server; agents don't call it")


async def test_what_a_local_server_wants_approved_is_asked_and_carried_out_once() -> None:
    server = Colours(require_approval="always")
    mailer = Mailer(mcp_servers=[server])
    async with talk(serving(mailer), "mailer") as one:
        asked = await one.say("colour red")
        assert server.done == []
        answered = await one.answer(asked, YES)
        await one.answer(asked, YES)
    (result,) = [e["content"] for e in answered.events if e["type"] == "TOOL_CALL_RESULT"]
    assert "it is red" in result
    assert server.done == [{"colour": "red"}]


async def test_the_policy_denies_a_local_servers_tool() -> None:
    server = Colours()
    mailer = Mailer(mcp_servers=[server])
    bridge = serving(mailer)
    bridge.policy(lambda call: "deny" if call.name == "set_colour" else "allow")
    async with talk(bridge, "mailer") as one:
        assert (await one.say("colour red")).ending == "success"
    assert server.done == []


async def test_the_policy_has_people_asked_about_a_local_servers_tool() -> None:
    server = Colours()
    bridge = serving(Mailer(mcp_servers=[server]))
    bridge.policy(lambda call: "ask")
    async with talk(bridge, "mailer") as one:
        asked = await one.say("colour red")
        assert (len(asked.asks), server.done) == (1, [])
        assert (await one.answer(asked, YES)).ending == "success"
    assert server.done == [{"colour": "red"}]
