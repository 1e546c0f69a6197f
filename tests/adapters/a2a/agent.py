"""An agent on the official SDK's server, as a process; what it does is told in a file.

    python -m tests.adapters.a2a.agent --port 28120 --effects effects.jsonl

Each answer that arrives, each cancelled task and what a message held is a line of the file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

import uvicorn
from a2a.helpers import (
    get_data_parts,
    new_data_part,
    new_raw_part,
    new_task_from_user_message,
    new_text_message,
    new_text_part,
    new_url_part,
)
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers.default_request_handler_v2 import DefaultRequestHandlerV2
from a2a.server.routes import (
    create_agent_card_routes,
    create_jsonrpc_routes,
    create_rest_routes,
)
from a2a.server.tasks import TaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    APIKeySecurityScheme,
    ListTasksRequest,
    ListTasksResponse,
    SecurityScheme,
    Task,
)
from a2a.utils.signing import ProtectedHeader, create_agent_card_signer
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

WAYS = {
    "rpc": ("JSONRPC", "1.0", True),
    "rpc-polled": ("JSONRPC", "1.0", False),
    "rest": ("HTTP+JSON", "1.0", True),
    "rest-polled": ("HTTP+JSON", "1.0", False),
    "old": ("JSONRPC", "0.3", True),
    "old-polled": ("JSONRPC", "0.3", False),
}
"""How it may be spoken to: binding, version, whether it streams. Each has a card of its own."""

SCHEMA = {
    "type": "object",
    "required": ["size"],
    "properties": {"size": {"type": "string", "enum": ["S", "M"]}},
}
SIGN_IN = "https://login.example.com/device?code=ABCD"


class Deployer(AgentExecutor):
    """What each message makes it do is in `_begin`."""

    def __init__(self, effects: Path) -> None:
        self._effects = effects

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Begin a task, or go on with it."""
        assert context.message is not None
        text = context.get_user_input().strip()
        task = context.current_task
        if task is None and text == "hello":
            await event_queue.enqueue_event(new_text_message("Hello."))
            return
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
            await self._begin(context, text, TaskUpdater(event_queue, task.id, task.context_id))
            return
        await self._go_on(context, text, TaskUpdater(event_queue, task.id, task.context_id))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Cancel the task."""
        assert context.task_id is not None and context.context_id is not None
        self._note("cancelled")
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    async def _begin(self, context: RequestContext, text: str, to: TaskUpdater) -> None:
        def said(text: str, *parts: Any) -> Any:
            return to.new_agent_message([new_text_part(text), *parts])

        if text == "deploy":
            await to.start_work(said("I will deploy."))
            await to.requires_input(said("Deploy v2 to production?"))
        elif text == "order":
            await to.requires_input(said("Which size?", new_data_part({"schema": SCHEMA})))
        elif text == "sign in":
            await to.requires_auth(said(f"Please sign in: {SIGN_IN}"))
            await self._signed_in()
            await to.start_work()
            await to.complete(said("You are signed in."))
        elif text == "slow":
            await to.start_work(said("Working."))
            await asyncio.sleep(60)
        elif text == "steps":
            for step in range(8):
                await to.start_work(said(f"Step {step}."))
                await asyncio.sleep(0.25)
            self._note("steps")
            await to.complete(said("All done."))
        elif text == "reject":
            await to.reject(said("Not on a Friday."))
        elif text == "fail":
            await to.failed(said("The disk is full."))
        elif text == "give up":
            await to.cancel(said("I gave up."))
        elif text == "report":
            await self._report(to)
        else:
            assert context.message is not None
            self._note([MessageToDict(part) for part in context.message.parts])
            self._note({"context": to.context_id})
            await to.complete(said("Noted."))

    async def _report(self, to: TaskUpdater) -> None:
        for text in ("One, ", "two, ", "three."):
            await to.add_artifact(
                [new_text_part(text)], artifact_id="a", name="count", append=text != "One, "
            )
        await to.add_artifact([new_data_part({"rows": 3})], artifact_id="b", name="table")
        files = [new_url_part("https://files.example.com/r.pdf", "application/pdf", "r.pdf")]
        files += [new_raw_part(b"abc", "text/plain", "a.txt")]
        files += [new_url_part("javascript:alert(1)", "text/html", "x.html")]
        await to.add_artifact(files, artifact_id="c", name="files")
        await to.complete()

    async def _go_on(self, context: RequestContext, text: str, to: TaskUpdater) -> None:
        assert context.message is not None
        if data := get_data_parts(context.message.parts):
            self._note(data[0])
            await to.complete(to.new_agent_message([new_text_part("Ordered.")]))
            return
        self._note(text)
        if text == "slowly":
            await to.start_work()
            await asyncio.sleep(60)
        if text not in ("yes", "no"):
            await to.requires_input(to.new_agent_message([new_text_part("Yes or no?")]))
            return
        await to.start_work()
        await to.add_artifact([new_text_part("deployed v2")], name="result")
        await to.complete(to.new_agent_message([new_text_part("Done.")]))

    async def _signed_in(self) -> None:
        while not (self._effects.parent / "signed-in").exists():
            await asyncio.sleep(0.05)

    def _note(self, line: Any) -> None:
        with self._effects.open("a") as file:
            file.write(json.dumps(line) + "\n")


class Kept(TaskStore):
    """Tasks as files, which outlive the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Write a task whole."""
        (self._folder / "new").write_bytes(task.SerializeToString())
        (self._folder / "new").rename(self._folder / task.id)

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """Read a task, if there is one."""
        file = self._folder / task_id
        return Task.FromString(file.read_bytes()) if file.exists() else None

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        """Forget a task."""
        (self._folder / task_id).unlink(missing_ok=True)

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Read them all: those of these tests fit into one page."""
        names = sorted(file.name for file in self._folder.iterdir() if file.name != "new")
        found = [Task.FromString((self._folder / name).read_bytes()) for name in names]
        return ListTasksResponse(tasks=found, total_size=len(found))


class Guarded:
    """Refuses requests without the key; the card is open."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through that has the key."""
        guarded = scope["type"] == "http" and not scope["path"].startswith("/.well-known/")
        if guarded and (b"x-key", self._key) not in scope["headers"]:
            await PlainTextResponse("who?", 401)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def card_of(url: str, bindings: list[str], version: str, streaming: bool) -> AgentCard:
    """The agent's card."""
    paths = {"JSONRPC": "/rpc", "HTTP+JSON": "/rest"}
    card = AgentCard(
        name="deployer",
        description="Deploys.",
        version="1",
        supported_interfaces=[
            AgentInterface(
                url=url + paths[binding], protocol_binding=binding, protocol_version=version
            )
            for binding in bindings
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    key = APIKeySecurityScheme(location="header", name="X-Key")
    card.security_schemes["key"].CopyFrom(SecurityScheme(api_key_security_scheme=key))
    return card


def cards_at(url: str, way: str) -> list[Route]:
    """The card of one way, below a path of its own."""
    binding, version, streaming = WAYS[way]
    card = card_of(url, [binding], version, streaming)
    return create_agent_card_routes(card, card_url=f"/{way}/.well-known/agent-card.json")


def app_of(options: argparse.Namespace) -> Starlette:
    """The server's app, of the SDK's own routes."""
    url = options.url or f"http://127.0.0.1:{options.port}"
    card = card_of(url, options.binding, options.version, not options.blocking)
    if options.signing_key:
        header: ProtectedHeader = {"kid": "k1", "alg": "ES256", "jku": None, "typ": "JOSE"}
        card = create_agent_card_signer(options.signing_key.read_text(), header)(card)
    handler = DefaultRequestHandlerV2(
        Deployer(options.effects), Kept(options.effects.parent / "tasks"), card
    )
    routes = [
        *create_agent_card_routes(card),
        *(route for way in WAYS for route in cards_at(url, way)),
        *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
        *create_rest_routes(handler, path_prefix="/rest"),
    ]
    guard = [Middleware(Guarded, key=options.key)] if options.key else []
    return Starlette(routes=routes, middleware=guard)


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--effects", type=Path, required=True)
    parser.add_argument("--url")
    parser.add_argument("--binding", action="append")
    parser.add_argument("--version", default="1.0")
    parser.add_argument("--blocking", action="store_true")
    parser.add_argument("--key")
    parser.add_argument("--signing-key", type=Path, help="signs the card as `k1`")
    options = parser.parse_args()
    options.binding = options.binding or ["JSONRPC"]
    uvicorn.run(app_of(options), host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
