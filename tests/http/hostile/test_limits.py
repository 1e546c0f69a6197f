"""Every row of the table of limits holds: at the limit all is well, beyond it comes its error."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from agui_bridge import Settings
from agui_bridge.adapters import AdapterCapabilities, Ask, HoldEnd, Pause, Run, RunItem
from agui_bridge.documents.limits import LIMITS, Limit, render_limits
from agui_bridge.errors import CODES
from tests.http.conftest import Serving, Site
from tests.support.agents import Bench, Scripted, eventually, settle
from tests.support.server import PATIENCE, open_stream, run_input

JSON = {"content-type": "application/json"}

Probe = Callable[[Serving, bool], Awaitable[dict[str, Any] | None]]
"""Sends what is just at a limit, or just beyond it; gives the error if there is one."""

PROBES: dict[str, Probe] = {}
"""By setting."""


def probe(setting: str) -> Callable[[Probe], Probe]:
    def register(function: Probe) -> Probe:
        PROBES[setting] = function
        return function

    return register


def error_of(response: httpx.Response) -> dict[str, Any] | None:
    """The error of a response, whose status is its code's; None for a stream without one."""
    if response.status_code == 200:
        events = [json.loads(line[6:]) for line in response.text.splitlines() if line[:1] == "d"]
        return next((event for event in events if event["type"] == "RUN_ERROR"), None)
    error: dict[str, Any] = response.json()["error"]
    assert response.status_code == CODES[error["code"]].status
    assert set(error) <= {"code", "message", "details"}
    return error


async def sent(serving: Serving, body: Any, **settings: Any) -> dict[str, Any] | None:
    async with serving(Scripted(["hello"]), **settings) as site:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return error_of(await site.http.post("/agents/agent", content=content, headers=JSON))


@probe("max_body_bytes")
async def _(serving: Serving, beyond: bool) -> Any:
    body = json.dumps(run_input("hi")).encode().ljust(1000 + beyond)
    return await sent(serving, body, max_body_bytes=1000)


@probe("max_bytes_per_scope")
async def _(serving: Serving, beyond: bool) -> Any:
    body = json.dumps(run_input("hi")).encode().ljust(100_000)
    head = f"POST /agents/agent HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    async with serving(Scripted(["hello"]), max_bytes_per_scope=2 * len(body) - beyond) as site:
        in_hand = vars(site.bridge.bodies)["_scopes"]
        port = int(site.base.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}content-type: application/json\r\n\r\n".encode() + body[:10])
        await eventually(lambda: "default" in in_hand)
        post = site.http.post("/agents/agent", content=body, headers=JSON)
        second = asyncio.ensure_future(post)
        if beyond:
            await eventually(lambda: bool(in_hand["default"].waiting))
        else:
            assert error_of(await second) is None
        writer.write(body[10:])
        async with asyncio.timeout(PATIENCE):
            assert b" 200 " in await reader.readline()
            assert error_of(await second) is None
        writer.close()
        return {"held": True} if beyond else None


@probe("max_values")
async def _(serving: Serving, beyond: bool) -> Any:
    body = json.dumps({**run_input("hi"), "state": {"n": [0] * 100}}, separators=(",", ":"))
    values = body.count(",") + body.count("[") + body.count("{")
    return await sent(serving, body.encode(), max_values=values - beyond)


@probe("body_timeout")
async def _(serving: Serving, beyond: bool) -> Any:
    body = json.dumps(run_input("hi")).encode()
    head = f"POST /agents/agent HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    async with serving(Scripted(["hello"]), body_timeout=0.3) as site:
        port = int(site.base.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{head}content-type: application/json\r\n\r\n".encode() + body[:10])
        await writer.drain()
        if not beyond:
            writer.write(body[10:])
        async with asyncio.timeout(PATIENCE):
            if not beyond:
                assert b" 200 " in await reader.readline()
                await reader.readuntil(b"RUN_FINISHED")
                writer.close()
                return None
            # The connection is closed: what still comes would be read by nobody.
            answer, _, content = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    return error_of(httpx.Response(int(answer.split()[1]), content=content))


@probe("max_depth")
async def _(serving: Serving, beyond: bool) -> Any:
    state: Any = 1
    for _ in range(20 - 1 + beyond):
        state = {"a": state}
    return await sent(serving, run_input("hi", state=state), max_depth=20)


@probe("max_messages")
async def _(serving: Serving, beyond: bool) -> Any:
    messages = [{"id": f"m{i}", "role": "user", "content": "x"} for i in range(7 + beyond)]
    return await sent(serving, run_input(None, messages=messages), max_messages=7)


@probe("max_members")
async def _(serving: Serving, beyond: bool) -> Any:
    context = [{"description": "d", "value": "v"}] * (7 + beyond)
    return await sent(serving, run_input("hi", context=context), max_members=7)


@probe("max_id_bytes")
async def _(serving: Serving, beyond: bool) -> Any:
    return await sent(serving, run_input("hi", thread="t" * (40 + beyond)), max_id_bytes=40)


@probe("max_runs_per_scope")
async def _(serving: Serving, beyond: bool) -> Any:
    async with busy(serving, runs=2 + beyond - 1, max_runs_per_scope=2) as site:
        async with site.http.stream(
            "POST", "/agents/agent", json=run_input("one more", thread="last")
        ) as response:
            if response.status_code == 200:
                return None
            await response.aread()
        return error_of(response)


@probe("max_interrupts")
async def _(serving: Serving, beyond: bool) -> Any:
    asks = [Ask(f"q{i}", "confirmation") for i in range(3 + beyond)]
    async with serving(Scripted([Pause(asks)]), max_interrupts=3) as site:
        return error_of(await site.http.post("/agents/agent", json=run_input("go")))


@probe("max_thread_bytes")
async def _(serving: Serving, beyond: bool) -> Any:
    message = {"id": "m", "role": "user", "content": ""}
    message["content"] = "x" * (200 - len(json.dumps(message, separators=(",", ":"))) + beyond)
    return await sent(serving, run_input(None, messages=[message]), max_thread_bytes=200)


@probe("max_memo_bytes")
async def _(serving: Serving, beyond: bool) -> Any:
    found: list[Any] = []

    async def noting(run: Run) -> AsyncIterator[RunItem]:
        found.append(run.memo)
        run.memo = "x" * (98 + beyond)
        yield "noted"

    async with serving(Scripted(noting), max_memo_bytes=100) as site:
        for text in ("one", "two"):
            response = await site.http.post("/agents/agent", json=run_input(text))
            assert error_of(response) is None
    return {"held": True} if found[-1] is None else None


@probe("max_result_bytes")
async def _(serving: Serving, beyond: bool) -> Any:
    async def giving(run: Run) -> AsyncIterator[RunItem]:
        run.result = "x" * (98 + beyond)
        yield "given"

    async with serving(Scripted(giving), max_result_bytes=100) as site:
        told = (await site.run()).events[-1]["result"]
        kept = (await site.http.get("/agents/agent/threads/t")).json()["result"]
    assert told == "x" * (98 + beyond)
    return {"held": True} if kept is None else None


@probe("max_continuation_bytes")
async def _(serving: Serving, beyond: bool) -> Any:
    pause = Pause([Ask("q", "confirmation")], "x" * (98 + beyond))
    async with serving(Scripted([pause]), max_continuation_bytes=100) as site:
        return error_of(await site.http.post("/agents/agent", json=run_input("go")))


class Waiting:
    """Waits in its process with what it asks."""

    capabilities = AdapterCapabilities(holds=True)

    def __init__(self) -> None:
        self.ended: list[HoldEnd] = []

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        yield Pause([Ask("q", "confirmation")], held=True)

    async def aclose(self) -> None:
        """Nothing to release."""

    async def closed(self, continuation: Any, end: HoldEnd) -> None:
        self.ended.append(end)


@probe("max_held")
async def _(serving: Serving, beyond: bool) -> Any:
    adapter = Waiting()
    async with serving(adapter, max_held=2) as site:
        for number in range(2 + beyond):
            body = run_input("go", thread=f"t{number}")
            assert error_of(await site.http.post("/agents/agent", json=body)) is None
        if not beyond:
            assert adapter.ended == []
            return None
        await eventually(lambda: adapter.ended == ["let go"])
        return {"held": True}


@probe("pipe_events")
async def _(serving: Serving, beyond: bool) -> Any:
    return await unread(pieces=500 if beyond else 3, size=1, most=15, pipe_events=10)


@probe("pipe_bytes")
async def _(serving: Serving, beyond: bool) -> Any:
    return await unread(pieces=500 if beyond else 3, size=1000, most=15, pipe_bytes=10_000)


async def unread(*, pieces: int, size: int, most: int, **settings: Any) -> dict[str, Any] | None:
    """An agent whose client reads nothing; gives what it has yielded if it was held back."""
    yielded, over = 0, False

    async def script(run: Run) -> AsyncIterator[RunItem]:
        nonlocal yielded, over
        for _ in range(pieces):
            yielded += 1
            yield "x" * size
        over = True

    bench = Bench(Scripted(script), **settings)
    reader = bench.begin("go")
    await eventually(lambda: yielded >= min(pieces, 5))
    await settle(500)
    held = not over
    assert yielded <= most
    await reader.rest()
    return {"held": True} if held else None


@contextlib.asynccontextmanager
async def busy(serving: Serving, *, runs: int, **settings: Any) -> AsyncIterator[Site]:
    """A site on which some runs are in progress."""

    async def forever(run: Run) -> AsyncIterator[RunItem]:
        yield "so far"
        await asyncio.Event().wait()

    async with serving(Scripted(forever), **settings) as site, contextlib.AsyncExitStack() as open_:
        for number in range(runs):
            body = run_input("go", thread=f"t{number}")
            stream = await open_.enter_async_context(open_stream(site.base, **body))
            await stream.until("TEXT_MESSAGE_CONTENT")
        yield site


def test_every_limit_has_its_probe_and_every_such_setting_its_row() -> None:
    rows = {limit.setting for limit in LIMITS}
    assert rows == set(PROBES) and len(rows) == len(LIMITS)
    named = {name for name in Settings.__slots__ if name.startswith(("max_", "pipe_"))}
    assert named <= rows


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.setting)
async def test_what_is_at_the_limit_passes(serving: Serving, limit: Limit) -> None:
    assert await PROBES[limit.setting](serving, False) is None


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.setting)
async def test_what_is_beyond_the_limit_gets_its_error(
    serving: Serving, limit: Limit, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "agui_bridge")
    error = await PROBES[limit.setting](serving, True)
    assert error is not None
    if limit.code is None:
        assert error == {"held": True}
        assert limit.otherwise == "waiting" or limit.setting in caplog.text
        return
    assert error["code"] == limit.code
    if CODES[limit.code].stream:
        # The agent's mistake: its author reads of it in the log.
        assert limit.setting in caplog.text
    else:
        assert limit.setting in error["message"]
        details = error["details"]
        assert details["setting"] == limit.setting
        assert str(details["limit"]) in error["message"]
        assert str(details["found"]) in error["message"]


def test_the_table_shows_every_limit_with_its_default_and_its_error() -> None:
    for limit in LIMITS:
        [line] = [x for x in render_limits().splitlines() if f"`{limit.setting}`" in x]
        assert f"{limit.default:,} {limit.unit}" in line
        assert (limit.code or limit.otherwise) in line


# --- each field, and each way to an id ---------------------------------------------------------


@pytest.mark.parametrize("field", ["messages", "tools", "context", "resume"])
async def test_each_list_is_counted_before_its_members_are_looked_at(
    serving: Serving, field: str
) -> None:
    settings = {"max_messages": 5, "max_members": 5}
    error = await sent(serving, {**run_input(None), field: [None] * 6}, **settings)
    assert error is not None and error["code"] == "PAYLOAD_TOO_LARGE"
    assert (error["details"]["field"], error["details"]["found"]) == (field, 6)


@pytest.mark.parametrize("field", ["content", "toolCalls", "tool_calls"])
async def test_the_lists_of_a_message_are_counted_before_their_members_are_looked_at(
    serving: Serving, field: str
) -> None:
    messages = [{"id": "m0"}, {"id": "m1", field: [None] * 6}]
    error = await sent(serving, run_input(None, messages=messages), max_members=5)
    assert error is not None and error["code"] == "PAYLOAD_TOO_LARGE"
    details = error["details"]
    assert (details["field"], details["found"]) == (f"messages.1.{field}", 6)
    assert details["setting"] == "max_members"


@pytest.mark.parametrize("field", ["content", "toolCalls"])
async def test_the_parts_and_calls_of_all_messages_are_counted_together(
    serving: Serving, field: str
) -> None:
    messages = [{"id": f"m{n}", field: [None] * 3} for n in range(2)]
    error = await sent(serving, run_input(None, messages=messages), max_members=5)
    assert error is not None and error["code"] == "PAYLOAD_TOO_LARGE"
    details = error["details"]
    assert (details["field"], details["found"]) == (f"messages.1.{field}", 6)


async def test_values_within_texts_are_none(serving: Serving) -> None:
    text = '{"a, b": [1, 2]}\\",' * 50
    assert await sent(serving, run_input(text), max_values=60) is None
    error = await sent(serving, run_input(text), max_values=5)
    assert error is not None and error["details"]["setting"] == "max_values"


async def test_a_body_of_a_few_long_texts_may_fill_its_bytes(serving: Serving) -> None:
    """Pictures, say: bytes cost next to nothing, values do."""
    messages = [{"id": "m", "role": "user", "content": "x" * 8_000_000}]
    assert await sent(serving, run_input(None, messages=messages)) is None


LONG = "x" * 41


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"threadId": LONG}, "threadId"),
        ({"threadId": "\u20ac" * 13 + "xx"}, "threadId"),
        ({"runId": LONG}, "runId"),
        ({"parentRunId": LONG}, "parentRunId"),
        ({"messages": [{"id": LONG, "role": "user", "content": "x"}]}, "messages.0.id"),
        ({"resume": [{"interruptId": LONG, "status": "cancelled"}]}, "resume.0.interruptId"),
    ],
)
async def test_each_id_has_its_length_checked(
    serving: Serving, members: dict[str, Any], field: str
) -> None:
    error = await sent(serving, {**run_input("hi"), **members}, max_id_bytes=40)
    assert error is not None and error["code"] == "INVALID_INPUT"
    assert error["details"] == {
        "field": field, "found": 41, "limit": 40, "setting": "max_id_bytes",
    }  # fmt: skip


@pytest.mark.parametrize("thread", [LONG, "a%00b", "%00"])
@pytest.mark.parametrize("method, rest", [("GET", ""), ("DELETE", ""), ("GET", "/interrupts"),
                                          ("POST", "/stop")])  # fmt: skip
async def test_a_path_with_an_id_that_no_thread_can_have_is_a_422(
    serving: Serving, method: str, rest: str, thread: str
) -> None:
    async with serving(max_id_bytes=40) as site:
        path = f"/agents/agent/threads/{thread}{rest}"
        response = await site.http.request(method, path)
        error = error_of(response)
        assert error is not None and error["code"] == "INVALID_INPUT"


async def test_a_declared_length_beyond_the_limit_is_refused_before_the_body_comes(
    serving: Serving,
) -> None:
    async with serving(max_body_bytes=1000) as site:
        port = int(site.base.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /agents/agent HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 1001\r\n\r\n"
        )
        async with asyncio.timeout(PATIENCE):
            assert b" 413 " in await reader.readline()
        writer.close()
