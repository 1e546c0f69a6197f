"""Threads over HTTP: read them, scroll and come back to them, stop them, delete them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agui_bridge import __version__
from agui_bridge.engine.engine import mint
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.reconnecting import messages_so_far, show_thread
from agui_bridge.errors import Refused
from agui_bridge.frozen import dataclass
from agui_bridge.http.agui.interrupts import pinned_call, unknown_thread
from agui_bridge.http.agui.runs import declaring, dialect_of, read_input, version_of
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.request_parts import (
    agent_of,
    asked_of,
    json_body,
    json_body_if_any,
    position,
    principal_of,
    seconds,
    whole,
)
from agui_bridge.http.service import Service
from agui_bridge.http.stream_response import stream_of
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import (
    StoredMessage,
    StoredMessages,
    archived_for,
)
from agui_bridge.protocol.threads.records import Json, ThreadKey
from agui_bridge.protocol.wire.run_events import iso_time, public_interrupt
from agui_bridge.stores.base import Store
from agui_bridge.surfaces.session_stop import stop_options

if TYPE_CHECKING:
    from agui_bridge.http.agui.views import AgentList, Stopped, Thread, ThreadList

# --- the agents, and what each can do in the shape of AG-UI's AgentCapabilities ---


async def list_agents(service: Service, request: Request) -> Response:
    """`GET /agents`."""
    await principal_of(service, request)
    found: AgentList = {
        "agents": [
            {"name": agent.name, "description": agent.description}
            for agent in service.agents.values()
        ]
    }
    return json_response(found)


async def get_capabilities(service: Service, request: Request) -> Response:
    """`GET /agents/{agent}/capabilities`, in the shape of AG-UI's AgentCapabilities."""
    await principal_of(service, request)
    return json_response(capabilities_of(agent_of(service, request)))


def capabilities_of(agent: Agent) -> dict[str, Any]:
    """What is true: the author's word, the adapter's, and what the bridge knows."""
    can = agent.adapter.capabilities
    own: Any = agent.declares
    identity = {"name": agent.name, "type": "agui-bridge", "version": __version__}
    if agent.description:
        identity["description"] = agent.description
    return {
        **own,
        "identity": {**own.get("identity", {}), **identity},
        "transport": {
            "streaming": True,
            "websocket": False,
            "httpBinary": False,
            "pushNotifications": False,
            "resumable": False,
        },
        "state": {"snapshots": True, "deltas": True, "persistentState": True},
        "humanInTheLoop": {
            "supported": True,
            "approvals": agent.approves,
            "interrupts": True,
            "approveWithEdits": can.edit,
            "feedback": can.decline,
        },
    }


# --- threads ---


async def list_threads(service: Service, request: Request) -> Response:
    """`GET /agents/{agent}/threads?limit=&before=`: last touched first."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    engine = await service.open()
    rows = await engine.store.list_threads(
        principal.scope,
        agent.name,
        limit=whole(request, "limit", 50, 500),
        before=seconds(request, "before"),
    )
    found: ThreadList = {
        "threads": [
            {
                "threadId": row.record.key.thread,
                "status": row.record.status,
                "messageCount": row.messages,
                "openInterrupts": row.open_interrupts,
                "createdAt": iso_time(row.record.created_at),
                "updatedAt": iso_time(row.record.updated_at),
            }
            for row in rows
        ]
    }
    return json_response(found)


async def get_thread(service: Service, request: Request) -> Response:
    """`GET …/threads/{thread}?before=`: messages, state, status, open interrupts."""
    _, _, key = await asked_of(service, request)
    before = position(request, "before")
    engine = await service.open()
    words = await engine.store.words(key)
    page = await earlier_page(engine.store, key, before) if before is not None else None
    async with engine.threads.whole(key) as loaded:
        record = loaded.record
        if record is None:
            raise unknown_thread()
        shown: Thread = {
            "threadId": key.thread,
            "agent": key.agent,
            "status": record.status,
            "messages": messages_so_far(loaded, words) if page is None else page.shown(loaded),
            "earlier": earlier_than(loaded) if page is None else page.earlier,
            "state": {} if record.state is None else record.state,
            "interrupts": [{**public_interrupt(ask), **pinned_call(ask)} for ask in loaded.waiting],
            "pendingToolCallIds": list(record.pending_calls),
            "result": loaded.result,
            "createdAt": iso_time(record.created_at),
            "updatedAt": iso_time(record.updated_at),
        }
        return json_response(shown)


async def stop_thread(service: Service, request: Request) -> Response:
    """`POST …/threads/{thread}/stop` with `{force?, timeout?}` or no body."""
    principal, agent, key = await asked_of(service, request)
    async with json_body_if_any(service, request, principal.scope) as body:
        force, timeout = stop_options(body.value, agent.settings.stop_timeout)
    engine = await service.open()
    if (await engine.store.load(key)).record is None:
        raise unknown_thread()
    result = await engine.stop(key, force=force, timeout=timeout, principal=principal)
    stopped: Stopped = {
        "status": result.status,
        "stopReason": result.stop_reason,
        "messageCount": result.message_count,
        "messages": list(result.messages),
        "interruptedAtIteration": result.interrupted_at_iteration,
        "partialResponse": result.partial_response,
        "error": result.error,
    }
    return json_response(stopped)


async def delete_thread(service: Service, request: Request) -> Response:
    """`DELETE …/threads/{thread}`: for good; what it runs is stopped first."""
    principal, _, key = await asked_of(service, request)
    engine = await service.open()
    await engine.delete(key, principal)
    return Response(status_code=204)


_PAGE_BYTES: Final = 1024 * 1024
"""Of a page, as they are stored; one message may be larger."""


@dataclass(frozen=True, slots=True)
class EarlierPage:
    """Some of the messages of a thread that stand below a position, in context or not.

    Attributes:
        messages: in order.
    """

    messages: Sequence[StoredMessage]

    @property
    def earlier(self) -> str | None:
        """Where the page before this one ends; None where nothing is left."""
        return str(self.messages[0].position) if self.messages else None

    def shown(self, loaded: Loaded) -> list[Mapping[str, Json]]:
        """Those that were archived, and are not in the thread as it is loaded."""
        stand = StoredMessages.of(loaded.messages).by_id
        return [
            stored.message
            for stored in self.messages
            if stored.id not in stand and archived_for(stored.message) is not None
        ]


async def earlier_page(store: Store, key: ThreadKey, before: int) -> EarlierPage:
    """Read a page.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    return EarlierPage(await store.history(key, before=before, most_bytes=_PAGE_BYTES))


def earlier_than(loaded: Loaded) -> str | None:
    """Where the first page ends; None where nothing was archived for the thread's size."""
    until = loaded.record.archived_until if loaded.record is not None else None
    return None if until is None else str(until + 1)


Answer = Callable[[Scope, Receive, Send], Awaitable[None]]


async def connect_to_thread(service: Service, request: Request) -> Answer:
    """`POST …/threads/{thread}/connect` with a RunAgentInput, of which only the ids count."""
    principal, agent, key = await asked_of(service, request)
    choice = dialect_of(request, agent.settings)
    async with json_body(service, request, principal.scope) as body:
        parsed = await read_input(service, principal, declaring(request, body), choice)
    if parsed.input.thread_id != key.thread:
        raise Refused(
            "INVALID_INPUT", "threadId: must be the thread of the path.", {"field": "threadId"}
        )
    return await _show(service, Submission(agent, principal, parsed))


async def watch_thread(service: Service, request: Request) -> Answer:
    """`GET …/threads/{thread}/connect`: the same for curl and EventSource, in the 1.0 shapes.

    Another version can be declared by the query or a header.
    """
    principal, agent, key = await asked_of(service, request)
    if request.method == "HEAD":
        # Of a stream there is no head without its body, which would be waited for.
        engine = await service.open()
        if (await engine.store.load(key)).record is None:
            raise unknown_thread()
        return Response(media_type="text/event-stream")
    version = version_of(request) or "1.0"
    body = {"threadId": key.thread, "runId": mint(), "protocolVersion": version, "messages": []}
    parsed = parse_input(body, choice=dialect_of(request, agent.settings))
    return await _show(service, Submission(agent, principal, parsed))


async def _show(service: Service, submission: Submission) -> Answer:
    engine = await service.open()
    pipe, _ = show_thread(engine, submission)
    settings = submission.agent.settings
    return await stream_of(pipe, settings, engine.keeper.wheels, missing=unknown_thread())
