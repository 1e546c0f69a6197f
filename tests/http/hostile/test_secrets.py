"""What clients and agents say stays out of the log and out of other people's errors."""

import contextlib
import json
import logging
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from agui_bridge import BearerTokens, Bridge, FunctionRun, Principal, Settings
from agui_bridge.errors import BridgeError, ConfigurationError
from agui_bridge.stores.open import open_store
from tests.support.server import client, run_input, serve

# In two pieces: a traceback shows the lines of this file.
MARKER = "s3cr3t" + "-marker-0123456789"
TOKEN = "token-" + MARKER


@contextlib.contextmanager
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The records of the bridge's logger, as a handler would write them."""
    lines: list[str] = []
    with caplog.at_level(logging.DEBUG, "agui_bridge"):
        caplog.clear()
        yield lines
    lines += [
        caplog.handler.format(record)
        for record in caplog.records
        if record.name.startswith("agui_bridge")
    ]


@contextlib.asynccontextmanager
async def site() -> AsyncIterator[httpx.AsyncClient]:
    """A bridge whose agents handle the marker; the client sends the token."""
    bridge = Bridge(
        authenticate=BearerTokens({TOKEN: Principal("team", "ann")}),
        settings=Settings(shutdown_grace=0.1, cancel_grace=0.2, busy_patience=0.0),
    )

    @bridge.agent("pay")
    async def pay(run: FunctionRun) -> AsyncIterator[str]:
        run.state["secret"] = MARKER
        yield f"I will pay {MARKER}."
        approval = await run.approve("pay", {"to": MARKER}, message=f"Pay {MARKER}?")
        if approval.approved:
            yield await run.tool(approval, lambda to: f"paid {to}")
        else:
            yield f"Not paid: {approval.reason}."

    @bridge.agent("broken")
    async def broken(run: FunctionRun) -> AsyncIterator[str]:
        yield "so far"
        raise RuntimeError(f"can't reach https://user:{MARKER}@bank.example")

    @bridge.agent("step")
    async def step(run: FunctionRun) -> AsyncIterator[str]:
        def fail() -> None:
            raise RuntimeError(MARKER)

        await run.step("fail", fail)
        yield "never"

    async with serve(bridge.app()) as base, client(base) as http:
        http.headers["authorization"] = f"Bearer {TOKEN}"
        yield http


async def run(http: httpx.AsyncClient, agent: str, **body: Any) -> list[dict[str, Any]]:
    response = await http.post(f"/agents/{agent}", json=body)
    assert response.status_code == 200, response.text
    return [json.loads(line[6:]) for line in response.text.splitlines() if line[:6] == "data: "]


async def test_a_conversation_with_answers_refusals_and_stops_logs_none_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with site() as http:
        with logged(caplog) as lines:
            members: dict[str, Any] = {
                "state": {"a": MARKER},
                "context": [{"description": MARKER, "value": MARKER}],
                "forwardedProps": {"a": MARKER},
                "unheardOf": MARKER,
            }
            started = await run(http, "pay", **run_input(MARKER, **members))
            [ask] = started[-1]["outcome"]["interrupts"]
            await run(http, "pay", **run_input(f"more {MARKER}"))
            for payload in ({"approved": MARKER}, MARKER, {"approved": True, "editedArgs": MARKER}):
                entry = {"interruptId": ask["id"], "status": "resolved", "payload": payload}
                end = await run(http, "pay", **run_input(None, run="r2", resume=[entry]))
                assert end[-1]["code"] == "INVALID_RESUME_PAYLOAD"
            entry["payload"] = {"approved": False, "reason": MARKER}
            end = await run(http, "pay", **run_input(None, run="r3", resume=[entry]))
            assert end[-1]["outcome"]["type"] == "success"
            entry["payload"] = {"approved": True, "reason": MARKER}
            end = await run(http, "pay", **run_input(None, run="r4", resume=[entry]))
            assert end[-1]["code"] == "INTERRUPT_ALREADY_ANSWERED"
            assert (await http.get("/agents/pay/threads/t")).status_code == 200
            stopped = await http.post("/agents/pay/threads/t/stop", json={"note": MARKER})
            assert stopped.status_code == 200
            await http.delete("/agents/pay/threads/t")
    assert lines, "the unknown member was to be logged"
    assert MARKER not in "".join(lines)


async def test_refused_requests_leave_nothing_of_theirs_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wrong: list[Any] = [
        {"messages": [{"id": MARKER, "role": MARKER, "content": MARKER}]},
        {"messages": [{"id": "1", "role": "user", "content": {"a": MARKER}}]},
        {"state": {MARKER: "\x00"}},
        {"resume": [{"interruptId": MARKER, "status": MARKER}]},
        {"runId": {"a": MARKER}},
    ]
    async with site() as http:
        with logged(caplog) as lines:
            for members in wrong:
                body = {**run_input("hi"), **members}
                assert (await http.post("/agents/pay", json=body)).status_code == 422
            for content in (f'{{"{MARKER}', f'{MARKER}{{"a": 1}}', f'"{MARKER}\ud800"'):
                response = await http.post(
                    "/agents/pay",
                    content=content.encode("utf-8", "surrogatepass"),
                    headers={"content-type": "application/json"},
                )
                assert response.status_code == 422 and MARKER not in response.text
            for value in (f"Bearer wrong-{MARKER}", f"Basic {MARKER}", MARKER):
                response = await http.get("/agents", headers={"authorization": value})
                assert response.status_code == 401 and MARKER not in response.text
    assert MARKER not in "".join(lines)


@pytest.mark.parametrize("agent", ["broken", "step"])
async def test_what_an_agents_exception_says_is_in_the_authors_log_and_nowhere_else(
    agent: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with site() as http:
        with logged(caplog) as lines:
            events = await run(http, agent, **run_input("go"))
            thread = await http.get(f"/agents/{agent}/threads/t")
            asked = await http.get("/interrupts")
    assert events[-1]["code"] == "AGENT_ERROR"
    assert MARKER not in json.dumps(events) + thread.text + asked.text
    [told] = [line for line in lines if MARKER in line]
    assert "the agent raised an error" in told and "Traceback" in told


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:{}@127.0.0.1:1/db",
        "postgresql+asyncpg://user:{}@127.0.0.1:1/db",
        "redis://:{}@127.0.0.1:1/0",
        "rediss://user:{}@127.0.0.1:1/0",
        "mysql://user:{}@127.0.0.1/db",
    ],
)
async def test_the_password_of_a_store_is_in_no_error_and_no_log(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    address = url.format(MARKER)
    with logged(caplog) as lines:
        with pytest.raises(BridgeError) as error:
            await (await open_store(address)).aclose()
        bridge = Bridge(address)
        async with (
            serve(bridge.app(anonymous=True), lifespan="off") as base,
            client(base) as http,
        ):
            response = await http.get("/readyz")
    assert response.status_code in (500, 503) and MARKER not in response.text
    assert MARKER not in "".join(traceback.format_exception(error.value)) + repr(bridge)
    assert MARKER not in "".join(lines)


async def test_what_is_no_address_at_all_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError, match="begin with its kind") as error:
        await open_store(MARKER)
    assert MARKER not in str(error.value)
    with pytest.raises(ConfigurationError, match="of the kind 'mysql'") as error:
        await open_store(f"mysql://root:{MARKER}@db/agents")
    assert MARKER not in str(error.value)


def test_neither_tokens_nor_bridges_show_what_they_were_given() -> None:
    tokens = BearerTokens({TOKEN: Principal("team", "ann")})
    assert MARKER not in f"{tokens!r}{Bridge(authenticate=tokens)!r}{vars(tokens)}"
