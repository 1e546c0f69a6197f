"""MCP Apps: a tool's view is told to pages, and what the view asks is judged like any call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from agui_bridge import Bridge, FunctionRun
from agui_bridge.mcp import MCPServers
from agui_bridge.testing import talk
from agui_bridge.testing.conversation import Conversation, Stream
from tests.mcp.conftest import Shop
from tests.mcp.servers.views import HTML, VIEW

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def shop_with_views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    served = Shop(tmp_path_factory.mktemp("views"), module="tests.mcp.servers.views")
    yield served
    served.kill()


@pytest.fixture
def viewed(shop_with_views: Shop) -> Shop:
    """One that has done nothing yet."""
    shop_with_views.effects_file.unlink(missing_ok=True)
    return shop_with_views


def bridge_to(shop: Shop, **options: Any) -> Bridge:
    """One whose agent calls the tool that it is told."""
    bridge = Bridge("memory:")
    servers = MCPServers({"shop": shop.url}, **{"trusted": ["shop"], **options})

    @bridge.agent("buyer", acts_on_state=True)
    async def buyer(run: FunctionRun) -> Any:
        if await servers.serve_view(run):
            return
        await servers.call(run, f"shop.{run.text}", {"item": "hat"} if run.text == "cancel" else {})
        yield "There."

    return bridge


async def view_asks(
    one: Conversation, method: str, *, shown: Sequence[Any] = (), **params: Any
) -> Stream:
    """Send what CopilotKit's page sends for a view, with the messages that it shows."""
    props = {"serverHash": "shop", "serverId": "shop", "method": method, "params": params}
    one.forwarded = {"__proxiedMCPRequest": props}
    stream = await one.send(shown)
    one.forwarded = {}
    return stream


def result_of(stream: Stream) -> Any:
    return stream.events[-1].get("result")


async def test_a_tools_view_is_told_after_its_result(viewed: Shop) -> None:
    async with talk(bridge_to(viewed), "buyer") as one:
        events = (await one.say("orders")).events
        (at,) = [n for n, e in enumerate(events) if e["type"] == "ACTIVITY_SNAPSHOT"]
        told, before = events[at], events[at - 1]
        assert (before["type"], before["content"]) == ("TOOL_CALL_RESULT", "1 hat")
        assert told["activityType"] == "mcp-apps"
        content = told["content"]
        assert content["toolCallId"] == before["toolCallId"]
        assert (content["resourceUri"], content["serverId"]) == (VIEW, "shop")
        assert (content["serverHash"], content["toolInput"]) == ("shop", {})
        assert content["result"]["content"][0]["text"] == "1 hat"
        # It is there after a reload as well.
        kept = [m for m in await one.messages() if m["role"] == "activity"]
        assert [m["activityType"] for m in kept] == ["mcp-apps"]


async def test_a_view_of_an_approved_call_is_told_once_it_has_run(viewed: Shop) -> None:
    async with talk(bridge_to(viewed), "buyer") as one:
        asked = await one.say("cancel")
        assert not [e for e in asked.events if e["type"] == "ACTIVITY_SNAPSHOT"]
        done = await one.answer(asked, {"approved": True})
        kinds = [e["type"] for e in done.events]
        assert kinds.index("ACTIVITY_SNAPSHOT") == kinds.index("TOOL_CALL_RESULT") + 1
        assert viewed.effects == ["cancelled hat"]


async def test_a_page_reads_a_view_and_nothing_else(viewed: Shop) -> None:
    async with talk(bridge_to(viewed), "buyer") as one:
        await one.say("orders")
        read = await view_asks(one, "resources/read", uri=VIEW)
        (resource,) = result_of(read)["contents"]
        assert (resource["text"], resource["mimeType"]) == (HTML, "text/html;profile=mcp-app")
        for uri in ("file:///etc/passwd", "ui://shop/other.html"):
            assert result_of(await view_asks(one, "resources/read", uri=uri))["isError"]
        assert viewed.effects == ["listed"]


CALLS: Final[Mapping[str, tuple[str, bool, list[str]]]] = {
    "only reads": ("refresh", False, ["refreshed"]),
    "is for models alone": ("secret", True, []),
    "is left out": ("orders", True, []),
    "is not there": ("nothing", True, []),
}


@pytest.mark.parametrize(("tool", "fails", "executed"), CALLS.values(), ids=CALLS)
async def test_a_call_of_a_view_whose_tool(
    tool: str, fails: bool, executed: list[str], viewed: Shop
) -> None:
    bridge = bridge_to(viewed, only={"shop": ["refresh", "secret", "cancel"]})
    async with talk(bridge, "buyer") as one:
        done = await view_asks(one, "tools/call", name=tool, arguments={})
        assert (done.ending, bool(result_of(done).get("isError"))) == ("success", fails)
        assert viewed.effects == executed


@pytest.mark.parametrize("approved", [True, False])
async def test_a_call_of_a_view_is_approved_like_any_other(viewed: Shop, approved: bool) -> None:
    async with talk(bridge_to(viewed), "buyer") as one:
        asked = await view_asks(one, "tools/call", name="cancel", arguments={"item": "hat"})
        (question,) = asked.asks
        assert (question["reason"], viewed.effects) == ("tool_call", [])
        done = await one.answer(asked, {"approved": approved})
        assert done.ending == "success"
        assert viewed.effects == (["cancelled hat"] if approved else [])


async def test_a_policy_judges_a_call_of_a_view(viewed: Shop) -> None:
    bridge = bridge_to(viewed)
    bridge.policy(lambda call: "deny" if call.name == "shop__refresh" else "allow")
    async with talk(bridge, "buyer") as one:
        done = await view_asks(one, "tools/call", name="refresh", arguments={})
        assert (result_of(done)["isError"], viewed.effects) == (True, [])


async def test_what_a_view_asks_is_carried_out_whatever_its_page_shows_last(viewed: Shop) -> None:
    async with talk(bridge_to(viewed), "buyer") as one:
        await one.say("orders")
        for executed in (["refreshed"], ["refreshed"] * 2):
            shown = [m for m in await one.messages() if m["role"] != "activity"]
            done = await view_asks(one, "tools/call", shown=shown, name="refresh", arguments={})
            assert result_of(done)["content"][0]["text"] == "2 hats"
            assert viewed.effects == ["listed", *executed]
            # The view that asked is there already.
            assert not [e for e in done.events if e["type"] == "ACTIVITY_SNAPSHOT"]
        shown = [m for m in await one.messages() if m["role"] != "activity"]
        assert shown[-1]["role"] == "tool"
        read = await view_asks(one, "resources/read", shown=shown, uri=VIEW)
        assert result_of(read)["contents"][0]["text"] == HTML


async def test_views_are_those_of_trusted_servers_alone(viewed: Shop) -> None:
    bridge = bridge_to(viewed, trusted=[], approve=lambda tool, args: False)
    async with talk(bridge, "buyer") as one:
        told = await one.say("orders")
        assert (told.ending, viewed.effects) == ("success", ["listed"])
        assert not [e for e in told.events if e["type"] == "ACTIVITY_SNAPSHOT"]
        assert result_of(await view_asks(one, "resources/read", uri=VIEW))["isError"]
        call = await view_asks(one, "tools/call", name="refresh", arguments={})
        assert (result_of(call)["isError"], viewed.effects) == (True, ["listed"])
