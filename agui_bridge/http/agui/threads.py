"""Threads over HTTP: read them, stop them, delete them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge.engine.run_elsewhere import messages_so_far
from agui_bridge.http.agui.earlier import earlier_page, earlier_than
from agui_bridge.http.agui.interrupts import pinned_call, unknown_thread
from agui_bridge.http.agui.query import position, seconds, whole
from agui_bridge.http.bodies import json_body_if_any
from agui_bridge.http.callers import agent_of, asked_of, principal_of
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.service import Service
from agui_bridge.protocol.wire.run_events import iso_time, public_interrupt
from agui_bridge.surfaces.session_stop import stop_options

if TYPE_CHECKING:  # Shapes for checkers, and for the OpenAPI document.
    from agui_bridge.http.agui.views import Stopped, Thread, ThreadList

__all__ = [
    "delete_thread",
    "get_thread",
    "list_threads",
    "stop_thread",
    "unknown_thread",
]


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
    async with engine.reads.whole(key) as loaded:
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
