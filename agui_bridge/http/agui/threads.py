"""Threads and interrupts over HTTP: read them, stop them, delete them."""

from __future__ import annotations

import re
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge.errors import Refused
from agui_bridge.http.agui.views import InterruptList, PinnedCall, Stopped, Thread, ThreadList
from agui_bridge.http.bodies import json_body_if_any
from agui_bridge.http.callers import agent_of, asked_of, principal_of
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.service import Service
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus
from agui_bridge.protocol.wire.run_events import iso_time, public_interrupt
from agui_bridge.stores.base import InterruptRow
from agui_bridge.surfaces.session_stop import stop_options

__all__ = [
    "delete_thread",
    "get_thread",
    "list_interrupts",
    "list_threads",
    "stop_thread",
    "thread_interrupts",
    "unknown_thread",
]

_WHOLE: Final = re.compile("[0-9]{1,9}")
_SECONDS: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,20})?(e-[0-9]{1,3})?")


async def list_threads(service: Service, request: Request) -> Response:
    """`GET /agents/{agent}/threads?limit=&before=`: last touched first."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    engine = await service.open()
    rows = await engine.store.list_threads(
        principal.scope,
        agent.name,
        limit=_whole(request, "limit", 50, 500),
        before=_seconds(request, "before"),
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
    """`GET …/threads/{thread}`: messages, state, status, open interrupts."""
    _, _, key = await asked_of(service, request)
    engine = await service.open()
    async with engine.reads.whole(key) as loaded:
        record = loaded.record
        if record is None:
            raise unknown_thread()
        shown: Thread = {
            "threadId": key.thread,
            "agent": key.agent,
            "status": record.status,
            "messages": [message.message for message in loaded.messages],
            "state": {} if record.state is None else record.state,
            "interrupts": [{**public_interrupt(ask), **_tool_call(ask)} for ask in loaded.waiting],
            "pendingToolCallIds": list(record.pending_calls),
            "createdAt": iso_time(record.created_at),
            "updatedAt": iso_time(record.updated_at),
        }
        return json_response(shown)


async def thread_interrupts(service: Service, request: Request) -> Response:
    """`GET …/threads/{thread}/interrupts?status=&limit=`: what was asked and answered by whom.

    Oldest first; `limit` is 1000 at most, and by default.
    """
    _, _, key = await asked_of(service, request)
    status, limit = _status(request), _whole(request, "limit", 1000, 1000)
    engine = await service.open()
    if (await engine.store.load(key)).record is None:
        raise unknown_thread()
    rows = await engine.store.list_interrupts(
        key.scope, agent=key.agent, thread=key.thread, status=status, limit=limit
    )
    found: InterruptList = {"interrupts": [_audited(row) for row in rows]}
    return json_response(found)


async def list_interrupts(service: Service, request: Request) -> Response:
    """`GET /interrupts?status=&limit=`: those of the scope, of every agent and thread.

    Oldest first; `limit` is 1000 at most, 200 by default.
    """
    principal = await principal_of(service, request)
    engine = await service.open()
    rows = await engine.store.list_interrupts(
        principal.scope, status=_status(request), limit=_whole(request, "limit", 200, 1000)
    )
    found: InterruptList = {"interrupts": [_audited(row) for row in rows]}
    return json_response(found)


async def stop_thread(service: Service, request: Request) -> Response:
    """`POST …/threads/{thread}/stop` with `{force?, timeout?}` or no body."""
    principal, agent, key = await asked_of(service, request)
    async with json_body_if_any(service, request, principal.scope) as body:
        force, timeout = stop_options(body.value, agent.settings.stop_timeout)
    engine = await service.open()
    if (await engine.store.load(key)).record is None:
        raise unknown_thread()
    result = await engine.stop(key, force=force, timeout=timeout, actor=principal.actor)
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
    await engine.delete(key, principal.actor)
    return Response(status_code=204)


def unknown_thread() -> Refused:
    """What is answered about a thread that there is not, or that is another scope's."""
    return Refused("THREAD_NOT_FOUND", "There is no such thread here.")


def _tool_call(interrupt: Interrupt) -> dict[str, Any]:
    call = interrupt.tool_call
    if call is None:
        return {}
    pinned: PinnedCall = {"id": call.id, "name": call.name, "args": call.args}
    return {"toolCall": pinned}


def _audited(row: InterruptRow) -> dict[str, Any]:
    ask, key = row.interrupt, row.key
    return {
        **public_interrupt(ask),
        **_tool_call(ask),
        "agent": key.agent,
        "threadId": key.thread,
        "status": ask.status.value,
        "answer": _answer(ask),
        "history": [
            {"status": entry.status.value, "at": iso_time(entry.at), "actor": entry.actor}
            for entry in ask.audit
        ],
    }


def _answer(ask: Interrupt) -> dict[str, Any] | None:
    if ask.answer is None:
        return None
    return {"status": ask.answer.status, "payload": ask.answer.payload}


def _status(request: Request) -> InterruptStatus | None:
    value = request.query_params.get("status")
    if value is None:
        return None
    try:
        return InterruptStatus(value)
    except ValueError:
        known = ", ".join(InterruptStatus)
        raise Refused("INVALID_INPUT", f"status: must be one of {known}.") from None


def _whole(request: Request, name: str, default: int, most: int) -> int:
    value = request.query_params.get(name)
    if value is None:
        return default
    if not (_WHOLE.fullmatch(value) and 1 <= int(value) <= most):
        raise Refused("INVALID_INPUT", f"{name}: must be a whole number from 1 to {most}.")
    return int(value)


def _seconds(request: Request, name: str) -> float | None:
    value = request.query_params.get(name)
    if value is None:
        return None
    if not _SECONDS.fullmatch(value):
        raise Refused("INVALID_INPUT", f"{name}: must be seconds since the epoch.")
    return float(value)
