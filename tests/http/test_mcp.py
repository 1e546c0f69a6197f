"""`POST /mcp`: who may call, whose threads they see, and what is no call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_bridge import Settings
from agui_bridge.http.app.openapi import openapi
from tests.mcp_server.agents import TOKENS, made
from tests.support.effects import Effects
from tests.support.server import client, serve

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


def token(name: str) -> dict[str, str]:
    """The header by which somebody is known."""
    return {"Authorization": f"Bearer {name}-{'x' * 20}"}


async def call(
    session: httpx.AsyncClient,
    tool: str,
    arguments: dict[str, Any],
    headers: dict[str, str],
    **more: Any,
) -> Any:
    """Call a tool; gives what the response has as JSON."""
    params = {"name": tool, "arguments": arguments, "_meta": META, **more}
    response = await session.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={**HEADERS, "Mcp-Name": tool, **headers},
    )
    return response.json()


async def test_callers_are_known_by_the_bridge_and_see_their_own_threads_alone(
    tmp_path: Path,
) -> None:
    effects = Effects(tmp_path / "effects")
    bridge = made("memory:", effects, authenticate=TOKENS)
    async with serve(bridge.app()) as base, client(base) as session:
        refused = await session.post("/mcp", json={}, headers=HEADERS)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "UNAUTHENTICATED")
        ops = {"message": "users", "thread": "t"}
        asked = (await call(session, "ops", ops, token("ann")))["result"]
        assert asked["resultType"] == "input_required"
        (id,) = asked["inputRequests"]
        again = {
            "inputResponses": {id: {"action": "accept", "content": {"approved": True}}},
            "requestState": asked["requestState"],
        }
        other = await call(session, "ops", ops, token("ben"), **again)
        assert other["error"]["code"] == -32602, "the question is in another scope"
        status = {"agent": "ops", "thread": "t"}
        for name, found in (("ben", "unknown"), ("ann", "waiting")):
            asks_nobody: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {}}
            told = await call(
                session, "thread_status", status, token(name), _meta={**META, **asks_nobody}
            )
            assert told["result"]["structuredContent"]["status"] == found
        assert effects.counted == {}
        done = await call(session, "ops", ops, token("ann"), **again)
        assert done["result"]["structuredContent"]["status"] == "done"
    assert effects.counted == {"deleted users": 1}


async def test_what_is_no_call_is_refused_as_everywhere(tmp_path: Path) -> None:
    limits = Settings(max_body_bytes=10_000)
    bridge = made("memory:", Effects(tmp_path / "effects"), settings=limits)
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        for method in ("GET", "DELETE"):
            response = await session.request(method, "/mcp")
            assert (response.status_code, response.headers["allow"]) == (405, "POST")
        for body, kind, status, code in (
            ("x" * 20_000, "application/json", 413, "PAYLOAD_TOO_LARGE"),
            ("{", "application/json", 422, "INVALID_INPUT"),
            ("{}", "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ):
            headers = {**HEADERS, "Content-Type": kind}
            response = await session.post("/mcp", content=body, headers=headers)
            assert (response.status_code, response.json()["error"]["code"]) == (status, code)
        foreign = await session.post("/mcp", json={}, headers={"Host": "evil.example"})
        assert foreign.status_code == 403


@pytest.mark.parametrize("wanted", [True, False])
async def test_the_route_is_there_where_it_is_wanted(tmp_path: Path, wanted: bool) -> None:
    bridge = made("memory:", Effects(tmp_path / "effects"))
    bridge.mcp = wanted
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        response = await session.post("/mcp", json={}, headers=HEADERS)
        described = (await session.get("/openapi.json")).json()
    assert (response.status_code == 404) is not wanted
    assert ("/mcp" in described["paths"]) is wanted
    assert described == openapi(authenticated=False, mcp=wanted, a2a=False)
