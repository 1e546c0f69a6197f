"""Servers that hang, flood, die, lie or ask for what they must not: bounded, and told as it is."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.mcp import MCPServers
from agui_bridge.protocol.answers.decisions import Answer, Decline
from tests.agents.function.harness import Outcome, Thread, collect, make_run
from tests.mcp.conftest import Shop, alive, calling
from tests.mcp.test_calls import never, told
from tests.support.effects import lines_of
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]

CODE = Answer({"code": "7"})
PLAIN = str(Path(__file__).parent / "servers" / "plain.py")


def plain(effects: Path, *options: str, trusted: bool = False, **limits: Any) -> MCPServers:
    """The server without the SDK, which starts fast."""
    command = StdioServerParameters(command=sys.executable, args=[PLAIN, str(effects), *options])
    limits = {"timeout": 20.0, "approve": never, **limits}
    return MCPServers({"x": command}, trusted=["x"] if trusted else [], **limits)


async def call(effects: Path, tool: str, **options: Any) -> Outcome:
    servers = plain(effects, **options)
    return await Thread(lambda: calling(servers, f"x.{tool}", {})).go()


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects.txt"


UNKNOWN = "whether this tool call was executed is unknown"


@pytest.mark.parametrize(
    ("tool", "limits", "text"),
    [
        ("hang", {"timeout": 2.0}, "took too long"),
        ("long_line", {"most_bytes": 300_000}, "sent more than it may"),
        ("many_lines", {"most_bytes": 300_000}, "sent more than it may"),
        ("lies", {}, "its result is not what it says"),
        ("error", {}, "with error -32603: it broke"),
    ],
)
async def test_a_server_that_breaks_a_call_off_is_told_as_unknown(
    effects: Path, tool: str, limits: dict[str, Any], text: str
) -> None:
    begun = time.monotonic()
    outcome = await call(effects, tool, **limits)
    found = told(outcome)
    assert (found["failed"], text in found["text"]) == ("ToolOutcomeUnknown", True), found
    assert UNKNOWN in str(outcome.wire)
    assert lines_of(effects) == [tool]
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("target", ["http://127.0.0.1:9/mcp", "no-such-command"])
async def test_a_server_that_is_not_there_has_executed_nothing(target: str) -> None:
    server = target if target.startswith("http") else StdioServerParameters(command=target)
    servers = MCPServers({"x": server}, approve=never, timeout=10)
    found = told(await Thread(lambda: calling(servers, "x.pay", {})).go())
    assert (found["failed"], "nothing was executed" in found["text"]) == ("ToolNotReached", True)


async def test_a_server_that_dies_within_a_call_is_told_as_unknown(mortal: Shop) -> None:
    servers = MCPServers({"shop": mortal.url}, approve=never, timeout=10)
    outcome = await Thread(lambda: calling(servers, "shop.die", {})).go()
    assert told(outcome)["failed"] == "ToolOutcomeUnknown"
    assert UNKNOWN in str(outcome.wire)
    assert mortal.effects == ["died"]


async def test_more_than_a_server_may_send_over_http_is_not_read(shop: Shop) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never, most_bytes=200_000, timeout=30)
    begun = time.monotonic()
    outcome = await Thread(lambda: calling(servers, "shop.flood", {"size": 3_000_000})).go()
    assert "sent more than it may" in told(outcome)["text"]
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (b"content-length: 1000000000000", b"{"),
        (b"content-length: 2", b'{"jsonrpc": "2.0"}'),
        (b"content-encoding: gzip\r\ncontent-length: 40000", gzip.compress(b" " * 40_000_000)),
        (b"transfer-encoding: chunked", b"ffffffff\r\n{"),
    ],
    ids=["a length that never comes", "a length of less", "a body that unpacks", "a chunk"],
)
async def test_a_server_that_lies_about_a_size_is_given_up(said: bytes, body: bytes) -> None:
    async def lie(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            writer.write(head + said + b"\r\n\r\n" + body)
            await reader.read()
        writer.close()

    server = await asyncio.start_server(lie, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    servers = MCPServers({"x": f"http://127.0.0.1:{port}/mcp"}, approve=never, timeout=3)
    begun = time.monotonic()
    found = told(await Thread(lambda: calling(servers, "x.pay", {})).go())
    assert (found["failed"], "nothing was executed" in found["text"]) == ("ToolNotReached", True)
    assert time.monotonic() - begun < 15
    server.close()


async def test_progress_keeps_a_call_alive_and_silence_ends_it(shop: Shop) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never, timeout=2)
    steps = {"steps": 4, "seconds": 0.8}
    assert told(await Thread(lambda: calling(servers, "shop.slow", steps)).go()) == "slept"
    long = {"steps": 1, "seconds": 8}
    found = told(await Thread(lambda: calling(servers, "shop.slow", long)).go())
    assert "took too long" in found["text"]


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("sample", "use the agent's model (sampling), which is refused"),
        ("nested", "is not one that forms have"),
        ("many", "more than 10 questions"),
        ("states", "too large to be kept"),
        ("loops", "again and again without asking"),
    ],
)
async def test_what_nobody_may_be_asked_is_refused_and_said(
    effects: Path, tool: str, why: str
) -> None:
    outcome = await call(effects, tool)
    assert outcome.final is None
    assert why in told(outcome)["error"]


async def test_a_server_that_asks_without_end_is_given_up(effects: Path) -> None:
    servers = plain(effects)
    thread = Thread(lambda: calling(servers, "x.endless", {}))
    last = await thread.go()
    rounds = 0
    while last.final is not None:
        rounds += 1
        last = await thread.answer([CODE])
    assert (rounds, told(last)["failed"]) == (10, "TooManyRounds")


async def test_tools_that_are_listed_without_end_are_left_out(effects: Path) -> None:
    await asyncio.to_thread(Path(f"{effects}.endless").touch)
    servers = plain(effects)

    async def agent(run: Any) -> str:
        return str(len(await servers.tools(run)))

    assert (await Thread(lambda: agent).go()).text == "0"


async def test_lines_that_are_no_json_are_passed_over(effects: Path) -> None:
    assert told(await call(effects, "garbage")) == "ok"


async def test_a_server_is_ended_with_all_that_it_has_started(effects: Path) -> None:
    pids = [int(pid) for pid in told(await call(effects, "child")).split()]
    assert len(pids) == 2
    wait_until(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize("force", [True])
async def test_a_stop_ends_the_call_at_the_server(shop: Shop, force: bool) -> None:
    servers = MCPServers({"shop": shop.url}, approve=never)
    agent = calling(servers, "shop.slow", {"steps": 200, "seconds": 0.05})
    run = make_run()
    running = asyncio.create_task(collect(FunctionAdapter(agent), run))
    await asyncio.to_thread(wait_until, lambda: "slow begun" in shop.effects)
    run.stop.request(force=force)
    await running
    await asyncio.sleep(0.2)
    assert "slow ended" not in shop.effects
    assert run.not_begun == []


# --- servers of 2025-11-25 ---


async def test_an_older_server_that_asks_is_called_once_more_where_it_bears_that(
    effects: Path,
) -> None:
    servers = plain(effects, "--older", trusted=True)
    thread = Thread(lambda: calling(servers, "x.asks_safely", {}))
    (ask,) = (await thread.go()).pause.asks
    assert str(ask.message).startswith("The code?")
    assert told(await thread.answer([CODE])) == "action accept"
    assert lines_of(effects) == [
        "asks_safely cancel None",
        "asks_safely accept {'code': '7'}",
    ]


async def test_a_decline_reaches_an_older_server(effects: Path) -> None:
    servers = plain(effects, "--older", trusted=True)
    thread = Thread(lambda: calling(servers, "x.asks_safely", {}))
    await thread.go()
    assert told(await thread.answer([Decline()])) == "action decline"


@pytest.mark.parametrize(("tool", "trusted"), [("asks", True), ("asks_safely", False)])
async def test_an_older_server_that_might_act_twice_is_told_that_nobody_answers(
    effects: Path, tool: str, trusted: bool
) -> None:
    servers = plain(effects, "--older", trusted=trusted)
    outcome = await Thread(lambda: calling(servers, f"x.{tool}", {})).go()
    assert outcome.final is None
    found = told(outcome)
    assert found["result"] == "action cancel"
    assert "“The code?” in the middle of the call" in found["note"]
    assert lines_of(effects) == [f"{tool} cancel None"]
