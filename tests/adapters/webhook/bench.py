"""The tool as a process, what its workflows have done, and bridges before it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from standardwebhooks import Webhook
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_bridge import Bridge, Settings
from agui_bridge_webhook import WebhookAdapter
from tests.adapters.webhook.tool import SECRET
from tests.docs.pages import Conversation
from tests.support.effects import lines_of
from tests.support.forks import fork
from tests.support.ports import free_port
from tests.support.server import serve
from tests.support.waiting import PATIENCE, wait_until


class Tool:
    """A process of `tests.adapters.webhook.tool`.

    Args:
        folder: where its executions, its effects and its log lie.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._effects = folder / "tool-effects.jsonl"
        self.start()

    def start(self) -> None:
        """Begin the process, and wait until it serves."""
        arguments = ["--port", str(self.port), "--effects", str(self._effects)]
        self._process = fork("tests.adapters.webhook.tool", arguments, self.folder / "tool.log")
        wait_until(self._serves, 2 * PATIENCE)

    def _serves(self) -> bool:
        assert self._process.is_alive(), (self.folder / "tool.log").read_text()
        try:
            httpx.get(self.url, trust_env=False)
        except httpx.TransportError:
            return False
        return True

    @property
    def effects(self) -> list[Any]:
        """What its workflows have done."""
        return [json.loads(line) for line in lines_of(self._effects)]

    @property
    def executions(self) -> list[dict[str, Any]]:
        """All that it has begun."""
        files = (self.folder / "executions").glob("*.json")
        return [json.loads(file.read_text()) for file in sorted(files)]

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self._process.kill()
        self._process.join(PATIENCE)


@contextmanager
def tool(folder: Path) -> Iterator[Tool]:
    """A tool for as long as it is needed."""
    begun = Tool(folder)
    try:
        yield begun
    finally:
        begun.kill()


def adapter_for(
    url: str, callback_url: str, kind: type[WebhookAdapter] = WebhookAdapter, **options: Any
) -> WebhookAdapter:
    """An adapter for the tool at an address.

    Args:
        url: the tool's.
        callback_url: of the bridge.
        kind: of what class.
        **options: in place of those that tests have.
    """
    api = f"{url}/api/v1/executions/{{execution}}"
    given: dict[str, Any] = {"cancel_url": f"{api}/stop", "patience": 10.0, "timeout": 10.0}
    given |= {"callback_url": callback_url, "secret": SECRET, **options}
    return kind(f"{url}/webhook/agents", **given)


class Door:
    """An address at which the newest of several bridges is reached, while there is one."""

    def __init__(self) -> None:
        self._apps: list[ASGIApp] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        app = self._apps[-1] if self._apps else Response(status_code=503)
        await app(scope, receive, send)

    @asynccontextmanager
    async def opens_to(self, bridge: Bridge) -> AsyncIterator[None]:
        """Lead to a bridge."""
        app = bridge.app(anonymous=True)
        self._apps.append(app)
        try:
            yield
        finally:
            self._apps.remove(app)


@dataclass
class Scripted:
    """A tool that does what a test says, in the test's own loop.

    Attributes:
        url: its own, once it is served.
        requests: what was sent to it: path, headers, body.
        replies: what is answered, by path; by default 200 and an empty object.
    """

    url: str = ""
    requests: list[tuple[str, Mapping[str, str], Any]] = field(default_factory=list)
    replies: dict[str, Callable[[Any], Awaitable[Response]]] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        body = await request.body()
        found = json.loads(body) if body else None
        self.requests.append((request.url.path, dict(request.headers), found))
        reply = self.replies.get(request.url.path)
        response = JSONResponse({}) if reply is None else await reply(found)
        await response(scope, receive, send)

    def at(self, path: str) -> list[Any]:
        """The bodies that came at a path."""
        return [body for found, _, body in self.requests if found == path]

    def starts(self) -> list[Any]:
        """The bodies that started something."""
        return self.at("/start")

    def question(self, **members: Any) -> dict[str, Any]:
        """A question whose answer comes here."""
        asked = {"type": "question", "id": "q1", "message": "Deploy?", "tool": "deploy"}
        return {**asked, "args": {"version": "v2"}, "resumeUrl": f"{self.url}/resume", **members}


def signed(
    body: bytes, *, secret: str = SECRET, at: float | None = None, id: str | None = None
) -> dict[str, str]:
    """The headers of a callback, made by the library of the specification's authors."""
    now = datetime.fromtimestamp(time.time() if at is None else at, UTC)
    id = id or uuid.uuid4().hex
    return {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(id, now, body.decode()),
    }


@dataclass
class Between:
    """A bridge with a scripted tool behind it, each called over HTTP by the other.

    Attributes:
        tool: the tool.
        bridge: the bridge.
        url: of the bridge.
    """

    tool: Scripted
    bridge: Bridge
    url: str

    def talk(self, thread: str = "t") -> Conversation:
        """A conversation on a thread."""
        return Conversation(self.bridge, "agent", thread)

    async def call_back(
        self, told: Any, *, url: str | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """Tell the bridge something, of the last execution."""
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.post(
                url or self.tool.starts()[-1]["callbackUrl"],
                content=body,
                headers=signed(body) if headers is None else headers,
                timeout=PATIENCE,
            )

    async def thread(self, thread: str = "t") -> dict[str, Any]:
        """A thread as clients see it."""
        async with httpx.AsyncClient(trust_env=False) as client:
            return dict((await client.get(f"{self.url}/agents/agent/threads/{thread}")).json())

    async def asked(self, thread: str = "t") -> list[dict[str, Any]]:
        """Its open questions."""
        return list((await self.thread(thread))["interrupts"])


@asynccontextmanager
async def between(
    store: str = "memory:", settings: Settings | None = None, **options: Any
) -> AsyncIterator[Between]:
    """A bridge and a scripted tool; `{tool}` in options is the tool's address."""
    scripted, door = Scripted(), Door()
    async with serve(scripted, lifespan="off") as tool_url, serve(door, lifespan="off") as url:
        scripted.url = tool_url
        given: dict[str, Any] = {"patience": 0.3, "timeout": 5.0, "secret": SECRET}
        for name, value in options.items():
            given[name] = value.replace("{tool}", tool_url) if isinstance(value, str) else value
        bridge = Bridge(store, settings=settings or Settings(sweep_interval=0.1), telemetry=False)
        bridge.add("agent", WebhookAdapter(f"{tool_url}/start", callback_url=url, **given))
        async with door.opens_to(bridge):
            try:
                yield Between(scripted, bridge, url)
            finally:
                await bridge.aclose()
