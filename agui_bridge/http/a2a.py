"""The bridge as an A2A server over HTTP: `/a2a/{agent}`, under its own authentication.

Both bindings stand at one address: JSON-RPC is a POST there, HTTP+JSON is what is below it.

Source: the A2A specification 1.0, sections 9 ("JSON-RPC binding") and 11 ("HTTP+JSON binding").
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agui_bridge import __version__
from agui_bridge.a2a.card import A2A_AGENT, A2A_CARD, card_of
from agui_bridge.a2a.faults import Fault, fault_of
from agui_bridge.a2a.operations import Operations, Sent
from agui_bridge.a2a.streaming import TaskStream, Write
from agui_bridge.a2a.wire import INTERRUPTS
from agui_bridge.engine.input.submission import Agent
from agui_bridge.errors import Refused
from agui_bridge.http.endpoint import Endpoint, HostGuard, error_response, json_response
from agui_bridge.http.request_parts import agent_of, json_body, json_body_if_any, principal_of
from agui_bridge.http.service import Service
from agui_bridge.http.stream_response import EventStreamResponse
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import Json, Principal

_MEDIA: Final = "application/a2a+json"
_VERSIONS: Final = ("", "1", "1.0")
"""That a request may name. Without one it would be 0.3, whose requests have other methods."""

Answer = Callable[..., Awaitable[None]]
Params = Mapping[str, Json]

_NOTHING: Final[Mapping[str, Json]] = {}


def a2a_routes(service: Service, guard: HostGuard) -> list[BaseRoute]:
    """The server's routes.

    Args:
        service: the bridge.
        guard: refuses requests by their host and origin.
    """
    root = A2A_AGENT
    task = f"{root}/tasks/{{task}}"
    table: tuple[tuple[str, Mapping[str, Callable[[Service, Request], Awaitable[Any]]]], ...] = (
        (root, {"POST": _call}),
        (A2A_CARD, {"GET": _card}),
        (f"{root}/extendedAgentCard", {"GET": _rest("card")}),
        (f"{root}/message:send", {"POST": _rest("send")}),
        (f"{root}/message:stream", {"POST": _rest("stream")}),
        (f"{root}/tasks", {"GET": _rest("list")}),
        (f"{task}:cancel", {"POST": _rest("cancel")}),
        (f"{task}:subscribe", {"GET": _rest("subscribe"), "POST": _rest("subscribe")}),
        (f"{task}/pushNotificationConfigs", {"GET": _rest("push"), "POST": _rest("push")}),
        (
            f"{task}/pushNotificationConfigs/{{config}}",
            {"GET": _rest("push"), "DELETE": _rest("push")},
        ),
        (task, {"GET": _rest("get")}),
    )
    return [
        Route(path, Endpoint(service, _by_method(handlers), guard), include_in_schema=False)
        for path, handlers in table
    ]


def _by_method(
    handlers: Mapping[str, Callable[[Service, Request], Awaitable[Any]]],
) -> Callable[[Service, Request], Awaitable[Any]]:
    allowed = ", ".join(handlers)

    async def handle(service: Service, request: Request) -> Any:
        handler = handlers.get("GET" if request.method == "HEAD" else request.method)
        if handler is not None:
            return await handler(service, request)
        message = f"{request.method} is not allowed here; allowed: {allowed}."
        response = error_response(Refused("METHOD_NOT_ALLOWED", message))
        response.headers["Allow"] = allowed
        return response

    return handle


# --- cards ---


async def _card(service: Service, request: Request) -> Response:
    """`GET …/.well-known/agent-card.json`: public, as the address is that it stands at."""
    agent = service.agents.get(request.path_params["agent"])
    if agent is None:
        # Those that there are, are told to those who sign in.
        raise Refused("AGENT_NOT_FOUND", "There is no such agent here.")
    return json_response(_card_of(service, request, agent, extended=False))


def _card_of(service: Service, request: Request, agent: Agent, *, extended: bool) -> dict[str, Any]:
    authenticated = service.authenticate is not None
    base = service.inbox.url or str(request.base_url)
    return card_of(agent, base, __version__, authenticated=authenticated, extended=extended)


# --- JSON-RPC ---

_METHODS: Final[Mapping[str, str]] = {
    "SendMessage": "send",
    "SendStreamingMessage": "stream",
    "GetTask": "get",
    "ListTasks": "list",
    "CancelTask": "cancel",
    "SubscribeToTask": "subscribe",
    "GetExtendedAgentCard": "card",
    "CreateTaskPushNotificationConfig": "push",
    "GetTaskPushNotificationConfig": "push",
    "ListTaskPushNotificationConfigs": "push",
    "DeleteTaskPushNotificationConfig": "push",
}


async def _call(service: Service, request: Request) -> Answer:
    """`POST /a2a/{agent}`: a request of JSON-RPC."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    id: Json = None
    try:
        async with json_body(service, request, principal.scope) as body:
            called = _checked(service, body.value)
            id = _id_of(called)
            operation, params = _named(called)
            _check_version(request)

            def write(told: Mapping[str, Json] | Fault) -> bytes:
                return _event(_response(id, told))

            found = await _carry_out(
                service, request, principal, agent, operation, params, write, heavy=body.heavy
            )
        if isinstance(found, Sent):
            found = await found.result()
    except (Fault, Refused) as error:
        fault = _as_fault(error)
        return _told(request, json_response(_response(id, fault)))
    if isinstance(found, _Stream):
        return found.response
    return _told(request, json_response(_response(id, found)))


def _id_of(called: Mapping[str, Json]) -> str | int | None:
    id = called.get("id")
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _named(called: Mapping[str, Json]) -> tuple[str, Params]:
    if called.get("jsonrpc") != "2.0" or not isinstance(called.get("method"), str):
        raise Fault("INVALID_REQUEST", 'The request must have jsonrpc: "2.0" and a method.')
    if called.get("id") is not None and _id_of(called) is None:
        raise Fault("INVALID_REQUEST", "id: must be a text or a whole number.")
    operation = _METHODS.get(called["method"])
    if operation is None:
        raise Fault(
            "METHOD_NOT_FOUND",
            f"There is no method {called['method'][:100]!r}; there are {', '.join(_METHODS)}.",
        )
    params = called.get("params", _NOTHING)
    if not isinstance(params, Mapping):
        raise Fault("INVALID_PARAMS", "params: must be an object.")
    return operation, params


def _response(id: Json, told: Mapping[str, Json] | Fault) -> dict[str, Json]:
    result = {"error": told.to_rpc()} if isinstance(told, Fault) else {"result": told}
    return {"jsonrpc": "2.0", "id": id, **result}


# --- HTTP+JSON ---


def _rest(operation: str) -> Callable[[Service, Request], Awaitable[Answer]]:
    """The handler of one operation in this binding."""

    async def handle(service: Service, request: Request) -> Answer:
        principal = await principal_of(service, request)
        agent = agent_of(service, request)
        named = {"id": request.path_params["task"]} if "task" in request.path_params else {}

        def write(told: Mapping[str, Json] | Fault) -> bytes:
            if isinstance(told, Fault):
                return b"event: error\n" + _event(told.to_http())
            return _event(told)

        try:
            _check_version(request)
            async with json_body_if_any(service, request, principal.scope) as body:
                params = {**request.query_params, **_checked(service, body.value), **named}
                found = await _carry_out(
                    service, request, principal, agent, operation, params, write, heavy=body.heavy
                )
            if isinstance(found, Sent):
                found = await found.result()
        except (Fault, Refused) as error:
            fault = _as_fault(error)
            return _told(request, json_response(fault.to_http(), fault.status), _MEDIA)
        if isinstance(found, _Stream):
            return found.response
        return _told(request, json_response(found), _MEDIA)

    return handle


# --- both ---


class _Stream:
    """An operation that is answered with a stream."""

    def __init__(self, response: EventStreamResponse) -> None:
        self.response = response


async def _carry_out(
    service: Service,
    request: Request,
    principal: Principal,
    agent: Agent,
    operation: str,
    params: Params,
    write: Write,
    *,
    heavy: bool,
) -> Mapping[str, Json] | Sent | _Stream:
    """Carry an operation out, as far as its body is needed.

    Raises:
        Fault: it is refused.
        StoreUnavailable: the store did not answer.
    """
    if operation == "card":
        if service.authenticate is None:
            raise Fault("UNSUPPORTED_OPERATION", "There is no other card than the public one.")
        return _card_of(service, request, agent, extended=True)
    if operation == "push":
        raise Fault("PUSH_NOTIFICATION_NOT_SUPPORTED", "There are no push notifications here.")
    engine = await service.open()
    do = Operations(engine, agent, principal, heavy=heavy)
    match operation:
        case "send":
            return await do.send(params)
        case "get":
            return await do.get(params)
        case "list":
            return await do.list(params)
        case "cancel":
            return await do.cancel(params)
    begin = do.stream if operation == "stream" else do.subscribe
    stream: TaskStream = await begin(params, write)
    first = await stream.begin()
    return _Stream(EventStreamResponse(stream, first, agent.settings, engine.keeper.wheels))


def _checked(service: Service, value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise Fault("INVALID_REQUEST", "The body must be a JSON object.")
    found = find_forbidden(value, max_depth=service.settings.max_depth)
    if found is not None:
        raise Fault("INVALID_REQUEST", f"The body holds what JSON may not: {found[:300]}.")
    return value


def _check_version(request: Request) -> None:
    named = request.headers.get("a2a-version") or request.query_params.get("A2A-Version", "")
    if named not in _VERSIONS and not named.startswith("1."):
        raise Fault(
            "VERSION_NOT_SUPPORTED",
            f"A2A-Version {named[:20]!r} is not spoken here: 1.0 is.",
        )


def _as_fault(error: Fault | Refused) -> Fault:
    """What a request is refused with; what is no request of A2A is refused as everywhere.

    Raises:
        Refused: the body is too large, too slow, or of another type.
    """
    if isinstance(error, Fault):
        return error
    if error.code == "INVALID_INPUT":
        return Fault("JSON_PARSE_ERROR", error.message, error.code)
    if error.code in ("PAYLOAD_TOO_LARGE", "REQUEST_TIMEOUT", "UNSUPPORTED_MEDIA_TYPE"):
        raise error
    return fault_of(error)


def _told(request: Request, response: Response, media: str = "application/json") -> Response:
    """An answer of that type; it says which extensions count, where the request names them."""
    response.headers["content-type"] = media
    if INTERRUPTS in request.headers.get("a2a-extensions", ""):
        response.headers["A2A-Extensions"] = INTERRUPTS
    return response


def _event(value: Json) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"
