"""A page of another site changes nothing in its visitor's name, on no route and with no body."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import httpx
import pytest
from starlette.requests import Request

from agui_bridge import Bridge, FunctionRun, Principal
from agui_bridge.channels import Slack
from agui_bridge.http.inbox.paths import INBOX_PATHS
from agui_bridge.inbox import Inbox
from agui_bridge.stores.memory import MemoryStore
from tests.support.shapes import SCHEMAS

APP: Final = "https://app.example"
EVIL: Final = "https://evil.example"
READING: Final = ("get", "head", "options")
NAMES: Final[Mapping[str, str]] = {
    "agent": "ops",
    "thread": "t",
    "ref": "none",
    "reference": "none",
    "name": "team",
}

PATHS: Final = json.loads((SCHEMAS / "openapi.json").read_text(encoding="utf-8"))["paths"]
del PATHS["/mcp"]  # Which needs an extra: tests/http/test_mcp.py.
CHANGING: Final = [
    *(
        (method.upper(), path)
        for path, item in PATHS.items()
        for method in ("post", "put", "patch", "delete")
        if method in item
    ),
    *(("POST", path) for path in INBOX_PATHS),
    ("POST", "/channels/slack/{name}"),
]
BODIES: Final[Mapping[str, tuple[str | None, bytes]]] = {
    "none": (None, b""),
    "form": ("application/x-www-form-urlencoded", b"a=b"),
    "text": ("text/plain", b'{"session_id": "t"}'),
    "json": ("application/json", b'{"session_id": "t"}'),
}


@asynccontextmanager
async def served(**options: object) -> AsyncIterator[tuple[httpx.AsyncClient, list[str]]]:
    """A bridge that knows its visitors by a cookie, and has one thread; and whom it let in."""
    let_in: list[str] = []

    def authenticate(request: Request) -> Principal:
        let_in.append(request.url.path)
        return Principal(actor=request.cookies.get("session", "nobody"))

    bridge = Bridge(
        MemoryStore(),
        authenticate=authenticate,
        inbox=Inbox(),
        a2a=True,
        channels={"team": Slack("xoxb-1", "s" * 32, "C1", lambda user: None, scopes=["default"])},
        **options,  # type: ignore[arg-type]  # those of the test
    )

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> None:
        await run.approve("wipe", {})

    transport = httpx.ASGITransport(bridge.app())
    async with (
        bridge.lifespan(),
        httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", cookies={"session": "ann"}
        ) as client,
    ):
        messages = [{"id": "m", "role": "user", "content": "go"}]
        begun = await client.post(
            "/agents/ops", json={"threadId": "t", "runId": "r", "messages": messages}
        )
        assert "interrupt" in begun.text
        let_in.clear()
        yield client, let_in


async def send(
    client: httpx.AsyncClient, method: str, path: str, body: str = "none", **headers: str
) -> httpx.Response:
    kind, content = BODIES[body]
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if kind is not None:
        sent["content-type"] = kind
    return await client.request(method, path.format(**NAMES), content=content, headers=sent)


def test_the_table_has_the_routes_that_change_something() -> None:
    assert len(CHANGING) >= 13 + len(INBOX_PATHS)
    assert {"POST", "DELETE"} == {method for method, _ in CHANGING}


@pytest.mark.parametrize("site", ["cross-site", "same-site", "from-the-future"])
async def test_what_another_sites_page_sends_is_refused_before_anybody_is_let_in(
    site: str,
) -> None:
    async with served(cors_origins=[APP]) as (client, let_in):
        for method, path in CHANGING:
            for body in BODIES:
                for origin in ({"origin": EVIL}, {"origin": "null"}, {}):
                    response = await send(client, method, path, body, sec_fetch_site=site, **origin)
                    assert response.status_code == 403, (method, path, body)
        assert let_in == []
        thread = await client.get("/agents/ops/threads/t")
        assert thread.json()["status"] == "interrupted"


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "same-origin"},
        {"sec_fetch_site": "none"},
        {},
        {"sec_fetch_site": "cross-site", "origin": APP},
        {"sec_fetch_site": "same-site", "origin": APP},
    ],
    ids=str,
)
async def test_our_own_pages_programs_and_named_origins_pass(headers: dict[str, str]) -> None:
    for method, path in CHANGING:
        if path in INBOX_PATHS:  # Pages of no other origin send the inbox's forms.
            continue
        async with served(cors_origins=[APP]) as (client, _):
            response = await send(client, method, path, "json", **headers)
            assert response.status_code != 403, (method, path, response.text)


async def test_a_refusal_names_the_origin_and_the_setting() -> None:
    async with served() as (client, _):
        stop = ("POST", "/agents/{agent}/threads/{thread}/stop")
        response = await send(client, *stop, sec_fetch_site="cross-site", origin=EVIL)
    assert response.json()["error"] == {
        "code": "FORBIDDEN",
        "message": f"A page of origin '{EVIL}' from another site sent this: nothing was done. If "
        "its pages should call this server, add it to cors_origins.",
    }


async def test_a_link_from_another_site_still_leads_here() -> None:
    async with served() as (client, _):
        for path in ("/agents", "/agents/ops/threads/t", "/inbox"):
            response = await client.get(path, headers={"sec-fetch-site": "cross-site"})
            assert response.status_code == 200
