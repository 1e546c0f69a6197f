"""The bridge at home in a FastAPI app: its test client, its sign-in, its document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel

from agui_bridge import Bridge, Principal
from agui_bridge.errors import ConfigurationError
from agui_bridge.fastapi import document_bridge
from examples import fastapi_app
from tests.support.server import run_input


@pytest.fixture
def anonymous() -> Iterator[TestClient]:
    bridge = Bridge("memory:")

    @bridge.agent("ops")
    async def ops(run: Any) -> Any:
        yield "done"

    app = FastAPI(lifespan=bridge.lifespan)
    app.mount("/ai", bridge.app(anonymous=True))
    with TestClient(app) as client:
        yield client


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def test_the_test_client_needs_no_other_name(anonymous: TestClient) -> None:
    told = events_of(anonymous.post("/ai/agents/ops", json=run_input("go")).text)
    assert told[-1]["outcome"] == {"type": "success"}


def test_the_test_client_may_not_name_another_host(anonymous: TestClient) -> None:
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        assert anonymous.get("/ai/agents", headers=headers).json()["error"]["code"] == "FORBIDDEN"


def test_who_is_signed_in_uses_agents_and_nobody_else_does() -> None:
    with TestClient(fastapi_app.app, base_url="http://127.0.0.1") as ann:
        refused = ann.post("/ai/agents/ops", json=run_input("go"))
        assert (refused.status_code, ann.get("/me").status_code) == (401, 401)
        assert ann.post("/login?name=ann").json() == {"name": "ann"}
        asked = events_of(ann.post("/ai/agents/ops", json=run_input("go")).text)[-1]
        (ask,) = asked["outcome"]["interrupts"]
        before = len(fastapi_app.DELETED)
        answer = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
        bob = TestClient(fastapi_app.app, base_url="http://127.0.0.1")
        bob.post("/login?name=bob")
        theirs = bob.post("/ai/agents/ops", json=run_input(None, resume=[answer]))
        assert events_of(theirs.text)[-1]["code"] == "INTERRUPT_NOT_FOUND"
        assert ann.get("/me").json() == {"name": "ann"}
        assert len(fastapi_app.DELETED) == before
        told = events_of(ann.post("/ai/agents/ops", json=run_input(None, resume=[answer])).text)
        assert told[-1]["outcome"] == {"type": "success"}
        assert len(fastapi_app.DELETED) == before + 1


def test_a_page_from_elsewhere_can_not_use_the_cookie() -> None:
    with TestClient(fastapi_app.app, base_url="http://127.0.0.1") as ann:
        ann.post("/login?name=ann")
        elsewhere = {"Origin": "https://evil.example"}
        said = ann.post("/ai/agents/ops", json=run_input("go"), headers=elsewhere)
        assert said.json()["error"]["code"] == "FORBIDDEN"


def test_the_apps_document_shows_the_bridges_routes_beside_its_own() -> None:
    with TestClient(fastapi_app.app, base_url="http://127.0.0.1") as client:
        document = client.get("/openapi.json").json()
    assert {"/me", "/login", "/ai/agents/{agent}", "/ai/interrupts"} <= document["paths"].keys()
    assert not any("/copilotkit" in path for path in document["paths"])
    for reference in set(references(document)):
        part: Any = document
        for step in reference.removeprefix("#/").split("/"):
            part = part[step]


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    for part in node if isinstance(node, list) else ():
        yield from references(part)


class Error(BaseModel):
    """A schema of the app's own, of a name that the bridge has too."""

    colour: str


def test_schemas_of_the_same_name_stay_apart() -> None:
    bridge = Bridge("memory:", authenticate=lambda _: Principal())
    app = FastAPI()
    app.mount("/ai", bridge.app())
    document_bridge(app, bridge, "/ai/")

    @app.post("/errors")
    def add(error: Error) -> Error:
        return error

    schemas = app.openapi()["components"]["schemas"]
    assert list(schemas["Error"]["properties"]) == ["colour"]
    assert "agui_bridge.Error" in schemas


def test_a_place_that_can_not_be_is_told() -> None:
    bridge, app = Bridge("memory:"), FastAPI()
    with pytest.raises(ConfigurationError, match="such as '/ai'"):
        document_bridge(app, bridge, "ai")

    @app.get("/ai/agents")
    def taken() -> None: ...

    document_bridge(app, bridge, "/ai")
    with pytest.raises(ConfigurationError, match="'/ai/agents' already"):
        app.openapi()
