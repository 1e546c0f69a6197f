"""Where CopilotKit's routes stand, who may call them, and what the single route refuses."""

from typing import Any

import httpx
import pytest

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.http.app.openapi import OPERATIONS, openapi
from agui_bridge.http.copilotkit.api import METHODS
from tests.http.conftest import Serving
from tests.support.agents import Scripted
from tests.support.server import client, run_input, serve


async def info(bridge: Bridge, path: str) -> int:
    # The client of the other tests knows only the default paths.
    async with serve(bridge.app(anonymous=True)) as base, httpx.AsyncClient() as http:
        return (await http.get(f"{base}{path}/info")).status_code


@pytest.mark.parametrize("base", ["/copilotkit", "/api2/runtime"])
async def test_they_stand_where_the_bridge_says(base: str) -> None:
    bridge = Bridge(copilotkit=base)

    assert await info(bridge, base) == 200
    assert (await info(bridge, "/copilotkit") == 200) == (base == "/copilotkit")


async def test_there_are_none_if_there_are_to_be_none() -> None:
    bridge = Bridge(copilotkit=None)
    paths = {route.path for route in bridge.routes(anonymous=True)}  # type: ignore[attr-defined]

    assert await info(bridge, "/copilotkit") == 404
    assert "/agents" in paths and not any("copilotkit" in path for path in paths)


async def test_the_document_has_them_where_they_are() -> None:
    moved = openapi(copilotkit="/kit", mcp=False, a2a=False)["paths"]

    assert "/kit/agent/{agent}/run" in moved and "/kit" in moved
    assert not any(path.startswith("/copilotkit") for path in moved)
    assert not any("agent/" in path for path in openapi(copilotkit=None)["paths"])
    async with (
        serve(Bridge(copilotkit="/kit").app(anonymous=True)) as base,
        client(base) as http,
    ):
        assert set((await http.get("/openapi.json")).json()["paths"]) == set(moved)


@pytest.mark.parametrize(
    "base", ["copilotkit", "/", "", "/kit/", "/a b", "/{agent}", "/agents/x", "/playground"]
)
def test_a_path_that_can_not_be_is_refused_at_once(base: str) -> None:
    with pytest.raises(ConfigurationError, match="copilotkit can't be"):
        Bridge(copilotkit=base)


@pytest.mark.parametrize(
    ("envelope", "field"),
    [
        ([], "method"),
        ({}, "method"),
        ({"method": "agent/suggest"}, "method"),
        ({"method": ["info"]}, "method"),
        ({"method": "agent/run"}, "params.agentId"),
        ({"method": "agent/run", "params": {"agentId": 5}}, "params.agentId"),
        ({"method": "agent/stop", "params": {"agentId": "agent"}}, "params.threadId"),
        (
            {
                "method": "agent/stop",
                "params": {"agentId": "agent", "threadId": "t"},
                "body": {"runId": 5},
            },
            "runId",
        ),
        (
            {
                "method": "agent/run",
                "params": {"agentId": "agent"},
                "body": {**run_input(), "messages": 5},
            },
            "messages",
        ),
    ],
)
async def test_an_envelope_that_is_none_is_refused_with_its_field(
    serving: Serving, envelope: Any, field: str
) -> None:
    agent = Scripted(["never"])
    async with serving(agent) as site:
        answer = await site.http.post("/copilotkit", json=envelope)

    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["field"] == field
    assert agent.runs == []


def test_the_document_names_the_methods_that_there_are() -> None:
    body: Any = OPERATIONS["POST", "/copilotkit"].body

    named = [m for shape in body["oneOf"] for m in shape["properties"]["method"]["enum"]]
    assert named == list(METHODS)


async def test_a_stop_without_a_body_needs_no_content_type(serving: Serving) -> None:
    async with serving(Scripted(["done"])) as site:
        answer = await site.http.post("/copilotkit/agent/agent/stop/t")

    assert answer.json()["stopped"] is False


async def test_pages_of_allowed_origins_may_call_and_others_may_not() -> None:
    bridge = Bridge(cors_origins=["https://app.example"])
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "x-mine"}
    async with serve(bridge.app(anonymous=True)) as base, client(base) as http:
        for origin, allowed in (("https://app.example", True), ("https://evil.example", False)):
            headers = {"origin": origin}
            preflight = await http.options("/copilotkit", headers={**headers, **asked})
            answer = await http.get("/copilotkit/info", headers=headers)
            assert (preflight.status_code == 200) is allowed
            assert (answer.status_code == 200) is allowed
            assert answer.headers.get("access-control-allow-origin") == (
                origin if allowed else None
            )
