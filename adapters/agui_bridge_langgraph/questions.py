"""LangGraph's interrupts as questions, and decisions as what each interrupt returns.

An interrupt holds any value; what asks for approvals is known by its shape. Every shape has both
halves here, side by side: what is asked, and what the answer becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langgraph.types import Interrupt
from pydantic_core import to_jsonable_python

from agui_bridge.protocol.answers.asks import Ask, own_words
from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    DECLINE,
    EDIT,
    RESPOND,
    Answer,
    Approve,
    Cancel,
    Decision,
    Decline,
    Respond,
)
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_langgraph.calls.open_calls import OpenCalls

Schemas = Callable[[str], Mapping[str, Json] | None]


@dataclass(frozen=True, slots=True)
class Asking:
    """What one interrupt asks.

    Attributes:
        asks: the questions.
        calls: the tool calls that the graph executes if they are approved, by `Ask.native_id`.
    """

    asks: list[Ask]
    calls: Mapping[str, str]


def asking(found: Interrupt, calls: OpenCalls, schemas: Schemas) -> Asking:
    """Make questions of an interrupt.

    Args:
        found: the interrupt.
        calls: the calls that it may be about.
        schemas: gives the JSON Schema of a tool's arguments.
    """
    return _shape(found.value).ask(found, calls, schemas)


def resume_value(found: Interrupt, decisions: Mapping[str, Decision], cancelled: Json) -> Json:
    """What an interrupt returns.

    Args:
        found: the interrupt, as it waits.
        decisions: by `Ask.native_id`, those of other interrupts among them.
        cancelled: what an interrupt of the author's own returns that nobody answered.
    """
    return _shape(found.value).resume(found, decisions, cancelled)


# --- langchain's HumanInTheLoopMiddleware ---

_TO_DECISION: Final[Mapping[str, str]] = {
    "approve": APPROVE,
    "reject": DECLINE,
    "edit": EDIT,
    "respond": RESPOND,
}
_RESPONSE: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": ["message"],
    "properties": {"message": {"type": "string"}},
}


def _ask_per_call(found: Interrupt, calls: OpenCalls, schemas: Schemas) -> Asking:
    value = found.value
    known = calls.of_model(value["tool_call_id"], found)
    call = ToolCall(known.id if known else found.id, value["name"], value["args"])
    ask = _reviewed(found.id, call, value.get("description"), _kinds(found), schemas)
    return Asking([ask], {found.id: call.id})


def _resume_per_call(found: Interrupt, decisions: Mapping[str, Decision], _: Json) -> Json:
    return _decided(decisions[found.id], found.value, _kinds(found))


def _ask_batch(found: Interrupt, calls: OpenCalls, schemas: Schemas) -> Asking:
    asks, gated = [], {}
    for native, request, kinds in _batch(found):
        args = request["args"]
        call = calls.like(request["name"], args, found) or ToolCall(native, request["name"], args)
        asks.append(_reviewed(native, call, request.get("description"), kinds, schemas))
        gated[native] = call.id
    return Asking(asks, gated)


def _resume_batch(found: Interrupt, decisions: Mapping[str, Decision], _: Json) -> Json:
    return {
        "decisions": [
            _decided(decisions[native], request, kinds) for native, request, kinds in _batch(found)
        ]
    }


def _batch(found: Interrupt) -> list[tuple[str, Mapping[str, Any], Sequence[str]]]:
    """Of each request of a batch the native id, what it says, and the decisions that it takes."""
    value = found.value
    configs = zip(value["action_requests"], value["review_configs"], strict=True)
    return [
        (f"{found.id}/{place}", request, config["allowed_decisions"])
        for place, (request, config) in enumerate(configs)
    ]


def _kinds(found: Interrupt) -> list[str]:
    """The decisions that a response schema takes, by the constants of its branches."""
    schema: Any = _schema_of(found)
    consts = list(_consts(schema))
    return [kind for kind in _TO_DECISION if kind in consts] or ["approve", "reject"]


def _consts(schema: Any) -> list[Any]:
    """The values that `type` may have anywhere in a schema, but in the arguments of tools."""
    if not isinstance(schema, Mapping):
        return []
    branches = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    branches += schema.get("$defs", {}).values()
    kinds = []
    for branch in branches:
        told = branch.get("properties", {}).get("type", {}) if isinstance(branch, Mapping) else {}
        kinds += [told.get("const"), *told.get("enum", ())] if isinstance(told, Mapping) else []
    return kinds


def _reviewed(
    native: str, call: ToolCall, message: Any, kinds: Sequence[str], schemas: Schemas
) -> Ask:
    if [*kinds] == [RESPOND]:
        # The person is the tool: there is nothing to approve.
        return Ask(
            native,
            "input_required",
            own_words(_text(message), call.name, call.args),
            response_schema=_RESPONSE,
            metadata=_told_of(call),
            about=call.id,
        )
    allowed = [_TO_DECISION[kind] for kind in kinds if kind in _TO_DECISION]
    if APPROVE not in allowed and EDIT in allowed:
        # Edits come with an approval; without any, what was proposed is sent as the edit.
        allowed.insert(0, APPROVE)
    return Ask(
        native,
        "tool_call",
        own_words(_text(message), call.name, call.args),
        tool_call=call,
        parameters=schemas(call.name),
        allowed=tuple(allowed),
    )


def _decided(decision: Decision, request: Mapping[str, Any], kinds: Sequence[str]) -> Json:
    match decision:
        case Approve(args=args, edited=True):
            return _edit(request, args)
        case Answer(payload=payload):
            said = payload.get("message") if isinstance(payload, Mapping) else payload
            return {"type": "respond", "message": str(said)}
        case Respond(result=result):
            return {"type": "respond", "message": result}
        case Decline() | Cancel() if "reject" in kinds:
            return {"type": "reject", "message": decision.text}
        case Decline() | Cancel() if [*kinds] == [RESPOND]:
            return {"type": "respond", "message": decision.text}
    # Approved, or refused where the graph takes no refusal: then the gate before the tool refuses.
    return {"type": "approve"} if "approve" in kinds else _edit(request, request["args"])


def _edit(request: Mapping[str, Any], args: Mapping[str, Any]) -> Json:
    """An edit, always of the same tool: another one has rules of its own."""
    return {"type": "edit", "edited_action": {"name": request["name"], "args": dict(args)}}


# --- the Agent Inbox ---

_INBOX: Final[Mapping[str, str]] = {"allow_accept": APPROVE, "allow_edit": EDIT}


def _ask_inbox(found: Interrupt, calls: OpenCalls, schemas: Schemas) -> Asking:
    asks = []
    for native, request, config in _requests(found):
        action = request["action_request"]
        name, args = str(action["action"]), dict(action["args"] or {})
        message = _text(request.get("description"))
        allowed = [decision for key, decision in _INBOX.items() if config.get(key)]
        if not allowed:
            shown = {"toolName": name, "args": _plain(args)}
            schema = {"type": "string"} if config.get("allow_respond") else None
            asks.append(
                Ask(
                    native,
                    "input_required",
                    message,
                    response_schema=schema,
                    metadata=shown,
                    about=ToolCall(native, name, _plain(args)),
                )
            )
            continue
        if APPROVE not in allowed:
            allowed.insert(0, APPROVE)
        if config.get("allow_ignore") or config.get("allow_respond"):
            allowed.append(DECLINE)
        if config.get("allow_respond"):
            allowed.append(RESPOND)
        call = calls.like(name, args, found) or ToolCall(native, name, _plain(args))
        asks.append(
            Ask(
                native,
                "tool_call",
                message,
                tool_call=call,
                parameters=schemas(name),
                allowed=tuple(allowed),
            )
        )
    return Asking(asks, {})


def _resume_inbox(found: Interrupt, decisions: Mapping[str, Decision], _: Json) -> Json:
    return [
        _inbox_response(decisions[native], request["action_request"], config)
        for native, request, config in _requests(found)
    ]


def _inbox_response(
    decision: Decision, action: Mapping[str, Any], config: Mapping[str, Any]
) -> Json:
    match decision:
        case Approve(args=args, edited=edited):
            if edited or not config.get("allow_accept"):
                return {"type": "edit", "args": {"action": action["action"], "args": dict(args)}}
            return {"type": "accept", "args": None}
        case Answer(payload=payload):
            return {"type": "response", "args": payload}
        case Respond(result=result):
            return {"type": "response", "args": result}
        case Decline() if config.get("allow_respond") and not config.get("allow_ignore"):
            return {"type": "response", "args": decision.text}
    return {"type": "ignore", "args": None}


def _requests(found: Interrupt) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    value = found.value
    requests = value if isinstance(value, list) else [value]
    return [
        (f"{found.id}/{place}", request, request.get("config") or {})
        for place, request in enumerate(requests)
    ]


# --- what a server asks in the middle of a call of langchain's own MCP client ---

_SERVER: Final = "An MCP server"  # the client does not say which
_REFUSED: Final[Mapping[str, Json]] = {"type": "object", "properties": {}}


def _ask_server(found: Interrupt, calls: OpenCalls, schemas: Schemas) -> Asking:
    from agui_bridge.mcp.elicitation import FORM, Unaskable, ask_of

    asks = []
    about = calls.asking.get(found.id)
    for native, request in _elicitations(found):
        try:
            ask = ask_of(native, _elicitation(request), _SERVER, str(found.value["tool_name"]))
        except Unaskable as error:
            told = f"{_SERVER} asked for something that nobody is asked: {error}. It is declined."
            ask = Ask(native, FORM, told, response_schema=_REFUSED)
        asks.append(replace(ask, about=about))
    return Asking(asks, {})


def _resume_server(found: Interrupt, decisions: Mapping[str, Decision], _: Json) -> Json:
    from agui_bridge.mcp.elicitation import Unaskable, ask_of, response_of

    told: dict[str, Json] = {}
    for native, request in _elicitations(found):
        decision: Any = decisions[native]
        try:
            reason = ask_of(native, _elicitation(request), _SERVER, "").reason
        except Unaskable:
            reason, decision = "", Decline()
        response = response_of(reason, decision)
        told[str(request["key"])] = response.model_dump(mode="json", exclude_none=True)
    return {"responses": told}


def _elicitations(found: Interrupt) -> list[tuple[str, Mapping[str, Any]]]:
    requests = found.value["requests"]
    return [(f"{found.id}/{place}", request) for place, request in enumerate(requests)]


def _elicitation(request: Mapping[str, Any]) -> Any:
    from mcp_types import ElicitRequest

    kept = ("mode", "message", "requested_schema", "url")
    params = {key: request[key] for key in kept if key in request}
    return ElicitRequest.model_validate({"method": "elicitation/create", "params": params})


# --- interrupts of the author's own ---


def _ask_own(found: Interrupt, calls: OpenCalls, schemas: Schemas) -> Asking:
    value = found.value
    told: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    schema: Any = _schema_of(found) or _member(told, "responseSchema", "response_schema")
    call = calls.of_model(_member(told, "toolCallId", "tool_call_id"), found)
    about = calls.asking.get(found.id)
    metadata: dict[str, Json] = {} if isinstance(value, str) else {"value": _plain(value)}
    if schema is not None:
        # A form is no approval.
        about, call = call.id if call is not None else about, None
    reason = told.get("reason")
    default = "tool_call" if call is not None else "langgraph:interrupt"
    ask = Ask(
        found.id,
        reason if isinstance(reason, str) and reason else default,
        _text(value if isinstance(value, str) else _words(told)),
        tool_call=call,
        parameters=schemas(call.name) if call is not None else None,
        response_schema=schema if isinstance(schema, Mapping) else None,
        metadata=metadata or None,
        about=about if call is None else None,
    )
    return Asking([ask], {})


def _words(told: Mapping[str, Any]) -> Any:
    asked = told.get("__copilotkit_interrupt_value__")
    if isinstance(asked, Mapping):
        # CopilotKit's helper asks for an action by its name.
        return asked.get("action")
    return asked or _member(told, "message", "question")


def _resume_own(found: Interrupt, decisions: Mapping[str, Decision], cancelled: Json) -> Json:
    decision = decisions[found.id]
    return cancelled if isinstance(decision, Cancel) else decision.payload


# --- which it is ---


@dataclass(frozen=True, slots=True)
class _Shape:
    fits: Callable[[Any], bool]
    ask: Callable[[Interrupt, OpenCalls, Schemas], Asking]
    resume: Callable[[Interrupt, Mapping[str, Decision], Json], Json]


def _is_per_call(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") == "tool_approval"


def _is_batch(value: Any) -> bool:
    return isinstance(value, Mapping) and {"action_requests", "review_configs"} <= value.keys()


def _is_inbox(value: Any) -> bool:
    requests = value if isinstance(value, list) else [value]
    return bool(requests) and all(
        isinstance(one, Mapping)
        and isinstance(one.get("action_request"), Mapping)
        and {"action", "args"} <= one["action_request"].keys()
        for one in requests
    )


def _is_server(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") == "mcp_elicitation"


_SHAPES: Final = (
    _Shape(_is_server, _ask_server, _resume_server),
    _Shape(_is_per_call, _ask_per_call, _resume_per_call),
    _Shape(_is_batch, _ask_batch, _resume_batch),
    _Shape(_is_inbox, _ask_inbox, _resume_inbox),
)
_OWN: Final = _Shape(lambda value: True, _ask_own, _resume_own)


def _shape(value: Any) -> _Shape:
    return next((shape for shape in _SHAPES if shape.fits(value)), _OWN)


def _schema_of(found: Interrupt) -> Any:
    # Up to langgraph 1.1 interrupts have none.
    return getattr(found, "response_schema", None)


def _member(told: Mapping[str, Any], *names: str) -> Any:
    return next((told[name] for name in names if told.get(name) is not None), None)


def _told_of(call: ToolCall) -> dict[str, Json]:
    return {"toolName": call.name, "args": _plain(call.args)}


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, fallback=str)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
