"""Tools of a real MCP server, called by a model: in a chat agent, and in one of a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge, Verdict
from agui_bridge.agent_file.agent_file import AgentFile
from agui_bridge.agents.chat import ChatAgent
from agui_bridge.errors import ConfigurationError
from agui_bridge.mcp import MCPServers
from tests.agents.chat.office import Office
from tests.mcp.conftest import Shop
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support.server import serve

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]

COUNT = ToolUse("shop__count", {"table": "users"}, id="c1")
DELETE = ToolUse("shop__delete_rows", {"table": "users", "limit": 9}, id="c2")
ORDER = ToolUse("shop__order", {"item": "hat"}, id="c3")

FILE = """
apiVersion: superagent/v1
kind: Agent
metadata:
  name: buyer
spec:
  type: chat_model_agent
  model:
    primary: scripted
    base_url: {model}
    api_key: k
  mcp:
    - name: shop
      url: ${{SHOP}}
      trusted: true
      only: [count, delete_rows, order]
"""


def results(events: list[dict[str, Any]]) -> list[str]:
    return [e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"]


@pytest.mark.parametrize("of_file", [False, True])
async def test_a_model_calls_what_only_reads_people_approve_the_rest_and_answer_what_is_asked(
    shop: Shop, tmp_path: Path, of_file: bool
) -> None:
    replies = (Reply(calls=[COUNT, DELETE, ORDER]), Reply("Done."))
    async with ScriptedModel(*replies) as model:
        bridge = Bridge()
        if of_file:
            file = tmp_path / "agent.yaml"
            file.write_text(FILE.format(model=model.base_url))
            agent: Any = AgentFile.read(file, environment={"SHOP": shop.url}).adapter()
        else:
            servers = MCPServers({"shop": shop.url}, trusted=["shop"])
            agent = ChatAgent("scripted", tools=[servers], base_url=model.base_url, api_key="k")
        bridge.add("agent", agent)
        async with serve(bridge.app(anonymous=True)) as base:
            it = Office(base, model, [])
            asked = await it.say()
            interrupts = asked.events[-1]["outcome"]["interrupts"]
            assert [one["message"] for one in interrupts] == [
                "Allow shop__delete_rows?",
                "Allow shop__order?",
            ]
            assert results(asked.events) == ["1234"]
            assert shop.effects == ["counted users"]
            schema = interrupts[0]["responseSchema"]["properties"]["editedArgs"]
            assert schema["properties"].keys() == {"table", "limit"}

            again = await it.answer(asked, approved=True)
            (size,) = again.events[-1]["outcome"]["interrupts"]
            assert size["reason"] == "mcp:elicitation"
            assert size["toolCallId"] == interrupts[1]["toolCallId"]
            done = await it.answer(again, size="M")
            assert results(again.events) == ["9 rows of users deleted"]
            assert results(done.events) == ["ordered hat in M"]
    assert shop.effects == ["counted users", "deleted 9 users", "ordered hat M False"]
    offered = {tool["function"]["name"] for tool in model.requests[0].body["tools"]}
    assert {"shop__count", "shop__delete_rows", "shop__order"} <= offered
    tools = [m["content"] for m in model.requests[-1].messages if m["role"] == "tool"]
    assert tools == ["1234", "9 rows of users deleted", "ordered hat in M"]


async def test_edits_that_a_policy_allows_are_held_to_the_servers_schema(shop: Shop) -> None:
    def policy(call: Any) -> Verdict:
        return Verdict("allow" if call.approved else "ask", editable=True)

    async with ScriptedModel(Reply(calls=[DELETE]), Reply("Done.")) as model:
        bridge = Bridge()
        servers = MCPServers({"shop": shop.url}, approve=lambda tool, args: False)
        agent = ChatAgent("scripted", tools=[servers], base_url=model.base_url, api_key="k")
        bridge.add("agent", agent)
        bridge.policy(policy)
        async with serve(bridge.app(anonymous=True)) as base:
            it = Office(base, model, [])
            asked = await it.say()
            bad = await it.answer(asked, approved=True, editedArgs={"table": "u", "limit": "all"})
            assert bad.events[-1]["code"] == "INVALID_RESUME_PAYLOAD"
            edited = {"table": "users", "limit": 1}
            done = await it.answer(asked, approved=True, editedArgs=edited)
            assert results(done.events) == ["1 rows of users deleted"]
    assert shop.effects == ["deleted 1 users"]


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ("      command: x\n", "either `url` or `command`"),
        ("    - name: shop\n      url: http://x/\n", "two MCP servers"),
        ("    - name: a b\n      url: http://x/\n", "letters, digits and dashes"),
    ],
)
def test_a_file_with_a_wrong_server_is_refused_with_its_line(
    tmp_path: Path, wrong: str, fault: str
) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(FILE.format(model="http://x") + wrong)
    with pytest.raises(ConfigurationError, match=fault) as refused:
        AgentFile.read(file, environment={"SHOP": "http://x"}).adapter()
    assert "agent.yaml:" in str(refused.value)
