"""The OpenAPI 3.1 document of the HTTP surface, from the routes and the table of operations."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from agui_bridge import __version__
from agui_bridge.errors import CODES
from agui_bridge.http.agui.operations import PATH_PARAMETERS
from agui_bridge.http.app.components import views
from agui_bridge.http.app.operations import OPERATIONS
from agui_bridge.http.copilotkit.operations import BASE, placed
from agui_bridge.http.operation import Operation
from agui_bridge.shapes import chat, runs
from agui_bridge.shapes.errors import error
from agui_bridge.shapes.readable_schema import DIALECT, REF, Schema, within

__all__ = ["openapi"]

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
) -> Schema:
    """Make the document.

    Args:
        routes: method and path of each route.
        authenticated: whether credentials are asked for; None for some server, which may.
        server: where the paths begin.
        copilotkit: where CopilotKit's routes stand; None if there are none.

    Raises:
        KeyError: there is a route that `OPERATIONS` does not know.
    """
    paths: dict[str, Any] = {}
    used: dict[str, tuple[str, ...]] = {}
    for method, path in routes:
        operation = OPERATIONS[method, path]
        if (place := placed(path, copilotkit)) is None:
            continue
        item = paths.setdefault(place, _item(path))
        item[method.lower()] = _operation(operation, used, authenticated)
    components: dict[str, Any] = {
        "schemas": copy.deepcopy(_schemas()),
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
        "tags": [{"name": tag} for tag in dict.fromkeys(o.tag for o in OPERATIONS.values())],
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
        }
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
