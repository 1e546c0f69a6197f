"""The routes of CopilotKit's runtime, so that its React client needs no Node server in between.

`runtimeUrl` may be used in both of its ways: a route for each thing (REST), or a single route
that takes envelopes `{"method", "params", "body"}`. A thread here is the AG-UI thread of the same
id. A run goes on when its client goes away: the client comes back with `connect`, and stops with a
request of its own. Tool messages that the client makes of answers, and run ids that it uses again,
count for nothing: docs/contract.md, "Messages and state".

Source: `@copilotkit/core` and `@copilotkit/runtime` 1.75.0; docs/copilotkit.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge import __version__
from agui_bridge.engine.input.settings import DisconnectPolicy
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.errors import Refused
from agui_bridge.http.agui.runs import (
    NEWEST_HEADER,
    begin_run,
    declaring,
    read_input,
    refusals_of,
)
from agui_bridge.http.agui.threads import capabilities_of
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.request_parts import (
    Body,
    agent_of,
    find_agent,
    json_body,
    json_body_if_any,
    key_of,
    principal_of,
)
from agui_bridge.http.service import Service
from agui_bridge.http.stream_response import EventStreamResponse, stream_of
from agui_bridge.protocol.threads.records import Json, Principal

if TYPE_CHECKING:  # Shapes for checkers, and for the OpenAPI document.
    from agui_bridge.http.copilotkit.operations import RunStopped, RuntimeInfo

METHODS: Final = ("info", "agent/run", "agent/connect", "agent/stop")
"""What the single route can be asked for."""

_ON_DISCONNECT: Final[DisconnectPolicy] = "continue"


async def get_info(service: Service, request: Request) -> Response:
    """`GET {base}/info`: the agents, and what of a runtime there is."""
    await principal_of(service, request)
    return json_response(_info(service))


async def run_agent(service: Service, request: Request) -> EventStreamResponse:
    """`POST {base}/agent/{agent}/run`: begin a run, or answer what it asked."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    async with json_body(service, request, principal.scope) as body:
        return await _run(service, request, principal, agent, body)


async def connect_agent(service: Service, request: Request) -> EventStreamResponse:
    """`POST {base}/agent/{agent}/connect`: the thread as it stands, and what runs on it."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    async with json_body(service, request, principal.scope) as body:
        return await _connect(service, request, principal, agent, body)


async def stop_agent(service: Service, request: Request) -> Response:
    """`POST {base}/agent/{agent}/stop/{thread}` with `{"runId"?}` or no body."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    async with json_body_if_any(service, request, principal.scope) as body:
        run_id = _run_id(body.value)
    return await _stop(service, principal, agent, request.path_params["thread"], run_id)


async def dispatch(service: Service, request: Request) -> Response | EventStreamResponse:
    """`POST {base}`: each of the above, in an envelope."""
    principal = await principal_of(service, request)
    # A choice that there is not is refused whatever the envelope asks for.
    refusals_of(request)
    async with json_body(service, request, principal.scope) as body:
        return await _open(service, request, principal, body)


async def _open(
    service: Service, request: Request, principal: Principal, envelope: Body
) -> Response | EventStreamResponse:
    """Do what an envelope asks for."""
    asked = envelope.value
    if not isinstance(asked, dict):
        raise _fault("method", "the body must be an object that has one")
    method = asked.get("method")
    if method not in METHODS:
        raise _fault("method", f"must be one of {', '.join(METHODS)}")
    if method == "info":
        return json_response(_info(service))
    params, body = asked.get("params"), replace(envelope, value=asked.get("body"))
    agent = find_agent(service, _param(params, "agentId"))
    if method == "agent/run":
        return await _run(service, request, principal, agent, body)
    if method == "agent/connect":
        return await _connect(service, request, principal, agent, body)
    thread = _param(params, "threadId")
    run_id = _run_id({} if body.value is None else body.value)
    return await _stop(service, principal, agent, thread, run_id)


def _info(service: Service) -> RuntimeInfo:
    return {
        "version": __version__,
        "agents": {
            agent.name: {
                "name": agent.name,
                "description": agent.description,
                "className": "HttpAgent",
                "capabilities": capabilities_of(agent),
            }
            for agent in service.agents.values()
        },
        "mode": "sse",
        "audioFileTranscriptionEnabled": False,
        "a2uiEnabled": False,
        "openGenerativeUIEnabled": False,
        "suggestions": False,
        "threadEndpoints": {
            "list": False,
            "inspect": False,
            "mutations": False,
            "realtimeMetadata": False,
        },
    }


async def _run(
    service: Service, request: Request, principal: Principal, agent: Agent, body: Body
) -> EventStreamResponse:
    choice, refusals = agent.settings.dialect, refusals_of(request)
    body = declaring(request, body)
    newest = request.headers.get(NEWEST_HEADER)
    return await begin_run(
        service, principal, agent, body, _ON_DISCONNECT, choice, refusals, newest=newest
    )


async def _connect(
    service: Service, request: Request, principal: Principal, agent: Agent, body: Body
) -> EventStreamResponse:
    body = declaring(request, body)
    parsed = await read_input(service, principal, body, agent.settings.dialect)
    engine = await service.open()
    pipe, _ = show_thread(engine, Submission(agent, principal, parsed, _ON_DISCONNECT))
    return await stream_of(pipe, agent.settings, engine.keeper.wheels)


async def _stop(
    service: Service, principal: Principal, agent: Agent, thread: str, run_id: str | None
) -> Response:
    key = key_of(service, principal, agent, thread)
    engine = await service.open()
    result = await engine.stop(
        key, timeout=agent.settings.stop_timeout, principal=principal, run_id=run_id
    )
    stopped: RunStopped = {"stopped": result.status == "success"}
    if result.error is not None:
        stopped["message"] = result.error
    return json_response(stopped)


def _run_id(body: Json) -> str | None:
    """The run that a stop is for; None is whichever runs."""
    if not isinstance(body, dict):
        raise _fault("body", "must be an object, or absent")
    if "runId" not in body:
        return None
    if not isinstance(body["runId"], str):
        raise _fault("runId", "must be a string, or left out")
    return body["runId"]


def _param(params: Any, name: str) -> str:
    value = params.get(name) if isinstance(params, Mapping) else None
    if not isinstance(value, str) or not value:
        raise _fault(f"params.{name}", "must be a string that is not empty")
    return value


def _fault(field: str, reason: str) -> Refused:
    return Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field, "reason": reason})
