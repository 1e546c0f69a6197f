"""Who may: credentials, hooks, and threads of other scopes, which look absent."""

import asyncio
import threading
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from agui_bridge.errors import CODES
from agui_bridge.protocol.threads.records import Principal
from tests.http.agui.test_threads import STOP
from tests.http.conftest import Serving, by_token
from tests.support.server import PATIENCE, run_input

EVE = {"authorization": "Bearer eve"}


ANN = {"authorization": "Bearer ann"}


@pytest.mark.parametrize(
    "token, status, code",
    [(None, 401, "UNAUTHENTICATED"), ("x", 401, "UNAUTHENTICATED"), ("mallory", 403, "FORBIDDEN")],
)
async def test_wrong_credentials_are_refused_everywhere_but_for_health(
    serving: Serving, token: str | None, status: int, code: str
) -> None:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with serving(authenticate=by_token, headers=headers) as site:
        for method, path in (
            ("GET", "/agents"),
            ("POST", "/agents/agent"),
            ("POST", "/agents/nobody"),
            ("GET", "/agents/agent/capabilities"),
            ("GET", "/agents/agent/threads"),
            ("GET", "/agents/agent/threads/t"),
            ("DELETE", "/agents/agent/threads/t"),
            ("GET", "/agents/agent/threads/t/interrupts"),
            ("POST", "/agents/agent/threads/t/stop"),
            ("GET", "/interrupts"),
        ):
            response = await site.http.request(method, path)
            assert response.status_code == status, (method, path)
            assert response.json()["error"]["code"] == code
        assert site.store.commits == []
        assert (await site.http.get("/healthz")).status_code == 200
        assert (await site.http.get("/readyz")).status_code == 200


@pytest.mark.parametrize("path", ["/agents/agent", "/agents/agent/threads/t/stop", "/copilotkit"])
async def test_no_body_is_read_before_it_is_known_who_asks(serving: Serving, path: str) -> None:
    async with serving(authenticate=by_token) as site:
        port = int(site.base.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        # Of the body nothing comes.
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 8000000\r\n"
        writer.write(f"{head}content-type: application/json\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            assert b" 401 " in await reader.readline()
        writer.close()


async def test_a_thread_of_another_scope_looks_absent_everywhere(serving: Serving) -> None:
    async with serving(authenticate=by_token) as site:
        await site.http.post("/agents/agent", json=run_input("go"), headers=ANN)
        mine = (await site.http.get("/agents/agent/threads/t", headers=ANN)).json()
        ask = mine["interrupts"][0]["id"]
        before = await site.everything(scope="team")
        for method, path in (
            ("GET", "/agents/agent/threads/t"),
            ("DELETE", "/agents/agent/threads/t"),
            ("POST", STOP),
            ("GET", "/agents/agent/threads/t/interrupts"),
        ):
            response = await site.http.request(method, path, headers=EVE)
            assert (response.status_code, response.json()["error"]["code"]) == (
                404,
                "THREAD_NOT_FOUND",
            )
        for path, member in (("/interrupts", "interrupts"), ("/agents/agent/threads", "threads")):
            assert (await site.http.get(path, headers=EVE)).json()[member] == []
        resume = [{"interruptId": ask, "status": "resolved", "payload": {"approved": True}}]
        body = run_input(None, resume=resume)
        response = await site.http.post("/agents/agent", json=body, headers=EVE)
        kinds = [line for line in response.text.split("\n") if line]
        assert [k.split('"')[3] for k in kinds] == ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"]
        assert "INTERRUPT_NOT_FOUND" in kinds[-1]
        assert await site.everything(scope="team") == before
        assert site.agent.executed == []
        await site.http.post("/agents/agent", json=run_input("mine"), headers=EVE)
        assert await site.everything(scope="team") == before


async def test_an_async_hook_is_awaited(serving: Serving) -> None:
    async def hook(request: Any) -> Any:
        await asyncio.sleep(0)
        return by_token(request)

    async with serving(authenticate=hook) as site:
        assert (await site.http.get("/agents", headers=ANN)).status_code == 200
        assert (await site.http.get("/agents")).status_code == 401


@pytest.mark.parametrize(
    ("status", "code"), [(401, "UNAUTHENTICATED"), (403, "FORBIDDEN"), (400, "UNAUTHENTICATED")]
)
async def test_what_a_dependency_of_the_host_raises_becomes_the_documented_error(
    serving: Serving, status: int, code: str
) -> None:
    def hook(request: Any) -> Any:
        raise HTTPException(status, "no badge")

    async with serving(authenticate=hook) as site:
        response = await site.http.get("/agents")
    assert response.json() == {
        "error": {"code": code, "message": "no badge"},
        "message": "no badge",
    }
    assert response.status_code == CODES[code].status


@pytest.mark.parametrize("status", [404, 429, 500, 502, 503])
async def test_a_hook_that_fails_says_nothing_of_the_credentials(
    serving: Serving, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    def hook(request: Any) -> Any:
        raise HTTPException(status, "ldap-7 is down")

    async with serving(authenticate=hook) as site:
        response = await site.http.get("/agents")
    assert (response.status_code, response.json()["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "ldap-7" not in response.text
    assert "WWW-Authenticate" not in response.headers
    assert "ldap-7 is down" in caplog.text


async def test_a_hook_that_gives_no_principal_is_an_internal_error_that_is_logged(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(authenticate=lambda request: {"scope": "x"}) as site:
        for path in ("/agents", "/agents/agent/threads/t"):
            failed = await site.http.get(path)
            assert failed.status_code == 500
            assert failed.json()["error"]["code"] == "INTERNAL_ERROR"
    assert "should return a Principal, not dict" in caplog.text


async def test_a_request_is_authenticated_once(serving: Serving) -> None:
    asked: list[str] = []

    def hook(request: Request) -> Principal:
        asked.append(request.method)
        return Principal()

    async with serving(authenticate=hook) as site:
        await site.ask()
        await site.http.get("/agents/agent/threads/t")
        await site.http.post(STOP)
        await site.http.delete("/agents/agent/threads/t")
        assert asked == ["POST", "GET", "POST", "DELETE"]


async def test_a_plain_hook_that_blocks_keeps_nobody_else_waiting(serving: Serving) -> None:
    let_in = threading.Event()
    waited: list[bool] = []

    def looked_up(request: Request) -> Principal:
        if request.headers["authorization"] == "Bearer unknown":
            waited.append(let_in.wait(PATIENCE))
        return Principal("team", "ann")

    async with serving(authenticate=looked_up, headers=ANN) as site:
        unknown = {"authorization": "Bearer unknown"}
        slow = [asyncio.ensure_future(site.http.get("/agents", headers=unknown)) for _ in range(20)]
        await asyncio.sleep(0)
        for _ in range(3):
            assert (await site.http.get("/healthz")).status_code == 200
            assert (await site.http.get("/agents")).status_code == 200
        let_in.set()
        assert [(await each).status_code for each in slow] == [200] * 20
    assert waited == [True] * 20


async def test_a_hook_that_exits_fails_its_request_and_not_the_server(serving: Serving) -> None:
    def leaving(request: Request) -> Principal:
        raise SystemExit(1)

    async with serving(authenticate=leaving) as site:
        assert (await site.http.get("/agents")).status_code == 500
        assert (await site.http.get("/healthz")).status_code == 200
