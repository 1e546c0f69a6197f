"""The OpenAPI document: of the routes that there are, true, and served to everybody."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx
import pytest
from jsonschema import Draft202012Validator
from starlette.applications import Starlette
from starlette.routing import Mount

from agui_bridge import Bridge
from agui_bridge.a2a.card import A2A_AGENT, A2A_CARD
from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import CODES
from agui_bridge.http.app.openapi import OPERATIONS, openapi
from agui_bridge.http.app.routes import ROUTES, _described
from agui_bridge.shapes.readable_schema import within
from tests.http.conftest import Serving, by_token
from tests.support.agents import Scripted
from tests.support.server import client, open_stream, run_input, serve
from tests.support.shapes import SCHEMAS, check_event, check_response

# To make it anew takes a second of each worker; tests/shapes holds the file to what is made.
DOCUMENT: Final = json.loads((SCHEMAS / "openapi.json").read_text(encoding="utf-8"))
METHODS: Final = ("get", "post", "delete")


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), path): item[method]
        for path, item in DOCUMENT["paths"].items()
        for method in METHODS
        if method in item
    }


def test_every_route_is_documented_and_every_documented_path_exists() -> None:
    routed = {(method, path) for method, path, _ in ROUTES}
    routed |= {("GET", "/openapi.json"), ("POST", "/mcp")}
    routed |= {("GET", A2A_CARD), ("POST", A2A_AGENT)}

    assert routed == set(OPERATIONS) == set(operations())


OPTIONAL = {"/mcp", A2A_CARD, A2A_AGENT}
"""What has to be switched on: tests/http/test_mcp.py, tests/http/test_a2a.py."""


def test_the_app_serves_the_documented_paths() -> None:
    app = Bridge(first_page=False).app(anonymous=True)

    served = {route.path_format for route in app.routes}  # type: ignore[attr-defined]  # all are plain routes
    # Each agent's tool calls back at addresses that it is given: no API of ours.
    assert served - {"/agents/{agent}/callbacks/{token}"} == set(DOCUMENT["paths"]) - OPTIONAL


def test_a_route_that_nobody_described_is_a_mistake() -> None:
    with pytest.raises(KeyError, match="/new"):
        openapi([("GET", "/new")])


def test_each_operation_has_a_name_of_its_own_and_says_what_it_is_for() -> None:
    names = [operation["operationId"] for operation in operations().values()]

    assert len(set(names)) == len(names)
    assert all(operation["summary"] and operation["tags"] for operation in operations().values())


def test_the_parameters_of_a_path_are_those_in_it() -> None:
    for path, item in DOCUMENT["paths"].items():
        declared = [parameter["name"] for parameter in item.get("parameters", ())]
        assert declared == re.findall(r"\{(\w+)\}", path)


def test_every_reference_leads_somewhere_and_every_component_is_used() -> None:
    wanted = {node["$ref"] for node in within(DOCUMENT) if isinstance(node.get("$ref"), str)}
    there = {
        f"#/components/{kind}/{name}"
        for kind in ("schemas", "responses")
        for name in DOCUMENT["components"][kind]
    }

    assert wanted == there


def test_every_error_stands_under_the_status_of_its_code() -> None:
    documented = set()
    for place, operation in operations().items():
        own = OPERATIONS[place].statuses
        for status, answer in operation["responses"].items():
            if "$ref" in answer:
                codes = answer["$ref"].rpartition("/")[2].split(".")
                documented |= set(codes)
                assert {own.get(code, CODES[code].status) for code in codes} == {int(status)}
    http = {code for code, entry in CODES.items() if not entry.stream}
    # No operation can answer so: there is no such method; and tools call back by no API of ours.
    assert http - documented == {"METHOD_NOT_ALLOWED", "CALLBACK_NOT_AWAITED"}


def test_schemas_are_valid_and_examples_are_examples() -> None:
    components = DOCUMENT["components"]
    for schema in components["schemas"].values():
        Draft202012Validator.check_schema(schema)
    shown = 0
    bodies = [
        *operations().values(),
        *({"responses": {"": r}} for r in components["responses"].values()),
    ]
    for operation in bodies:
        answers = [operation.get("requestBody", {}), *operation["responses"].values()]
        for kind, body in (pair for a in answers for pair in a.get("content", {}).items()):
            examples = [example["value"] for example in body.get("examples", {}).values()]
            examples += [body["example"]] if "example" in body else []
            examples += body["schema"].get("examples", [])
            for example in examples:
                shown += 1
                if kind == "text/event-stream":
                    for line in example.split("\n\n")[:-1]:
                        check_event(json.loads(line.removeprefix("data: ")), "the example")
                else:
                    judge = Draft202012Validator({**body["schema"], "components": components})
                    judge.validate(example)
    assert shown > 15


def test_credentials_are_required_optional_or_unheard_of() -> None:
    def asked(document: dict[str, Any]) -> tuple[Any, bool, bool]:
        agents = document["paths"]["/agents"]["get"]
        return (
            agents.get("security"),
            "401" in agents["responses"],
            "securitySchemes" in document["components"],
        )

    assert asked(openapi()) == ([{}, {"bearer": []}], True, True)
    assert asked(openapi(authenticated=True)) == ([{"bearer": []}], True, True)
    assert asked(openapi(authenticated=False)) == (None, False, False)
    for document in (openapi(), openapi(authenticated=True)):
        for path in ("/healthz", "/readyz", "/openapi.json"):
            operation = document["paths"][path]["get"]
            assert "security" not in operation and "401" not in operation["responses"]


async def test_it_is_served_without_credentials_and_says_that_others_need_them(
    serving: Serving,
) -> None:
    async with serving(Scripted(["x"]), authenticate=by_token) as site:
        answer = await site.http.get("/openapi.json")
        assert (await site.http.get("/agents")).status_code == 401
    assert answer.json() == openapi(authenticated=True, mcp=False, a2a=False)


async def test_it_is_made_once_however_often_it_is_asked_for(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def making(*args: Any, **options: Any) -> Any:
        made.append(options)
        return openapi(*args, **options)

    _described.cache_clear()
    monkeypatch.setattr("agui_bridge.http.app.openapi.openapi", making)
    async with serving(Scripted(["x"])) as site:
        answers = [await site.http.get("/openapi.json") for _ in range(5)]
    assert [answer.json() for answer in answers] == [
        openapi(authenticated=False, mcp=False, a2a=False)
    ] * 5
    assert len(made) == 1


async def test_a_mounted_app_names_the_place_where_its_paths_begin() -> None:
    host = Starlette(routes=[Mount("/ai", Bridge().app(anonymous=True))])
    async with serve(host, lifespan="off") as base, client(base) as http:
        served = (await http.get("/ai/openapi.json")).json()
    assert served == openapi(authenticated=False, server="/ai", mcp=False, a2a=False)


def test_routes_that_join_another_app_leave_its_document_alone() -> None:
    paths = {route.path for route in Bridge().routes(anonymous=True)}  # type: ignore[attr-defined]  # all are plain routes

    assert "/openapi.json" not in paths and "/agents" in paths


@pytest.mark.parametrize(
    "spoil",
    [
        lambda thread: thread.pop("state"),
        lambda thread: thread.update(status="asleep"),
        lambda thread: thread.update(surprise=1),
        lambda thread: thread["interrupts"][0].pop("id"),
        lambda thread: thread["interrupts"][0]["toolCall"].pop("args"),
        lambda thread: thread["interrupts"][0].update(surprise=1),
        lambda thread: thread["messages"][0].pop("id"),
        lambda thread: thread["messages"][0].update(role="nobody"),
        lambda thread: thread.update(pendingToolCallIds=None),
        lambda thread: thread.update(createdAt=5),
    ],
)
async def test_an_answer_with_one_member_spoilt_is_noticed(serving: Serving, spoil: Any) -> None:
    async with serving() as site:
        await site.ask()
        seen = await site.http.get("/agents/agent/threads/t")
    body = copy.deepcopy(seen.json())
    spoil(body)
    spoilt = httpx.Response(200, json=body, request=seen.request)

    with pytest.raises(AssertionError, match=r"threads/\{thread\} with 200"):
        await check_response(spoilt)


async def test_a_member_that_no_list_has_is_noticed(serving: Serving) -> None:
    paths = ("/agents", "/agents/agent/threads", "/agents/agent/threads/t/interrupts", "/readyz")
    async with serving() as site:
        await site.ask()
        seen = [await site.http.get(path) for path in paths]
    for answer in seen:
        more = {**answer.json(), "surprise": 1}
        with pytest.raises(AssertionError, match="surprise"):
            await check_response(httpx.Response(200, json=more, request=answer.request))


@pytest.mark.parametrize(("method", "path"), [("POST", "/stop"), ("DELETE", "")])
async def test_too_many_stops_are_a_documented_answer_of_all_that_stops(
    serving: Serving, method: str, path: str
) -> None:
    async def forever(run: Run) -> AsyncIterator[RunItem]:
        yield "partial"
        await asyncio.Event().wait()

    async with (
        serving(Scripted(forever), max_runs_per_scope=1) as site,
        open_stream(site.base, **run_input("go")) as stream,
    ):
        await stream.until("TEXT_MESSAGE_CONTENT")
        with (await site.bridge.open())._stop_slots.hold("default"):
            answer = await site.http.request(method, f"/agents/agent/threads/t{path}")

    assert answer.status_code == 429
    await check_response(answer)


async def test_an_undocumented_status_or_code_is_noticed() -> None:
    request = httpx.Request("GET", "http://test/agents/a/threads/t")
    for status, code in ((418, "NOT_FOUND"), (404, "NOT_FOUND"), (404, "OH_DEAR")):
        body = {"error": {"code": code, "message": "text"}}
        with pytest.raises(AssertionError):
            await check_response(httpx.Response(status, json=body, request=request))
