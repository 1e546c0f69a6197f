"""Questions over HTTP: find them, read one, answer one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge.errors import Refused
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.request_parts import asked_of, flag, json_body, principal_of, seconds, whole
from agui_bridge.http.service import Service
from agui_bridge.inbox.answering import answer_question
from agui_bridge.inbox.pending import Filters, Listed, find_page, listed
from agui_bridge.inbox.reference import find_question
from agui_bridge.protocol.approvals import public_approval
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    Json,
    Principal,
    RecordedAnswer,
)
from agui_bridge.protocol.wire.run_events import iso_time, public_interrupt
from agui_bridge.stores.base import QuestionFilter

if TYPE_CHECKING:  # Shapes for checkers, and for the OpenAPI document.
    from agui_bridge.http.agui.views import AnswerTaken, InterruptList, InterruptPage, PinnedCall

LONGEST_WAIT: Final = 300.0
"""Seconds that a request may wait for the run which its answer sets off."""

USUAL_WAIT: Final = 30.0


async def list_interrupts(service: Service, request: Request) -> Response:
    """`GET /interrupts`: those of every agent and thread that the caller may see, oldest first.

    `limit` is 1000 at most, 200 by default; `after` is the cursor of the page before.
    """
    principal = await principal_of(service, request)
    mine, status = flag(request, "mine"), _status(request)
    if mine and status not in (None, InterruptStatus.OPEN):
        raise Refused("INVALID_INPUT", "status: what waits for you is open; leave it out.")
    filters = Filters(
        agent=_text(request, "agent"),
        tool=_text(request, "tool"),
        thread=_text(request, "thread"),
        status=status,
        mine=mine,
    )
    limit, after = whole(request, "limit", 200, 1000), request.query_params.get("after")
    engine = await service.open()
    page = await find_page(
        engine,
        service.references,
        principal,
        filters,
        agents=service.agents,
        after=after,
        limit=limit,
    )
    found: InterruptPage = {
        "interrupts": [_audited(row, principal) for row in page.rows],
        "cursor": page.cursor,
        "count": page.count,
    }
    return json_response(found)


async def thread_interrupts(service: Service, request: Request) -> Response:
    """`GET …/threads/{thread}/interrupts?status=&limit=`: what was asked and answered by whom.

    Oldest first; `limit` is 1000 at most, and by default.
    """
    principal, _, key = await asked_of(service, request)
    status, limit = _status(request), whole(request, "limit", 1000, 1000)
    engine = await service.open()
    if (await engine.store.load(key)).record is None:
        raise unknown_thread()
    which = QuestionFilter(agent=key.agent, thread=key.thread, status=status)
    rows = await engine.store.list_interrupts(key.scope, which, limit=limit)
    rows = await engine.as_seen(rows)
    seen = [listed(row, principal, service.references, service.agents) for row in rows]
    found: InterruptList = {"interrupts": [_audited(row, principal) for row in seen]}
    return json_response(found)


async def get_interrupt(service: Service, request: Request) -> Response:
    """`GET /interrupts/{ref}`: one question."""
    principal = await principal_of(service, request)
    reference = service.references.read(request.path_params["ref"])
    row = await find_question(await service.open(), reference, principal)
    return json_response(
        _audited(listed(row, principal, service.references, service.agents), principal)
    )


async def answer_interrupt(service: Service, request: Request) -> Response:
    """`POST /interrupts/{ref}/answer` with `{status, payload?}`: an answer to one question.

    `wait` are seconds to wait for the run that it sets off; after them it is `claimed`.
    """
    principal = await principal_of(service, request)
    reference = service.references.read(request.path_params["ref"])
    wait = seconds(request, "wait")
    if wait is not None and wait > LONGEST_WAIT:
        raise Refused("INVALID_INPUT", f"wait: must be {LONGEST_WAIT:.0f} seconds or less.")
    async with json_body(service, request, principal.scope) as body:
        async with service.turns.turn(principal.scope, body.heavy):
            given = _answer_of(body.value, service.settings.max_depth)
        outcome = await answer_question(
            await service.open(),
            service.agents,
            reference,
            given,
            principal,
            via="api",
            wait=USUAL_WAIT if wait is None else wait,
            heavy=body.heavy,
        )
    seen = listed(outcome.row, principal, service.references, service.agents)
    told: AnswerTaken = {"status": outcome.status, "interrupt": _audited(seen, principal)}
    if outcome.code is not None:
        told["code"] = outcome.code
    if outcome.message is not None:
        told["message"] = outcome.message
    if outcome.result is not None:
        told["result"] = outcome.result
    return json_response(told)


def unknown_thread() -> Refused:
    """What is answered about a thread that there is not, or that is another scope's."""
    return Refused("THREAD_NOT_FOUND", "There is no such thread here.")


def pinned_call(interrupt: Interrupt) -> dict[str, Any]:
    """The member with the tool call that an interrupt asks about; empty if it asks about none."""
    call = interrupt.tool_call
    if call is None:
        return {}
    pinned: PinnedCall = {"id": call.id, "name": call.name, "args": call.args}
    return {"toolCall": pinned}


def _audited(seen: Listed, principal: Principal) -> dict[str, Any]:
    ask, key = seen.row.interrupt, seen.row.key
    why = seen.why
    shown = {
        **public_interrupt(ask),
        **pinned_call(ask),
        "ref": seen.ref,
        "agent": key.agent,
        "threadId": key.thread,
        "status": ask.status.value,
        "askedBy": ask.asked_by,
        "approval": public_approval(ask),
        "mayAnswer": seen.may_answer,
        "why": None if why is None else {"code": why.code, "message": why.message},
        "answer": _answer(ask),
        "history": [_entry(entry) for entry in ask.audit],
    }
    return shown if key.scope == principal.scope else {**shown, "scope": key.scope}


def _entry(entry: AuditEntry) -> dict[str, Any]:
    shown = {"status": entry.status.value, "at": iso_time(entry.at), "actor": entry.actor}
    said = {"via": entry.via, "rule": entry.rule, "event": entry.event}
    return shown | {name: value for name, value in said.items() if value is not None}


def _answer(ask: Interrupt) -> dict[str, Any] | None:
    if ask.answer is None:
        return None
    return {"status": ask.answer.status, "payload": ask.answer.payload}


def _answer_of(value: Json, max_depth: int) -> RecordedAnswer:
    """The answer that a body has; what it does not say is never taken for a decision."""
    if not isinstance(value, dict):
        raise Refused("INVALID_INPUT", "The body must be a JSON object.")
    status, payload = value.get("status"), value.get("payload")
    if status not in ("resolved", "cancelled"):
        raise _fault("status", 'must be "resolved" or "cancelled"')
    if status == "cancelled" and payload is not None:
        raise _fault("payload", "to cancel a question is to say nothing")
    fault = find_forbidden(payload, max_depth=max_depth)
    if fault is not None:
        raise _fault("payload", f"holds what JSON may not: {fault[:300]}")
    return RecordedAnswer(status, payload)


def _fault(field: str, reason: str) -> Refused:
    return Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field, "reason": reason})


def _status(request: Request) -> InterruptStatus | None:
    value = request.query_params.get("status")
    if value is None:
        return None
    try:
        return InterruptStatus(value)
    except ValueError:
        known = ", ".join(InterruptStatus)
        raise Refused("INVALID_INPUT", f"status: must be one of {known}.") from None


def _text(request: Request, name: str) -> str | None:
    value = request.query_params.get(name)
    if value is not None and find_forbidden(value) is not None:
        raise _fault(name, "holds what no text may")
    return value
