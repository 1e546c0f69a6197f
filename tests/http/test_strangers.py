"""Every documented route, and the inbox, as somebody of another scope and as nobody.

They have all that ann has: ids, references, links. They read, change and run nothing of hers.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx
import pytest
from starlette.requests import Request

from agui_bridge import Bridge, FunctionRun, Principal
from agui_bridge.a2a.card import A2A_CARD
from agui_bridge.errors import Refused
from agui_bridge.http.inbox.paths import BY_LINK, INBOX_PATHS
from agui_bridge.inbox import Inbox
from agui_bridge.stores.memory import MemoryStore
from tests.support.shapes import SCHEMAS

SECRET: Final = "the-secret-of-ann"
PATHS: Final = json.loads((SCHEMAS / "openapi.json").read_text(encoding="utf-8"))["paths"]
del PATHS["/mcp"]  # Which needs an extra: tests/http/test_mcp.py.
OPEN: Final = ("/healthz", "/readyz", "/openapi.json", A2A_CARD)
"""What everybody may ask for; it tells of no thread."""

ROUTES: Final = [
    *(
        (method.upper(), path)
        for path, item in PATHS.items()
        for method in ("get", "post", "put", "patch", "delete")
        if method in item
    ),
    *((method, path) for path in INBOX_PATHS for method in ("GET", "POST")),
]
PEOPLE: Final[Mapping[str, Principal]] = {
    "ann": Principal("team", "ann"),
    "eve": Principal("other", "eve"),
    # The name of somebody else is nobody's way in.
    "ann-of-other": Principal("other", "ann"),
}


@dataclass
class Home:
    """A bridge with a question of ann's.

    Attributes:
        http: to reach it.
        ran: what was executed.
        names: what paths are filled with: all that belongs to ann's question.
    """

    bridge: Bridge
    http: httpx.AsyncClient
    ran: list[str]
    names: dict[str, str]

    def bodies(self) -> list[dict[str, Any]]:
        """Inputs that would say, answer and stop something on ann's thread."""
        thread, ask = self.names["thread"], self.names["interrupt"]
        yes = {"approved": True}
        answer = {"interruptId": ask, "status": "resolved", "payload": yes}
        named = {"threadId": thread, "session_id": thread, "agent": "ops", "agentId": "ops"}
        return [
            {**named, "runId": "x1", "messages": [], "resume": [answer]},
            {**named, "status": "resolved", "payload": yes, "checkpoint_id": ask},
            {**named, "runId": "x2", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
            | {"messages": [{"id": "m", "role": "user", "content": "go"}]},
        ]

    async def state(self) -> list[Any]:
        """All that there is of ann's."""
        engine = await self.bridge.open()
        rows = await engine.store.list_interrupts("team")
        loaded = [await engine.store.load(row.key, messages=True) for row in rows]
        return [
            (row.interrupt, one.record, one.messages) for row, one in zip(rows, loaded, strict=True)
        ]


def by_header(request: Request) -> Principal:
    found = PEOPLE.get(request.headers.get("x-actor", ""))
    if found is None:
        raise Refused("UNAUTHENTICATED", "Sign in first.")
    return found


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    ran: list[str] = []
    inbox = Inbox(keys=["a-key-of-the-tests-0123456789"])
    bridge = Bridge(MemoryStore(), inbox=inbox, authenticate=by_header, a2a=True)

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("wipe", {"what": run.text}, message=run.text)
        await run.tool(approval, lambda what: ran.append(what))
        yield run.text

    transport = httpx.ASGITransport(bridge.app())
    async with (
        bridge.lifespan(),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30) as http,
    ):
        said = {"id": "m0", "role": "user", "content": SECRET}
        body = {"threadId": "t", "runId": "r", "messages": [said]}
        begun = await http.post("/agents/ops", json=body, headers={"x-actor": "ann"})
        assert SECRET in begun.text
        (row,) = (await bridge.pending(principal=PEOPLE["ann"])).rows
        names = {"agent": "ops", "thread": "t", "name": "team", "interrupt": row.row.interrupt.id}
        yield Home(bridge, http, ran, {**names, "ref": row.ref, "reference": row.ref})


@pytest.mark.parametrize("who", ["eve", "ann-of-other", ""])
async def test_nobody_else_reads_changes_or_runs_anything_of_hers(home: Home, who: str) -> None:
    before, tried = await home.state(), 0
    headers = {"x-actor": who} if who else {}
    for method, path in ROUTES:
        for body in home.bodies() if method == "POST" else [None]:
            url = path.format(**home.names)
            query = (
                {"session_id": "t", "threadId": "t", "agent": "ops"} if method == "GET" else None
            )
            told = await home.http.request(
                method, url, json=body, params=query, headers=headers, follow_redirects=False
            )
            tried += 1
            assert SECRET not in told.text, (method, path)
            assert told.status_code < 500, (method, path, told.text)
            if not who and path not in OPEN:
                refused = (400,) if path == BY_LINK else (303, 401, 403)
                assert told.status_code in refused, (method, path, told.text)
    assert tried > 60
    assert await home.state() == before
    assert home.ran == []


async def test_the_same_requests_reach_it_as_ann(home: Home) -> None:
    """Else the table would prove nothing."""
    reached = set()
    for method, path in ROUTES:
        if method == "GET":
            told = await home.http.get(
                path.format(**home.names),
                params={"session_id": "t", "agent": "ops"},
                headers={"x-actor": "ann"},
            )
            reached |= {path} if SECRET in told.text else set()
    assert reached >= {"/interrupts", "/interrupts/{ref}", "/agents/{agent}/threads/{thread}"}
    assert any("inbox" in path for path in reached)
