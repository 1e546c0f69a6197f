"""Tools of a real MCP server in a function agent: what is called, asked, answered and counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from agui_bridge.errors import ConfigurationError
from agui_bridge.mcp import MCPServers, MCPTool
from agui_bridge.policy import ProposedCall, ToolHints
from agui_bridge.protocol.answers.decisions import Answer, Approve, Cancel, Decision, Decline
from tests.agents.function.harness import Outcome, Thread, no, yes
from tests.mcp.conftest import Shop, calling, command

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]

MEDIUM = Answer({"size": "M", "gift": True})


def never(tool: MCPTool, args: Any) -> bool:
    return False


def told(outcome: Outcome) -> Any:
    """What the agent says that came of its call."""
    return json.loads(outcome.text)


def over(way: str, shop: Shop, **options: Any) -> MCPServers:
    target = shop.url if way == "http" else command(shop.effects_file)
    return MCPServers({"shop": target}, **options)


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_a_tool_is_called_and_its_result_told(shop: Shop, way: str) -> None:
    servers = over(way, shop, trusted=["shop"])
    thread = Thread(lambda: calling(servers, "shop.count", {"table": "users"}))
    outcome = await thread.go()
    assert (told(outcome), shop.effects) == (1234, ["counted users"])
    events = [(item[0], *item[2:]) for item in outcome.wire if isinstance(item, tuple)]
    assert events[0] == ("TOOL_CALL_START", "shop__count")
    assert events[-1] == ("TOOL_CALL_RESULT", "1234")


@pytest.mark.parametrize(
    ("options", "tool", "asked"),
    [
        ({}, "count", True),  # anybody can say that it only reads
        ({"trusted": ["shop"]}, "count", False),
        ({"trusted": ["shop"]}, "order", True),  # nothing is said of it
        ({"trusted": ["shop"]}, "delete_rows", True),
        ({"approve": lambda tool, args: tool.own_name == "count"}, "count", True),
        ({"approve": lambda tool, args: args.get("limit", 0) > 5}, "delete_rows", False),
    ],
)
async def test_what_is_not_known_to_only_read_is_approved_first(
    shop: Shop, options: dict[str, Any], tool: str, asked: bool
) -> None:
    args = {"count": {"table": "u"}, "order": {"item": "hat"}}.get(tool, {"table": "u", "limit": 3})
    servers = MCPServers({"shop": shop.url}, **options)
    outcome = await Thread(lambda: calling(servers, f"shop.{tool}", args)).go()
    assert (outcome.final is not None) is asked
    if asked:
        assert outcome.asked == [f"shop__{tool}"]
        assert shop.effects == []


async def test_an_approved_call_runs_with_the_edited_arguments_that_fit_the_servers_schema(
    shop: Shop,
) -> None:
    servers = MCPServers({"shop": shop.url})
    args = {"table": "users", "limit": 9}
    thread = Thread(lambda: calling(servers, "shop.delete_rows", args, message="Delete?"))
    (ask,) = (await thread.go()).pause.asks
    assert ask.parameters is not None
    assert ask.parameters["properties"].keys() == {"table", "limit"}
    edited = {"table": "users", "limit": 2}
    last = await thread.answer([Approve(edited, {"approved": True}, True)])
    assert told(last) == "2 rows of users deleted"
    assert shop.effects == ["deleted 2 users"]


async def test_a_declined_call_is_not_executed(shop: Shop) -> None:
    servers = MCPServers({"shop": shop.url})
    thread = Thread(lambda: calling(servers, "shop.delete_rows", {"table": "u", "limit": 9}))
    await thread.go()
    assert told(await thread.answer(no)) == {"denied": "person", "reason": "no"}
    assert shop.effects == []


async def test_a_policy_hears_what_the_server_says_and_who_it_is(shop: Shop) -> None:
    seen: list[ToolHints] = []

    def policy(call: ProposedCall) -> str:
        seen.append(call.hints)
        return "ask" if call.hints.destructive and not call.approved else "allow"

    servers = MCPServers({"shop": shop.url}, approve=never)
    args = {"table": "users", "limit": 1}
    thread = Thread(lambda: calling(servers, "shop.delete_rows", args))
    assert (await thread.go(policy=policy)).asked == ["shop__delete_rows"]
    await thread.answer(yes, policy=policy)
    assert shop.effects == ["deleted 1 users"]
    hints = ToolHints(destructive=True, title="Delete rows", server="shop", trusted=False)
    assert seen == [hints, hints]


@pytest.mark.parametrize(
    ("decision", "result", "done"),
    [
        (MEDIUM, "ordered hat in M", "ordered hat M True"),
        (Decline("none fits"), "not ordered: decline", "not ordered hat"),
        (Cancel("cancelled"), "not ordered: cancel", "not ordered hat"),
        (Cancel("expired"), "not ordered: cancel", "not ordered hat"),
    ],
)
async def test_what_the_server_asks_is_asked_at_the_call_and_its_answer_handed_on(
    shop: Shop, decision: Decision, result: str, done: str
) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never)
    thread = Thread(lambda: calling(servers, "shop.order", {"item": "hat"}))
    first = await thread.go()
    (ask,) = first.pause.asks
    call = first.wire[0][1]
    assert (ask.about, ask.reason, ask.permits) == (call, "mcp:elicitation", True)
    assert str(ask.message).startswith("Which size?")
    assert ask.response_schema is not None
    assert ask.response_schema["properties"].keys() == {"size", "gift"}
    assert "requestState" not in str(first.wire) + str(ask)
    last = await thread.answer([decision])
    assert told(last) == result
    assert [item[:2] for item in last.wire if isinstance(item, tuple)] == [
        ("TOOL_CALL_RESULT", call)
    ]
    assert shop.effects == [done]


async def test_a_server_may_ask_in_several_rounds_and_be_killed_in_each(mortal: Shop) -> None:
    servers = MCPServers({"shop": mortal.url}, approve=never)
    thread = Thread(lambda: calling(servers, "shop.tailor", {}))
    assert "Which size?" in str((await thread.go()).asked)
    mortal.kill()
    mortal.start()
    assert "Which colour, in M?" in str((await thread.answer([MEDIUM])).asked)
    mortal.kill()
    mortal.start()
    assert told(await thread.answer([Answer({"colour": "red"})])) == "M red"
    assert mortal.effects == ["tailored M red"]


async def test_a_server_that_forgot_its_first_question_is_given_the_answer_all_the_same(
    forgetful: Shop,
) -> None:
    servers = MCPServers({"shop": forgetful.url}, approve=never)
    thread = Thread(lambda: calling(servers, "shop.order", {"item": "hat"}))
    await thread.go()
    forgetful.kill()
    forgetful.start()
    assert told(await thread.answer([MEDIUM])) == "ordered hat in M"
    assert forgetful.effects == ["ordered hat M True"]


async def test_a_server_that_forgot_a_later_question_is_not_begun_anew(forgetful: Shop) -> None:
    servers = MCPServers({"shop": forgetful.url}, approve=never)
    thread = Thread(lambda: calling(servers, "shop.tailor", {}))
    await thread.go()
    await thread.answer([MEDIUM])
    forgetful.kill()
    forgetful.start()
    last = told(await thread.answer([Answer({"colour": "red"})]))
    assert "no longer knows how far the call had come" in last["error"]
    assert forgetful.effects == []


async def test_an_answer_is_not_lost_over_a_server_that_restarts(mortal: Shop) -> None:
    servers = MCPServers({"shop": mortal.url}, approve=never)
    thread = Thread(lambda: calling(servers, "shop.order", {"item": "hat"}))
    await thread.go()
    mortal.kill()
    Timer(0.4, mortal.start).start()
    assert told(await thread.answer([MEDIUM])) == "ordered hat in M"
    assert mortal.effects == ["ordered hat M True"]


@pytest.mark.parametrize(
    ("answer", "result", "done"),
    [
        (Answer({"opened": True}), "paid", ["paid"]),
        (Decline(), "not paid: decline", []),
        (Cancel(), "not paid: cancel", []),
    ],
)
async def test_an_address_is_shown_with_its_host_and_consent_handed_on(
    shop: Shop, answer: Decision, result: str, done: list[str]
) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never)
    url = "https://bank.example/sign?x=1"
    thread = Thread(lambda: calling(servers, "shop.pay", {"url": url}))
    (ask,) = (await thread.go()).pause.asks
    assert ask.reason == "mcp:elicitation_url"
    assert "at bank.example: https://bank.example/sign?x=1" in str(ask.message)
    assert ask.metadata is not None
    assert (ask.metadata["mcp"]["url"], ask.metadata["mcp"]["host"]) == (url, "bank.example")
    assert told(await thread.answer([answer])) == result
    assert shop.effects == done


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("javascript:alert(1)", "not one of https"),
        ("http://bank.example/", "not one of https"),
        ("https://bank.example@evil.example/", "could mislead"),
        ("https://bank.example/\u202ex", None),
        ("https://b\u0430nk.example/", None),
    ],
)
async def test_an_address_that_could_mislead_is_not_shown(
    shop: Shop, url: str, why: str | None
) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never)
    outcome = await Thread(lambda: calling(servers, "shop.pay", {"url": url})).go()
    if outcome.final is None:
        assert why is None or why in told(outcome)["error"]
        return
    (ask,) = outcome.pause.asks
    assert ask.metadata is not None
    # Letters that look alike are told apart.
    assert (why, ask.metadata["mcp"]["host"].isascii()) == (None, True)


async def test_a_secret_is_not_asked_for_in_a_form(shop: Shop) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never)
    outcome = await Thread(lambda: calling(servers, "shop.log_in", {})).go()
    assert "wanted a secret in a form (the field 'password')" in told(outcome)["error"]
    assert shop.effects == []


@pytest.mark.parametrize(
    ("tool", "check"),
    [
        ("facts", lambda found: found == {"rows": 3, "names": ["a", "b"]}),
        ("fail", lambda found: "fail" in found["error"]),
        (
            "picture",
            lambda found: (
                [block["type"] for block in found["content"]] == ["text", "image", "resource_link"]
                and found["content"][1]["mimeType"] == "image/png"
            ),
        ),
    ],
)
async def test_results_come_as_what_they_are(
    shop: Shop, tool: str, check: Callable[[Any], bool]
) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never)
    found = told(await Thread(lambda: calling(servers, f"shop.{tool}", {})).go())
    assert check(found), found


async def test_progress_is_told_while_the_tool_works(shop: Shop) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never)
    outcome = await Thread(lambda: calling(servers, "shop.slow", {})).go()
    again = await Thread(lambda: calling(servers, "shop.slow", {})).go()
    ids = [{getattr(item, "message_id", None) for item in one.items} for one in (outcome, again)]
    activities = [{one for one in told if str(one).startswith("mcp-")} for told in ids]
    assert [len(one) for one in activities] == [1, 1]
    assert activities[0] != activities[1]
    progress = [item[2] for item in outcome.wire if item[0] == "ACTIVITY_SNAPSHOT"]
    assert [(one["progress"], one["total"]) for one in progress] == [(1, 3), (2, 3), (3, 3)]
    assert told(outcome) == "slept"


async def test_tools_are_listed_with_their_schemas_and_kept_apart_by_server(
    mortal: Shop, tmp_path: Path
) -> None:
    servers = MCPServers(
        {"shop": mortal.url, "other": mortal.url, "gone": "http://127.0.0.1:9/mcp"},
        only={"other": ["count"]},
    )

    async def agent(run: Any) -> str:
        tools = await servers.tools(run)
        await run.confirm("more?")
        return json.dumps([tool.describe()["function"] for tool in tools])

    thread = Thread(lambda: agent)
    await thread.go()
    # A replay sees the tools that the first run saw.
    mortal.kill()
    found = told(await thread.answer(yes))
    names = [one["name"] for one in found]
    assert "other__count" in names
    assert "shop__count" in names
    assert [name for name in names if name.startswith("other")] == ["other__count"]
    assert not any(name.startswith("gone") for name in names)
    count = next(one for one in found if one["name"] == "shop__count")
    assert count["description"] == "Count the rows of a table."
    assert count["parameters"]["required"] == ["table"]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"servers": {"a__b": "http://x/"}}, "letters, digits and dashes"),
        ({"servers": {"a": "http://x/"}, "trusted": ["b"]}, "no MCP server 'b'"),
        ({"servers": {"a": "http://x/"}, "only": {"b": []}}, "no MCP server 'b'"),
        ({"servers": {"a": "http://x/"}, "headers": {"b": {}}}, "no MCP server 'b'"),
    ],
)
def test_settings_that_cannot_be_are_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        MCPServers(**options)


def test_without_its_package_the_extra_is_named(tmp_path: Path) -> None:
    # A package that is not there looks so.
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError(\"No module\", name='mcp')")
    command = [sys.executable, "-c", "import agui_bridge.mcp"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert 'pip install "agui-bridge[mcp]"' in found.stderr
