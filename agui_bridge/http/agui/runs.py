"""The AG-UI endpoint: `POST /agents/{agent}`, a run as a stream of server-sent events.

Source: AG-UI 1.0, http-sse; docs/contract.md, "What goes on the wire".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from agui_bridge.engine.input.settings import DisconnectPolicy, Settings
from agui_bridge.engine.input.submission import Agent, QuestionWords, Submission
from agui_bridge.errors import Refused
from agui_bridge.frozen import replace
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.request_parts import Body, agent_of, json_body, principal_of
from agui_bridge.http.service import Service
from agui_bridge.http.stream_response import EventStreamResponse, stream_of
from agui_bridge.protocol.dialects import DialectChoice, ParsedInput, parse_in_steps
from agui_bridge.protocol.threads.records import Principal
from agui_bridge.protocol.wire.run_events import RefusalChoice, refusal_choice
from agui_bridge.surfaces.reading import say_call, tells_calls, without_rounded
from agui_bridge.surfaces.session_stop import SessionStop, stop_session

DIALECT_HEADER: Final = "ag-ui-dialect"
"""The request header that names a dialect."""

REFUSALS_HEADER: Final = "ag-ui-refusals"
"""The request header that says how refusals are told."""

VERSION_HEADER: Final = "ag-ui-protocol-version"
"""The request header that declares the client's version, where its input can't."""

NEWEST_HEADER: Final = "ag-ui-newest"
"""The request header that gives the id of the page's newest turn message, when it goes back."""


async def run_agent(
    service: Service, request: Request
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Begin a run and answer with its stream."""
    principal = await principal_of(service, request)
    agent = agent_of(service, request)
    choice, refusals = dialect_of(request, agent.settings), refusals_of(request)
    policy, newest = agent.settings.on_disconnect, request.headers.get(NEWEST_HEADER)
    words = say_call if tells_calls(request.query_params.get("tell")) else None
    async with json_body(service, request, principal.scope) as body:
        body = declaring(request, body)
        return await begin_run(
            service, principal, agent, body, policy, choice, refusals, newest=newest, words=words
        )


async def begin_run(
    service: Service,
    principal: Principal,
    agent: Agent,
    body: Body,
    on_disconnect: DisconnectPolicy,
    choice: DialectChoice,
    refusals: RefusalChoice | None,
    *,
    newest: str | None = None,
    words: QuestionWords | None = None,
) -> EventStreamResponse:
    """Begin a run of an agent on an input; gives its stream.

    Raises:
        Refused: the input is none, or no stream could be begun.
        StoreUnavailable: the store did not answer before the run began.
    """
    parsed = await read_input(service, principal, body, choice)
    if newest:
        parsed = replace(parsed, newest=newest)
    if words is not None:
        parsed = replace(parsed, entries=without_rounded(parsed.entries))
    engine = await service.open()
    submission = Submission(
        agent, principal, parsed, on_disconnect, refusals, heavy=body.heavy, words=words
    )
    pipe, _ = engine.submit(submission)
    return await stream_of(pipe, agent.settings, engine.keeper.wheels)


async def read_input(
    service: Service, principal: Principal, body: Body, choice: DialectChoice
) -> ParsedInput:
    """Read an input within the limits, in the dialect that was asked for.

    Raises:
        Refused: INVALID_INPUT, PAYLOAD_TOO_LARGE, UNSUPPORTED_VERSION.
    """
    steps = parse_in_steps(body.value, service.settings.input_limits, choice)
    parsed: ParsedInput | None = None
    while parsed is None:
        async with service.turns.turn(principal.scope, body.heavy):
            try:
                next(steps)
            except StopIteration as done:
                parsed = done.value
    return parsed


def dialect_of(request: Request, settings: Settings) -> DialectChoice:
    """The dialect that a request asks for: `?dialect=`, else its header, else the agent's.

    Raises:
        Refused: INVALID_INPUT, there is no such dialect.
    """
    asked = _asked(request, "dialect", DIALECT_HEADER)
    if asked is None:
        return settings.dialect
    for choice in get_args(DialectChoice):
        if asked == choice:
            found: DialectChoice = choice
            return found
    raise Refused(
        "INVALID_INPUT",
        f"dialect: there is no {asked[:40]!r}; there are {', '.join(get_args(DialectChoice))}.",
        {"field": "dialect"},
    )


def refusals_of(request: Request) -> RefusalChoice | None:
    """How a request asks to be refused: `?refusals=`, else its header; None: it does not say.

    Raises:
        Refused: INVALID_INPUT, there is no such choice.
    """
    asked = _asked(request, "refusals", REFUSALS_HEADER)
    return None if asked is None else refusal_choice(asked, "refusals")


def version_of(request: Request) -> str | None:
    """The version that a request declares apart from its input, by `?protocolVersion=` or a header.

    Clients from before 1.0 have no member for it in the input, but can be given an address or
    headers.
    """
    return _asked(request, "protocolVersion", VERSION_HEADER)


def declaring(request: Request, body: Body) -> Body:
    """A body with the version that the request declares, where the body itself declares none."""
    value = body.value
    if not isinstance(value, dict) or value.get("protocolVersion") is not None:
        return body
    version = version_of(request)
    return body if version is None else replace(body, value={**value, "protocolVersion": version})


def _asked(request: Request, parameter: str, header: str) -> str | None:
    """What a request asks for by a query parameter, else by a header."""
    # Few requests have a query, and to look for one's parameters takes longer than to look for it.
    if request.scope["query_string"] and parameter in request.query_params:
        return request.query_params[parameter]
    return request.headers.get(header)


async def post_stop(service: Service, request: Request) -> Response:
    """`POST /stop` with `{session_id, user_id?, agent_id?, force?, timeout?}`.

    200 also for a session that is unknown or another user's, with `status: "error"`.
    """
    principal = await principal_of(service, request)
    async with json_body(service, request, principal.scope) as body:
        stop = SessionStop.of(body.value, service.settings.max_id_bytes)
    engine = await service.open()
    return json_response(await stop_session(engine, service.agents, principal, stop))
