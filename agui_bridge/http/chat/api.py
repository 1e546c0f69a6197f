"""SuperAgent's chat API, for any agent of the bridge: chat, ask for what is pending, answer it.

A session is the AG-UI thread of the same id: what is raised through one API can be answered
through the other. Several questions of one pause are answered one after the other.
Source: SuperAgent's page "Interrupt/Resume", "HTTP API".
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge.agents.sentences.scanner import AsksInWords
from agui_bridge.engine.engine import Engine, mint
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.errors import Refused
from agui_bridge.http.chat.frames import (
    A2UIFrames,
    Frames,
    LegacyFrames,
    checkpoint_of,
    payload_of,
    pending_of,
    state_of,
)
from agui_bridge.http.chat.operations import in_its_statuses
from agui_bridge.http.chat.repeated_answers import is_repeated, note_told
from agui_bridge.http.chat.reply import ChatReply
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.request_parts import find_agent, json_body, principal_of
from agui_bridge.http.service import Service
from agui_bridge.http.stream_response import EventStreamResponse
from agui_bridge.protocol.dialects import CHAT, parse_input
from agui_bridge.protocol.json_values import check_addressable, find_forbidden
from agui_bridge.protocol.threads.records import Json, Principal, ThreadKey
from agui_bridge.surfaces.reading import check_text_id, seen_last

_LONGEST_KEY: Final = 255
"""Characters of an Idempotency-Key."""


@dataclass(frozen=True)
class _Session:
    principal: Principal
    agent: Agent
    key: ThreadKey


@in_its_statuses
async def stream_chat(service: Service, request: Request) -> EventStreamResponse:
    """`POST /api/v1/chat/stream` `{agent_id, session_id, message}`: a message, and its reply."""
    principal = await principal_of(service, request)
    async with _object(service, request, principal) as (body, heavy):
        session = _session(service, principal, body)
        id = _id_of(request)
        said = {"id": id, "role": "user", "content": _text(body, "message")}
        engine = await service.open()
        messages = [*await seen_last(engine, session.agent, session.key), said]
        return await _reply(engine, session, request, heavy, said=id, messages=messages)


@in_its_statuses
async def get_interrupt_state(service: Service, request: Request) -> Response:
    """`GET /api/v1/chat/interrupt_state?agent_id=&session_id=`: what the session asks now."""
    principal = await principal_of(service, request)
    session = _session(service, principal, request.query_params)
    engine = await service.open()
    loaded = await engine.store.load(session.key)
    ask = pending_of(loaded, principal)
    result = {} if loaded.result is None else {"result": loaded.result}
    if ask is None:
        return json_response({"interrupted": False, **result})
    note_told(engine, session.key, ask)
    return json_response({"interrupted": True, "state": state_of(session.key, ask), **result})


@in_its_statuses
async def resume_chat(service: Service, request: Request) -> EventStreamResponse:
    """`POST /api/v1/chat/resume` `{agent_id, session_id, input}`: an answer, and what follows.

    With `checkpoint_id` it answers that question and no other. Without, an answer that equals the
    one before it, and comes at once, is taken for that one: see `is_repeated`.
    """
    principal = await principal_of(service, request)
    async with _object(service, request, principal) as (body, heavy):
        session = _session(service, principal, body)
        values = body.get("input")
        if not isinstance(values, dict):
            raise _fault("input", "must be a JSON object: a value for each field, by its name")
        named = _text(body, "checkpoint_id") if "checkpoint_id" in body else None
        if not (session.agent.adapter.capabilities.answer or session.agent.approves):
            raise Refused("INTERRUPTS_UNSUPPORTED", f"Agent {session.agent.name!r} asks nothing.")
        engine = await service.open()
        loaded = await engine.store.load(session.key)
        ask = pending_of(loaded, principal)
        if ask is None:
            raise Refused("INTERRUPT_NOT_PENDING", "This session has no pending interrupt.")
        if named is not None and named != checkpoint_of(session.key, ask):
            raise Refused(
                "INTERRUPT_NOT_PENDING",
                "The session does not ask the question of this checkpoint_id any more; it asks "
                "another one. Nothing was answered.",
            )
        if named is None and await is_repeated(engine, session.key, loaded, ask, values):
            raise Refused(
                "INTERRUPT_NOT_PENDING",
                "The session has just been given this answer, and asks another question since. "
                "Nothing was answered: name the question by its checkpoint_id.",
            )
        entry = {"interruptId": ask.id, "status": "resolved", "payload": payload_of(ask, values)}
        return await _reply(engine, session, request, heavy, resume=[entry])


def _id_of(request: Request) -> str:
    """The id of a message and of its run: a new one, or that of the request's Idempotency-Key.

    Raises:
        Refused: INVALID_INPUT, the key is empty or too long.
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return mint()
    if not 0 < len(key) <= _LONGEST_KEY:
        raise _fault("Idempotency-Key", f"must have 1 to {_LONGEST_KEY} characters")
    return hashlib.sha256(key.encode()).hexdigest()[:32]


async def _reply(
    engine: Engine,
    session: _Session,
    request: Request,
    heavy: bool,
    *,
    said: str | None = None,
    **members: Json,
) -> EventStreamResponse:
    """Submit an input and answer with frames, or raise what it is refused for.

    A message has its id, `said`, in common with its run: by both it is known again.
    """
    agent = session.agent
    # A message comes alone here: the conversation is the stored one, whatever the agent's setting.
    settings = replace(agent.settings, history="server")
    body = {
        "threadId": session.key.thread,
        "runId": said or mint(),
        "protocolVersion": "1.0",
        "messages": [],
        **members,
    }
    async with engine.turns.turn(session.key.scope, heavy):
        parsed = parse_input(body, settings.input_limits)
    submission = Submission(
        replace(agent, settings=settings),
        session.principal,
        replace(parsed, dialect=CHAT),
        on_disconnect=settings.on_disconnect,
        # Refusals have statuses and frames of their own here.
        refusals="error",
        heavy=heavy,
    )
    adapter = agent.adapter
    scanner = adapter.scanner if isinstance(adapter, AsksInWords) else None
    before: frozenset[str] = frozenset()
    if said is None and adapter.capabilities.holds:
        async with engine.threads.whole(session.key) as loaded:
            before = frozenset(message.id for message in loaded.messages)
    pipe, stream = engine.submit(submission)
    reply = ChatReply(engine, session.key, pipe, stream, _frames(request), scanner, said, before)
    try:
        first = await reply.begin()
    except BaseException:
        # Also when the host gives up on the request: nobody will read this stream.
        pipe.detach()
        raise
    return EventStreamResponse(reply, first, settings, engine.keeper.wheels)


def _frames(request: Request) -> Frames:
    asked = request.headers.get("x-a2ui", ""), request.query_params.get("a2ui", "")
    a2ui = any(value.strip().lower() == "true" for value in asked)
    return A2UIFrames() if a2ui else LegacyFrames()


@contextlib.asynccontextmanager
async def _object(
    service: Service, request: Request, principal: Principal
) -> AsyncIterator[tuple[dict[str, Json], bool]]:
    """Read a body that is an object; also gives whether it is heavy."""
    async with json_body(service, request, principal.scope) as body:
        if not isinstance(body.value, dict):
            raise Refused("INVALID_INPUT", "The body must be a JSON object.")
        async with service.turns.turn(principal.scope, body.heavy):
            fault = find_forbidden(body.value, max_depth=service.settings.max_depth)
        if fault is not None:
            raise Refused("INVALID_INPUT", f"The body holds what JSON may not: {fault[:300]}.")
        yield body.value, body.heavy


def _session(service: Service, principal: Principal, named: Mapping[str, Json]) -> _Session:
    """The agent and the session that a request names, in the caller's scope.

    Raises:
        Refused: INVALID_INPUT, AGENT_NOT_FOUND.
    """
    name, thread = _text(named, "agent_id"), _text(named, "session_id")
    check_text_id("session_id", thread, service.settings.max_id_bytes)
    check_addressable("session_id", thread)
    agent = find_agent(service, name)
    return _Session(principal, agent, ThreadKey(principal.scope, agent.name, thread))


def _text(named: Mapping[str, Json], name: str) -> str:
    value = named.get(name)
    if value is None or value == "":
        raise _fault(name, "is missing")
    if not isinstance(value, str):
        raise _fault(name, "must be a string")
    return value


def _fault(field: str, reason: str) -> Refused:
    return Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field, "reason": reason})
