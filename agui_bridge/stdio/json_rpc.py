"""JSON-RPC lines: requests as they come, params of two kinds, and what is answered.

Source: NexAU's stdio transport (`"jsonrpc":"2.0-stream"`); JSON-RPC 2.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from agui_bridge.errors import Refused
from agui_bridge.protocol.dialects import ParsedInput, parse_input
from agui_bridge.protocol.json_values import MAX_DEPTH, InputLimits
from agui_bridge.protocol.threads.records import Json, Principal
from agui_bridge.surfaces.reading import check_text_id, parse_json, tells_calls
from agui_bridge.surfaces.session_stop import DEFAULT_USER, SessionStop

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
FAILED: Final = -32000
"""What was asked for was begun and failed, or was refused."""
WAITING: Final = -32001
"""The run waits for people; `data.outcome` has their questions."""

VERSIONS: Final = ("2.0-stream", "2.0")


class RpcError(Exception):
    """A request that is answered with an error.

    Attributes:
        code: JSON-RPC's.
        message: what was wrong, and what to do.
        data: JSON-ready particulars, or None.
        request_id: of the request, None if it could not be read.
        version: of the answer.
    """

    def __init__(
        self,
        code: int,
        message: str,
        data: Json = None,
        *,
        request_id: str | int | None = None,
        version: str = VERSIONS[0],
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.request_id = request_id
        self.version = version


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes:
        id: comes back with everything that answers it.
        version: comes back too.
        method: what to do.
        params: with what.
    """

    id: str | int
    version: str
    method: str
    params: Mapping[str, Json]

    def error(self, code: int, message: str, data: Json = None) -> RpcError:
        """An error about this request."""
        return RpcError(code, message, data, request_id=self.id, version=self.version)

    def refusal(self, error: Refused) -> RpcError:
        """The error of what the bridge refused."""
        wrong = error.code in ("INVALID_INPUT", "AGENT_NOT_FOUND", "UNSUPPORTED_VERSION")
        data: dict[str, Json] = {"code": error.code}
        if error.details is not None:
            data["details"] = error.details
        return self.error(INVALID_PARAMS if wrong else FAILED, error.message, data)


def read_request(line: bytes, max_values: int) -> Request:
    """Read a line.

    Args:
        line: a JSON text.
        max_values: how many values it may hold.

    Raises:
        RpcError: it is no request, with what could be read of its id and version.
    """
    try:
        value = parse_json(line, MAX_DEPTH, "The line", max_values=max_values)
    except Refused as error:
        code = INVALID_REQUEST if error.code == "PAYLOAD_TOO_LARGE" else PARSE_ERROR
        raise RpcError(code, error.message) from None
    if isinstance(value, list):
        raise RpcError(INVALID_REQUEST, "Batches are not taken: send one request in each line.")
    if not isinstance(value, dict):
        raise RpcError(INVALID_REQUEST, "A request is a JSON object.")
    given = value.get("id")
    usable = isinstance(given, str | int) and not isinstance(given, bool)
    request_id = given if usable else None
    version = value.get("jsonrpc")
    if version not in VERSIONS:
        raise RpcError(
            INVALID_REQUEST, f'jsonrpc: must be "{VERSIONS[0]}" or "2.0".', request_id=request_id
        )
    if request_id is None:
        raise RpcError(
            INVALID_REQUEST,
            "id: must be a string (or a whole number): everything here is answered.",
            version=version,
        )
    method, params = value.get("method"), value.get("params", {})
    if not isinstance(method, str):
        raise RpcError(
            INVALID_REQUEST, "method: must be a string.", request_id=request_id, version=version
        )
    request = Request(request_id, version, method, params)
    if not isinstance(params, dict):
        raise request.error(INVALID_PARAMS, "params: must be an object.")
    return request


# --- params ---


@dataclass(frozen=True, slots=True)
class Query:
    """What an agent is asked to do.

    Attributes:
        agent: its name; None is the only one.
        principal: the caller.
        parsed: the run's input.
        simple: whether NexAU's params were sent: a query is answered with plain text then.
        tells_calls: whether questions say in their message what they would let run.
    """

    agent: str | None
    principal: Principal
    parsed: ParsedInput
    simple: bool
    tells_calls: bool


def read_query(params: Mapping[str, Json], limits: InputLimits, mint: Callable[[], str]) -> Query:
    """Read the params of `agent.stream` and `agent.query`.

    A RunAgentInput, `agent` and `tell`; or NexAU's `messages`, `user_id`, `session_id`, `context`
    and `variables`, with `agent`, `resume` and `tell` besides. The last two of NexAU's are in
    `forwardedProps` as they came; the context is also the input's own, where every value is text.

    Args:
        params: as they came.
        limits: how much they may hold.
        mint: makes ids that are missing.

    Raises:
        Refused: INVALID_INPUT and the like, naming the field.
    """
    agent, tells = _text(params, "agent"), tells_calls(params.get("tell"))
    if "threadId" in params or "runId" in params:
        body = {name: value for name, value in params.items() if name not in ("agent", "tell")}
        body = {"runId": mint(), "messages": [], "protocolVersion": "1.0", **body}
        return Query(agent, Principal(), parse_input(body, limits, "ag-ui"), False, tells)
    body = {
        "threadId": _text(params, "session_id") or mint(),
        "runId": mint(),
        "protocolVersion": "1.0",
        "messages": _messages(params, mint),
        "context": _context(params),
    }
    if params.get("resume") is not None:
        body["resume"] = params["resume"]
    if props := _forwarded(params):
        body["forwardedProps"] = props
    principal = principal_named(_text(params, "user_id"), limits.max_id_bytes)
    named = agent if agent is not None else _text(params, "agent_id")
    return Query(named, principal, parse_input(body, limits, "ag-ui"), True, tells)


def read_stop(params: Mapping[str, Json], max_id_bytes: int) -> tuple[Principal, SessionStop]:
    """Read the params of `agent.stop`: `{threadId, agent?, …}` or `{session_id, agent_id?, …}`.

    Raises:
        Refused: INVALID_INPUT, naming the field.
    """
    body = dict(params)
    for ours, theirs in (("threadId", "session_id"), ("agent", "agent_id")):
        if ours in body:
            body[theirs] = body.pop(ours)
    principal = principal_named(_text(body, "user_id"), max_id_bytes)
    return principal, SessionStop.of({**body, "user_id": None}, max_id_bytes)


def principal_named(user: str | None, max_id_bytes: int | None) -> Principal:
    """Who asks: whoever started the process, or the user that it names.

    A user has a scope of their own, as with NexAU the same session id of two users is two.

    Raises:
        Refused: INVALID_INPUT, no store could keep that name, or it is that of the scope of those
            who name none.
    """
    if user is None or user == DEFAULT_USER:
        return Principal()
    check_text_id("user_id", user, max_id_bytes)
    if user == Principal().scope:
        raise _wrong("user_id", f"must not be {user!r}, which stands for those who name no user")
    return Principal(user, user)


def agent_named(name: str | None, agents: Iterable[str]) -> str:
    """The agent that is meant.

    Raises:
        Refused: AGENT_NOT_FOUND; INVALID_INPUT when none is named and there are several.
    """
    names = sorted(agents)
    known = ", ".join(names) or "none"
    if name is None:
        if len(names) != 1:
            raise Refused("INVALID_INPUT", f"agent: name one; there are: {known}.")
        return names[0]
    if name not in names:
        raise Refused("AGENT_NOT_FOUND", f"There is no agent {name[:100]!r}; there are: {known}.")
    return name


def _messages(params: Mapping[str, Json], mint: Callable[[], str]) -> list[Json]:
    given = params.get("messages")
    if isinstance(given, str):
        return [{"id": mint(), "role": "user", "content": given}]
    if given is None and params.get("resume"):
        return []
    if not isinstance(given, list):
        raise _wrong("messages", "must be a string or a list of messages")
    found: list[Json] = []
    for index, message in enumerate(given):
        if not isinstance(message, dict):
            raise _wrong(f"messages.{index}", "must be an object")
        found.append(message if "id" in message else {"id": mint(), **message})
    return found


def _context(params: Mapping[str, Json]) -> list[Json]:
    given = params.get("context")
    if given is None or isinstance(given, list):
        return given or []
    if not isinstance(given, dict):
        raise _wrong("context", "must be an object or a list")
    return [
        {
            "description": name,
            "value": value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        }
        for name, value in given.items()
    ]


def _forwarded(params: Mapping[str, Json]) -> dict[str, Json]:
    """What reaches the agent as it is."""
    names = ("variables", "context") if isinstance(params.get("context"), dict) else ("variables",)
    return {name: params[name] for name in names if params.get(name) is not None}


def _text(params: Mapping[str, Json], field: str) -> str | None:
    value = params.get(field)
    if value is not None and not isinstance(value, str):
        raise _wrong(field, "must be a string")
    return value


def _wrong(field: str, reason: str) -> Refused:
    return Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field, "reason": reason})


# --- answers ---


def message_line(answer: RpcError | Mapping[str, Json]) -> bytes:
    """A whole answer as a line: an error, or the members of a result."""
    if isinstance(answer, RpcError):
        answer = {
            "jsonrpc": answer.version,
            "id": answer.request_id,
            "error": {"code": answer.code, "message": answer.message, "data": answer.data},
        }
    # In ASCII: half of a surrogate pair has no bytes in UTF-8.
    return json.dumps(answer, separators=(",", ":")).encode() + b"\n"


def event_line(request: Request) -> Callable[[str], bytes]:
    """Makes the lines of a request's events, which are JSON already."""
    head = f'{{"jsonrpc":{json.dumps(request.version)},"id":{json.dumps(request.id)},"event":'

    def line(event: str) -> bytes:
        return f"{head}{event}}}\n".encode()

    return line
