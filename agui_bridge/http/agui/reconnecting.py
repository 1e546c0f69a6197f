"""Coming back to a thread: `…/threads/{thread}/connect`, as it stands and what runs to its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agui_bridge.engine.engine import mint
from agui_bridge.engine.input.submission import Submission
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.errors import Refused
from agui_bridge.http.agui.runs import declaring, dialect_of, read_input, version_of
from agui_bridge.http.agui.threads import unknown_thread
from agui_bridge.http.bodies import json_body
from agui_bridge.http.callers import asked_of
from agui_bridge.http.service import Service
from agui_bridge.http.stream_response import stream_of
from agui_bridge.protocol.dialects import parse_input

__all__ = ["connect_to_thread", "watch_thread"]

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
