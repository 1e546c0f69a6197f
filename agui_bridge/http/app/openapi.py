"""The OpenAPI 3.1 document of the HTTP surface, from the routes and the table of operations."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from ag_ui import core

from agui_bridge import __version__
from agui_bridge.a2a.card import A2A_AGENT, A2A_CARD
from agui_bridge.errors import CODES
from agui_bridge.http import channels as delivery_views
from agui_bridge.http.agui import views as agui_views
from agui_bridge.http.agui.operations import AGUI_OPERATIONS, PATH_PARAMETERS
from agui_bridge.http.agui.views import (
    AgentList,
    AnswerTaken,
    AuditedInterrupt,
    InterruptList,
    InterruptPage,
    SessionStopped,
    Stopped,
    Thread,
    ThreadList,
)
from agui_bridge.http.app import pages
from agui_bridge.http.app.pages import Health, Readiness
from agui_bridge.http.channels import CHANNEL_OPERATIONS, DeliveryList
from agui_bridge.http.chat.operations import CHAT_OPERATIONS
from agui_bridge.http.copilotkit import operations as copilotkit_views
from agui_bridge.http.copilotkit.operations import (
    BASE,
    COPILOTKIT_OPERATIONS,
    RunStopped,
    RuntimeAnswer,
    RuntimeInfo,
    placed,
)
from agui_bridge.http.mcp import MCP
from agui_bridge.http.operation import OF_A_BODY, OF_AN_AGENT, OPENS_STORE, Operation
from agui_bridge.shapes import chat, runs
from agui_bridge.shapes.readable_schema import (
    DIALECT,
    REF,
    Schema,
    document,
    error,
    schema_of,
    within,
)
from agui_bridge.shapes.runs import from_clients

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    **AGUI_OPERATIONS,
    **CHANNEL_OPERATIONS,
    **CHAT_OPERATIONS,
    **COPILOTKIT_OPERATIONS,
    ("GET", "/healthz"): Operation(
        "getHealth", "Service", "Tell that the process answers", answer="Health", public=True
    ),
    ("GET", "/readyz"): Operation(
        "getReadiness",
        "Service",
        "Tell that the store answers and new runs are taken",
        answer="Readiness",
        codes=OPENS_STORE,
        public=True,
    ),
    ("GET", "/openapi.json"): Operation(
        "getOpenapi",
        "Service",
        "Give this document",
        "It holds no data and names no agent, so that it needs no credentials.",
        answer="Document",
        public=True,
    ),
    ("POST", MCP): Operation(
        "callMcp",
        "MCP",
        "Call agents as tools, as an MCP client does",
        "One message of the Model Context Protocol over streamable HTTP, where `mcp` is switched "
        "on. Each agent is a tool. `Accept` names `application/json` and `text/event-stream`.",
        body="McpMessage",
        answer="McpMessage",
        codes=("NOT_FOUND", *OF_A_BODY),
    ),
    ("GET", A2A_CARD): Operation(
        "getA2aCard",
        "A2A",
        "Give the card of an agent, where `a2a` is switched on",
        "It says at which addresses the agent is spoken to, and how callers say who they are. What "
        "the agent does stands in the extended card where callers authenticate.",
        answer="A2aCard",
        codes=OF_AN_AGENT,
        public=True,
    ),
    ("POST", A2A_AGENT): Operation(
        "callA2a",
        "A2A",
        "Speak to an agent as another agent does, where `a2a` is switched on",
        "One request of the Agent2Agent protocol 1.0 in JSON-RPC. Its binding HTTP+JSON stands "
        "below the same address: `message:send`, `message:stream`, `tasks`, `extendedAgentCard`.",
        body="A2aMessage",
        answer="A2aMessage",
        codes=(*OF_AN_AGENT, "PAYLOAD_TOO_LARGE", "REQUEST_TIMEOUT", "UNSUPPORTED_MEDIA_TYPE"),
    ),
}
"""By method and path."""

_MESSAGE: Final[Schema] = {
    "type": "object",
    "title": "Mcp message",
    "description": "A JSON-RPC message: a request, a notification or an answer of MCP.",
    "required": ["jsonrpc"],
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer", "null"]},
        "method": {"type": "string"},
        "params": {"type": "object"},
        "result": {"type": "object"},
        "error": {"type": "object"},
    },
}


_RPC: Final[Schema] = {
    **_MESSAGE,
    "title": "A2A message",
    "description": "A JSON-RPC message: a request or an answer of A2A 1.0.",
}

_CARD: Final[Schema] = {
    "type": "object",
    "title": "A2A card",
    "description": "An agent's card, as A2A 1.0 has it.",
    "required": ["name", "description", "version", "supportedInterfaces", "capabilities"],
    "properties": {
        "name": {"type": "string"},
        "description": {"type": "string"},
        "version": {"type": "string"},
        "supportedInterfaces": {"type": "array", "items": {"type": "object"}},
        "capabilities": {"type": "object"},
    },
}

_OPTIONAL: Final[Mapping[str, tuple[str, ...]]] = {
    "MCP": ("McpMessage",),
    "A2A": ("A2aCard", "A2aMessage"),
}
"""The tags of what has to be switched on, with the components that nothing else needs."""

_STREAMED: Final = ("A2aMessage", "McpMessage")
"""Answers that come whole, or as a stream."""

_COMPONENTS: Final = "#/components/schemas/"
_PLACE: Final = re.compile(r"\{(\w+)\}")

_DESCRIPTION: Final = """\
Any agent, whatever its framework, behind one AG-UI endpoint whose pauses, answers and stops are \
durable, checked and executed once. Every answer that is no success has the body \
`{"error": {"code", "message", "details"?}, "message"}`; the codes are stable."""

_BEARER: Final = """\
Who asks is the server's own business: it may look for a bearer token, or for something else."""


def openapi(
    routes: Iterable[tuple[str, str]] = OPERATIONS,
    *,
    authenticated: bool | None = None,
    server: str = "/",
    copilotkit: str | None = BASE,
    mcp: bool = True,
    a2a: bool = True,
) -> Schema:
    """Make the document.

    Args:
        routes: method and path of each route.
        authenticated: whether credentials are asked for; None for some server, which may.
        server: where the paths begin.
        copilotkit: where CopilotKit's routes stand; None if there are none.
        mcp: whether it is an MCP server as well.
        a2a: whether it is an A2A server as well.

    Raises:
        KeyError: there is a route that `OPERATIONS` does not know.
    """
    absent = {tag for tag, there in (("MCP", mcp), ("A2A", a2a)) if not there}
    unused = {name for tag in absent for name in _OPTIONAL[tag]}
    paths: dict[str, Any] = {}
    used: dict[str, tuple[str, ...]] = {}
    for method, path in routes:
        operation = OPERATIONS[method, path]
        if (place := placed(path, copilotkit)) is None or operation.tag in absent:
            continue
        item = paths.setdefault(place, _item(path))
        item[method.lower()] = _operation(operation, used, authenticated)
    components: dict[str, Any] = {
        "schemas": {
            name: copy.deepcopy(schema) for name, schema in _schemas().items() if name not in unused
        },
        "responses": {name: _refusal(chosen) for name, chosen in sorted(used.items())},
    }
    if authenticated is not False:
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer", "description": _BEARER}
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "agui-bridge", "version": __version__, "description": _DESCRIPTION},
        "jsonSchemaDialect": DIALECT,
        "servers": [{"url": server}],
        "tags": [
            {"name": tag}
            for tag in dict.fromkeys(o.tag for o in OPERATIONS.values())
            if tag not in absent
        ],
        "paths": paths,
        "components": components,
    }


def _item(path: str) -> dict[str, Any]:
    names = _PLACE.findall(path)
    return {"parameters": [dict(PATH_PARAMETERS[name]) for name in names]} if names else {}


def _operation(
    operation: Operation, used: dict[str, tuple[str, ...]], authenticated: bool | None
) -> dict[str, Any]:
    asks = authenticated is not False and not operation.public
    made: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
    }
    if operation.description:
        made["description"] = operation.description
    if asks:
        made["security"] = [{"bearer": []}] if authenticated else [{}, {"bearer": []}]
    if operation.query:
        made["parameters"] = [dict(parameter) for parameter in operation.query]
    if operation.body is not None:
        made["requestBody"] = {
            "required": operation.body_required,
            "content": {"application/json": {"schema": _reference(operation.body)}},
        }
    made["responses"] = _success(operation)
    guards = () if operation.public else ("FORBIDDEN",)
    codes = (*(("UNAUTHENTICATED",) if asks else ()), *guards, *operation.codes)
    for status, chosen in _by_status(codes, operation.statuses).items():
        name = ".".join(chosen)
        used[name] = chosen
        made["responses"][str(status)] = {"$ref": f"#/components/responses/{name}"}
    return made


def _success(operation: Operation) -> dict[str, Any]:
    if operation.answer is None:
        return {"204": {"description": "It is done."}}
    if operation.answer == "Events":
        content = _event_stream(operation.example)
        return {"200": {"description": "The run, as it happens.", "content": content}}
    if operation.answer == "ChatFrame":
        return {"200": _chat_stream()}
    if operation.answer in _STREAMED:
        return _rpc_answers(operation)
    body: dict[str, Any] = {"schema": _reference(operation.answer)}
    if operation.example is not None:
        body["example"] = operation.example
    content = {"application/json": body}
    if operation.stream is not None:
        content |= _event_stream(operation.stream)
    return {"200": {"description": "Success.", "content": content}}


def _event_stream(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    stream = {
        "type": "string",
        "title": "Stream",
        "description": "Server-sent events. The data of each is one event as JSON.",
        "contentMediaType": "text/event-stream",
        "contentSchema": _reference("Events"),
    }
    shown = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return {"text/event-stream": {"schema": stream, "example": shown}}


def _chat_stream() -> dict[str, Any]:
    stream = {
        "type": "string",
        "title": "Chat stream",
        "description": "Server-sent events: with `X-A2UI: true` the data of each is one frame as "
        "JSON, else a token of text.",
        "contentMediaType": "text/event-stream",
        "contentSchema": _reference("ChatFrame"),
    }
    content = {"text/event-stream": {"schema": stream}}
    return {"description": "The reply, as it comes.", "content": content}


def _rpc_answers(operation: Operation) -> dict[str, Any]:
    message = str(operation.answer)
    told = {"application/json": {"schema": _reference(message)}}
    stream = {
        "type": "string",
        "title": f"{operation.tag.capitalize()} stream",
        "description": "Server-sent events. The data of each is one message as JSON.",
        "contentMediaType": "text/event-stream",
        "contentSchema": _reference(message),
    }
    both = {**told, "text/event-stream": {"schema": stream}}
    answers: dict[str, Any] = {
        "200": {"description": "What the request is answered.", "content": both}
    }
    if operation.tag == "MCP":
        answers |= {
            "202": {"description": "A notification was taken."},
            "400": {"description": "It is no message that can be answered.", "content": told},
            "406": {"description": "The client takes neither of both.", "content": told},
        }
    return answers


def _by_status(chosen: Iterable[str], own: Mapping[str, int]) -> Mapping[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for code in dict.fromkeys(chosen):
        status = own.get(code, CODES[code].status)
        found[status] = (*found.get(status, ()), code)
    return dict(sorted(found.items()))


def _refusal(chosen: tuple[str, ...]) -> dict[str, Any]:
    return {
        "description": " ".join(CODES[code].cause for code in chosen),
        "content": {
            "application/json": {
                "schema": {
                    **_reference("Error"),
                    "properties": {"error": {"properties": {"code": {"enum": list(chosen)}}}},
                },
                "examples": {code: {"value": _error_of(code)} for code in chosen},
            }
        },
    }


def _error_of(code: str) -> dict[str, Any]:
    message = f"{CODES[code].cause} {CODES[code].remedy}"
    return {"error": {"code": code, "message": message}, "message": message}


def _reference(schema: str | Schema) -> Schema:
    return {"$ref": _COMPONENTS + schema} if isinstance(schema, str) else copy.deepcopy(schema)


@cache
def _schemas() -> dict[str, Schema]:
    """Every schema, the definitions of all documents beside each other."""
    of_chat = [chat.chat_frame(), chat.chat_state()]
    made = [runs.run_input(), runs.events(), error(), *of_chat, *views().values()]
    found: dict[str, Schema] = {
        "Document": {
            "type": "object",
            "title": "Document",
            "description": "An OpenAPI document.",
            "required": ["openapi", "info", "paths"],
        },
        "McpMessage": _MESSAGE,
        "A2aMessage": _RPC,
        "A2aCard": _CARD,
    }
    for schema in made:
        own = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
        for name, part in {
            **own.pop("$defs", {}),
            "".join(word.capitalize() for word in schema["title"].split()): own,
        }.items():
            for node in within(part):
                if isinstance(node.get("$ref"), str):
                    node["$ref"] = node["$ref"].replace(REF, _COMPONENTS)
            if found.setdefault(name, part) != part:
                raise ValueError(f"two schemas are called {name}")
    return dict(sorted(found.items()))


VIEWS: Final[Mapping[str, tuple[Any, str, str]]] = {
    "thread": (Thread, "Thread", "The answer to GET /agents/{agent}/threads/{thread}."),
    "threads": (ThreadList, "Threads", "The answer to GET /agents/{agent}/threads."),
    "interrupts": (
        InterruptList,
        "Interrupts",
        "The answer to GET /agents/{agent}/threads/{thread}/interrupts.",
    ),
    "deliveries": (DeliveryList, "Deliveries", "The answer to GET /deliveries."),
    "questions": (InterruptPage, "Questions", "The answer to GET /interrupts."),
    "question": (AuditedInterrupt, "Question", "The answer to GET /interrupts/{ref}."),
    "answer": (AnswerTaken, "Answer taken", "The answer to POST /interrupts/{ref}/answer."),
    "stop": (Stopped, "Stop", "The answer to POST /agents/{agent}/threads/{thread}/stop."),
    "session-stop": (SessionStopped, "Session stop", "The answer to POST /stop."),
    "agents": (AgentList, "Agents", "The answer to GET /agents."),
    "capabilities": (
        core.AgentCapabilities,
        "Capabilities",
        "The answer to GET /agents/{agent}/capabilities: AG-UI's AgentCapabilities.",
    ),
    "copilotkit-info": (
        RuntimeInfo,
        "CopilotKit info",
        "The answer to GET /copilotkit/info, for CopilotKit's client.",
    ),
    "copilotkit-stop": (
        RunStopped,
        "CopilotKit stop",
        "The answer to POST /copilotkit/agent/{agent}/stop/{thread}, for CopilotKit's client.",
    ),
    "copilotkit-answer": (
        RuntimeAnswer,
        "CopilotKit answer",
        "What POST /copilotkit answers with where it is no stream, for CopilotKit's client.",
    ),
    "health": (Health, "Health", "The answer to GET /healthz."),
    "readiness": (Readiness, "Readiness", "The answer to GET /readyz."),
}
"""By document its type, title, and which answer it is."""


def views() -> dict[str, Schema]:
    """The schema of every view, by the name of its document."""
    modules = [
        agui_views.__name__,
        copilotkit_views.__name__,
        pages.__name__,
        delivery_views.__name__,
    ]
    return {
        name: document(
            name, title, description, schema_of(kind, modules=modules, nullable=from_clients())
        )
        for name, (kind, title, description) in VIEWS.items()
    }
