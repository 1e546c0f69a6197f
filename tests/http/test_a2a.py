"""`/a2a/{agent}`: who may call, whose tasks they see, what a card tells, and what is no request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Settings
from agui_bridge.a2a.wire import INTERRUPTS
from agui_bridge.http.app.openapi import openapi
from agui_bridge.inbox import Inbox
from tests.a2a.agents import TOKENS, made
from tests.a2a.asking import Client, Refused, asked, state
from tests.support.effects import Effects
from tests.support.server import client, serve

CARD = "/a2a/ops/.well-known/agent-card.json"


def token(name: str) -> dict[str, str]:
    """The header by which somebody is known."""
    return {"Authorization": f"Bearer {name}-{'x' * 20}"}


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_callers_are_known_by_the_bridge_and_see_their_own_tasks_alone(
    tmp_path: Path, binding: str
) -> None:
    effects = Effects(tmp_path / "effects")
    bridge = made("memory:", effects, authenticate=TOKENS)
    async with serve(bridge.app()) as base, client(base) as session:
        for method, path in (
            ("POST", "/a2a/ops"),
            ("POST", "/a2a/nobody"),
            ("POST", "/a2a/ops/message:send"),
            ("GET", "/a2a/ops/tasks"),
            ("GET", "/a2a/ops/extendedAgentCard"),
        ):
            refused = await session.request(method, path, json={})
            assert (refused.status_code, refused.json()["error"]["code"]) == (
                401,
                "UNAUTHENTICATED",
            )
        ann = Client(session, binding, "ops", token("ann"))
        ben = Client(session, binding, "ops", token("ben"))
        task = await ann.say("users", contextId="c")
        for method in ("GetTask", "CancelTask"):
            with pytest.raises(Refused) as unknown:
                await ben.call(method, id=task["id"])
            assert unknown.value.reason == "TASK_NOT_FOUND"
        with pytest.raises(Refused) as unknown:
            await ben.stream("SubscribeToTask", id=task["id"])
        assert unknown.value.reason == "TASK_NOT_FOUND"
        with pytest.raises(Refused) as unknown:
            await ben.answer(task, {"approved": True})
        assert unknown.value.reason == "TASK_NOT_FOUND"
        for params in ({}, {"contextId": "c"}):
            assert (await ben.call("ListTasks", **params))["tasks"] == []
        # The same words in a context of the same name are Ben's own.
        other = await ben.say("users", contextId="c")
        assert asked(other)[0]["id"] != asked(task)[0]["id"]
        assert effects.counted == {}
        assert state(await ann.answer(task, {"approved": True})) == "COMPLETED"
    assert effects.counted == {"deleted users": 1}


async def test_the_public_card_says_how_to_sign_in_and_the_extended_one_what_there_is(
    tmp_path: Path,
) -> None:
    bridge = made("memory:", Effects(tmp_path / "effects"), authenticate=TOKENS)
    async with serve(bridge.app()) as base, client(base) as session:
        card = (await session.get(CARD)).json()
        assert "Deletes rows" not in str(card)
        assert card["securitySchemes"]["bearer"] == {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
        assert card["securityRequirements"] == [{"schemes": {"bearer": {"list": []}}}]
        assert [each["url"] for each in card["supportedInterfaces"]] == [f"{base}/a2a/ops"] * 2
        (extension,) = card["capabilities"]["extensions"]
        assert extension["uri"] == INTERRUPTS
        whole = await Client(session, "HTTP+JSON", "ops", token("ann")).call("GetExtendedAgentCard")
        assert whole["description"] == "Deletes rows, once approved."
        assert whole["supportedInterfaces"] == card["supportedInterfaces"]
        absent = await session.get("/a2a/nobody/.well-known/agent-card.json")
        assert absent.status_code == 404 and "ops" not in absent.text


async def test_where_nobody_signs_in_the_card_says_all(tmp_path: Path) -> None:
    where = Inbox(url="https://agents.example/ai/")
    bridge = made("memory:", Effects(tmp_path / "effects"), inbox=where)
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        card = (await session.get(CARD)).json()
        assert card["description"] == "Deletes rows, once approved."
        assert "securitySchemes" not in card
        assert card["capabilities"]["extendedAgentCard"] is False
        with pytest.raises(Refused) as refused:
            await Client(session, "JSONRPC", "ops").call("GetExtendedAgentCard")
        assert refused.value.reason == "UNSUPPORTED_OPERATION"
        assert card["supportedInterfaces"][0]["url"] == "https://agents.example/ai/a2a/ops"


def rpc(method: Any = "GetTask", **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {}, **members}


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        ("{", -32700, None),
        ("[]", -32600, None),
        ([rpc()], -32600, None),
        ({"jsonrpc": "1.0", "id": 7, "method": "GetTask"}, -32600, 7),
        (rpc(7), -32600, 7),
        (rpc(id=True), -32600, None),
        (rpc(id={}), -32600, None),
        (rpc("tasks/get"), -32601, 7),
        (rpc(params=[]), -32602, 7),
        (rpc(), -32602, 7),
        ('{"jsonrpc": "2.0", "id": 7, "id": 8, "method": "GetTask"}', -32700, None),
        ('{"jsonrpc": "2.0", "id": 7, "method": "x\\ud800"}', -32600, None),
    ],
)
async def test_what_is_no_request_of_json_rpc_is_told_by_its_numbers(
    tmp_path: Path, body: Any, code: int, id: Any
) -> None:
    bridge = made("memory:", Effects(tmp_path / "effects"))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        headers = {"Content-Type": "application/json"}
        more = {"content": body, "headers": headers} if isinstance(body, str) else {"json": body}
        told = await session.post("/a2a/echo", **more)
        assert told.status_code == 200
        assert (told.json()["error"]["code"], told.json()["id"]) == (code, id)


async def test_what_is_no_request_of_a2a_is_refused_as_everywhere(tmp_path: Path) -> None:
    limits = Settings(max_body_bytes=10_000)
    bridge = made("memory:", Effects(tmp_path / "effects"), settings=limits)
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        for path, methods in (("/a2a/ops", "POST"), ("/a2a/ops/tasks", "GET"), (CARD, "GET")):
            response = await session.delete(path)
            assert (response.status_code, response.headers["allow"]) == (405, methods)
        for content, kind, status, code in (
            ("x" * 20_000, "application/json", 413, "PAYLOAD_TOO_LARGE"),
            ("{}", "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"),
        ):
            for path in ("/a2a/ops", "/a2a/ops/message:send"):
                headers = {"Content-Type": kind}
                response = await session.post(path, content=content, headers=headers)
                assert (response.status_code, response.json()["error"]["code"]) == (status, code)
        foreign = await session.post("/a2a/ops", json=rpc(), headers={"Host": "evil.example"})
        assert foreign.status_code == 403
        absent = await session.post("/a2a/nobody", json=rpc())
        assert absent.json()["error"]["code"] == "AGENT_NOT_FOUND"


async def test_ids_in_an_address_are_checked_as_those_in_a_body(tmp_path: Path) -> None:
    bridge = made("memory:", Effects(tmp_path / "effects"))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        refused = await session.get("/a2a/echo/tasks?contextId=a%00b")
        assert refused.status_code == 400
        assert "contextId" in refused.json()["error"]["message"]


async def test_versions_and_extensions_are_told_apart(tmp_path: Path) -> None:
    bridge = made("memory:", Effects(tmp_path / "effects"))
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        for version, spoken in (("1.0", True), ("", True), ("1.3", True), ("0.3", False)):
            headers = {"A2A-Version": version, "A2A-Extensions": f"urn:x, {INTERRUPTS}"}
            called = await session.post("/a2a/echo", json=rpc("ListTasks"), headers=headers)
            rest = await session.get("/a2a/echo/tasks", headers=headers)
            assert ("result" in called.json(), rest.status_code == 200) == (spoken, spoken)
            assert rest.headers["content-type"] == "application/a2a+json"
            assert called.headers["a2a-extensions"] == INTERRUPTS
            if not spoken:
                assert called.json()["error"]["code"] == -32009


@pytest.mark.parametrize("wanted", [True, False])
async def test_the_routes_are_there_where_they_are_wanted(tmp_path: Path, wanted: bool) -> None:
    bridge = made("memory:", Effects(tmp_path / "effects"))
    bridge.a2a = wanted
    async with serve(bridge.app(anonymous=True)) as base, client(base) as session:
        response = await session.get(CARD)
        described = (await session.get("/openapi.json")).json()
    assert (response.status_code == 200) is wanted
    assert ("/a2a/{agent}" in described["paths"]) is wanted
    assert described == openapi(authenticated=False, mcp=False, a2a=wanted)
