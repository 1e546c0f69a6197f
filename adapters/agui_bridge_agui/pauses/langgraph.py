"""LangGraph's interrupts, in the shapes that its users give them, answered by LangGraph's own ids.

`forwardedProps.command.resume = {interrupt id: value}` reaches any number of interrupts at once.
`resume` does not: ag-ui-langgraph makes of several entries a value that no graph understands.

A value may be anything. Known are: AG-UI's own members (`reason`, `toolCallId`, `responseSchema`,
…, in either style); the two shapes of langchain's HumanInTheLoopMiddleware; whatever else is a
question whose answer is handed to the graph as it came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ag_ui.core import Interrupt

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.asks import own_words, with_call
from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    DECLINE,
    EDIT,
    Answer,
    Approve,
    Cancel,
    Decision,
    Decline,
    approval_schema,
)
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_agui.pauses.answers import (
    Answers,
    Asked,
    Ended,
    call_of,
    calls_like,
    parsed,
    payload_of,
    unseen,
)
from agui_bridge_agui.pauses.interrupts import asked_of, keep, question_of

ON_INTERRUPT: Final = "on_interrupt"
"""The name of LangGraph's CUSTOM event."""

COMMAND: Final = "command"
"""The dialect of questions whose ids are not LangGraph's: one alone is answered without any."""

LANGGRAPH: Final = "langgraph"
"""That of questions with LangGraph's own ids."""

_ID: Final = re.compile(r"[0-9a-f]{32}")
"""What LangGraph takes for an id of an interrupt in a map of values."""

_ONLY: Final = "interrupt"
_INTERRUPT: Final = "langgraph:interrupt"
_ITS_ID: Final = ("id", "interruptId", "interrupt_id")
"""Where a value may have the question's id, at servers that tell no other."""

_VALUE, _APPROVAL, _DECISION, _DECISIONS = "value", "approval", "decision", "decisions"
"""What an answer is made into: as it came, or a yes or no of the graph's own; as it came, and a no
where nobody decided; a decision of the middleware's; one in its list."""

_CANCELLED: Final = "__agui_cancelled__"
"""What ag-ui-langgraph gives a graph for an entry of `resume` with the status `cancelled`."""

_ALLOWED: Final = {"approve": APPROVE, "reject": DECLINE, "edit": EDIT}
_MESSAGE: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": ["message"],
    "properties": {"message": {"type": "string"}},
}

_Shaped = tuple[Asked, str]
"""A question, and what its answer is made into."""


def langgraph_pause(ended: Ended) -> Pause | None:
    """The pause of a run that LangGraph interrupted, None if it did not.

    A single interrupt of AG-UI's outcome in AG-UI's own shape is none of this: `resume` answers it.

    Raises:
        UpstreamError: the questions can't be told apart.
    """
    told = _by_id(ended)
    if told:
        whole = len(told) == 1
        if whole and ended.interrupts and not _is_middleware(next(iter(told.values()))[0]):
            return None
        shaped = [found for key in told for found in _shape(key, *told[key], ended)]
        return keep(
            LANGGRAPH,
            [asked for asked, _ in shaped],
            ended,
            kinds={asked.ask.native_id: kind for asked, kind in shaped},
            names={
                asked.ask.native_id: asked.ask.tool_call.name
                for asked, _ in shaped
                if asked.ask.tool_call
            },
        )
    if ended.interrupts or not ended.customs:
        return None
    single = len(ended.customs) == 1
    return keep(COMMAND, [_ask(None, c.value, single, ended)[0] for c in ended.customs], ended)


def command_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers | None:
    """The decisions as LangGraph's `command`; None when it has no words for any of them.

    Args:
        continuation: of the pause.
        decisions: by the native id.
        cancel_with: the value that tells of a cancel. Without one, a graph whose ids are known is
            told by null, another not at all.
    """
    if continuation["dialect"] == COMMAND:
        values = {
            key: cancel_with
            if isinstance(decision, Cancel)
            else payload_of(key, decision, continuation)
            for key, decision in decisions.items()
            if not isinstance(decision, Cancel) or cancel_with is not None
        }
        if not values:
            return None
        single = len(continuation["ids"]) == 1
        return Answers(command={"resume": next(iter(values.values())) if single else values})
    by_id: dict[str, Any] = {}
    for key in continuation["ids"]:
        kind, decision = continuation["kinds"][key], decisions[key]
        own, _, _ = key.partition("/")
        if kind == _DECISION:
            by_id[own] = _decided(decision, continuation["names"].get(key))
        elif kind == _DECISIONS:
            listed = by_id.setdefault(own, {"decisions": []})["decisions"]
            listed.append(_decided(decision, continuation["names"].get(key)))
        elif isinstance(decision, Cancel) and cancel_with is not None:
            by_id[own] = cancel_with
        elif isinstance(decision, Cancel) and kind == _APPROVAL:
            by_id[own] = {"approved": False, _CANCELLED: True, "interrupt_id": own}
        else:
            by_id[own] = payload_of(key, decision, continuation)
    return Answers(command={"resume": by_id})


# --- what is asked --------------------------------------------------------------------------


def _by_id(ended: Ended) -> dict[str, tuple[Json, Json, Interrupt | None]]:
    """Value, schema of the answer, and AG-UI's interrupt, by LangGraph's id; empty if unknown."""
    told: dict[str, tuple[Json, Json, Interrupt | None]] = {}
    schemas: dict[str, Json] = {}
    for custom in ended.customs:
        raw = custom.raw if isinstance(custom.raw, Mapping) else {}
        key = raw.get("id")
        if not isinstance(key, str) or not _ID.fullmatch(key):
            break
        value = raw["value"] if "value" in raw else _value(custom.value)
        schemas[key] = raw.get("response_schema")
        told[key] = (value, schemas[key], None)
    else:
        if not ended.interrupts:
            return told
    told = {}
    for interrupt in ended.interrupts:
        said = (interrupt.metadata or {}).get("langgraph")
        if not isinstance(said, Mapping) or "raw" not in said or not _ID.fullmatch(interrupt.id):
            return {}
        told[interrupt.id] = (said["raw"], schemas.get(interrupt.id), interrupt)
    return told


def _shape(
    key: str, value: Json, schema: Json, interrupt: Interrupt | None, ended: Ended
) -> Iterator[_Shaped]:
    if _is_call(value):
        args, called = value["args"], call_of(value.get("tool_call_id"), ended.calls)
        known = called if called is not None and called.name == value["name"] else None
        yield _gated(key, value, known, _constants(schema), ended, _DECISION, args)
    elif _is_batch(value):
        configs = value.get("review_configs") or ()
        taken: set[str] = set()
        for n, request in enumerate(value["action_requests"]):
            config = configs[n] if n < len(configs) else {}
            like = calls_like(
                request["name"], request["args"], ended.calls, set(ended.unanswered) - taken
            )
            found = like[0] if like else None
            taken |= {found.id} if found is not None else set()
            allowed = set(config.get("allowed_decisions") or ())
            yield _gated(f"{key}/{n}", request, found, allowed, ended, _DECISIONS, request["args"])
    elif interrupt is not None:
        asked = asked_of(interrupt, ended)
        yield asked, _VALUE if asked.verdicts is not None else _APPROVAL
    else:
        yield _ask(key, value, True, ended)


def _gated(
    key: str,
    value: Mapping[str, Any],
    call: ToolCall | None,
    allowed: set[str],
    ended: Ended,
    kind: str,
    args: Json,
) -> _Shaped:
    """A call that the middleware holds back."""
    said = value.get("description")
    message = said if isinstance(said, str) else None
    if isinstance(args, Mapping):
        message = own_words(message, value["name"], args)
    if allowed == {"respond"}:
        shown = {"toolName": value["name"], "args": args}
        about = call.id if call is not None else unseen(key, value["name"], args)
        asked = Ask(key, message=message, about=about, response_schema=_MESSAGE, metadata=shown)
        return Asked(asked), kind
    if call is None:
        asked = Ask(
            key,
            reason="confirmation",
            message=with_call(message, value["name"], args),
            about=unseen(key, value["name"], args),
            permits=True,
            response_schema=approval_schema(None, editable=False),
        )
        return Asked(asked), kind
    parameters = ended.tool_schemas.get(call.name)
    decisions = [ours for theirs, ours in _ALLOWED.items() if theirs in (allowed or _ALLOWED)]
    if parameters is None:
        # Its own schema is not told: unchecked arguments would reach the tool.
        decisions = [decision for decision in decisions if decision != EDIT]
    asked = Ask(
        key,
        reason="tool_call",
        message=message,
        tool_call=call,
        parameters=parameters,
        allowed=decisions,
    )
    return Asked(asked), kind


def _ask(key: str | None, value: Json, single: bool, ended: Ended) -> _Shaped:
    """A value of any other shape; with AG-UI's members it is what they say."""
    value = _value(value)
    said = value if isinstance(value, Mapping) else {"message": value}
    theirs = next((said[k] for k in _ITS_ID if said.get(k)), None)
    # Its id stays with the bridge: clients answer by ours.
    shown = {k: said[k] for k in said if k not in _ITS_ID} if said is value else value
    if key is None and theirs is None and not single:
        raise UpstreamError(
            "The upstream agent asks several questions at once in LangGraph's older way, without "
            "an `id` in each value: their answers could not be told apart."
        )
    named = key or (str(theirs) if theirs is not None else _ONLY)
    message = next((said[k] for k in ("message", "question", "prompt") if said.get(k)), None)
    schema = _member(said, "responseSchema", "response_schema")
    schema = schema if isinstance(schema, Mapping) else None
    reason = _text(_member(said, "reason", "reason"))
    made = Interrupt(
        id=named,
        reason=reason or _INTERRUPT,
        message=message if isinstance(message, str) else json.dumps(shown, ensure_ascii=False),
        tool_call_id=_text(_member(said, "toolCallId", "tool_call_id")),
        response_schema=dict(schema) if schema is not None else None,
        expires_at=_text(_member(said, "expiresAt", "expires_at")),
        metadata={"value": shown},
    )
    # A graph that names no schema may test only whether the value is true.
    asked = asked_of(made, ended) if schema is not None else Asked(question_of(made, ended))
    if asked.ask.tool_call is not None:
        approval = replace(asked.ask, reason="tool_call")
        return replace(asked, ask=approval), _VALUE if asked.verdicts is not None else _APPROVAL
    plain = _INTERRUPT if reason == "tool_call" else made.reason
    return Asked(replace(asked.ask, reason=plain, response_schema=schema)), _VALUE


def _member(said: Mapping[str, Any], *names: str) -> Json:
    return next((said[name] for name in names if said.get(name) is not None), None)


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _value(value: Json) -> Json:
    """A value, of which some servers make JSON text."""
    return parsed(value, value) if isinstance(value, str) else value


def _is_middleware(value: Json) -> bool:
    return _is_call(value) or _is_batch(value)


def _is_call(value: Json) -> bool:
    """The middleware's interrupt for one call (`interrupt_mode="per_call"`)."""
    return isinstance(value, Mapping) and value.get("type") == "tool_approval" and _names(value)


def _is_batch(value: Json) -> bool:
    """Its interrupt for all calls of a turn."""
    requests = value.get("action_requests") if isinstance(value, Mapping) else None
    return (
        isinstance(requests, Sequence) and bool(requests) and all(_names(item) for item in requests)
    )


def _names(value: Json) -> bool:
    """Whether it names a tool and its arguments."""
    return isinstance(value, Mapping) and isinstance(value.get("name"), str) and "args" in value


def _constants(schema: Json) -> set[str]:
    """The decisions that a schema of the middleware's lists, as constants of its variants."""
    if isinstance(schema, Mapping):
        own = {schema["const"]} if isinstance(schema.get("const"), str) else set()
        return own.union(*(_constants(value) for value in schema.values()))
    return set().union(*map(_constants, schema)) if isinstance(schema, list) else set()


# --- what is answered -----------------------------------------------------------------------


def _decided(decision: Decision, name: str | None) -> dict[str, Json]:
    """A decision as the middleware takes it."""
    match decision:
        case Approve(args=args, edited=True):
            return {"type": "edit", "edited_action": {"name": name, "args": dict(args)}}
        case Approve():
            return {"type": "approve"}
        case Answer(payload=Mapping() as payload) if "message" in payload:
            return {"type": "respond", "message": payload["message"]}
        case Answer(payload=Mapping() as payload) if payload.get("approved") is True:
            return {"type": "approve"}
        case Decline(reason=reason) if reason:
            return {"type": "reject", "message": reason}
        case Decline():
            return {"type": "reject"}
    return {"type": "reject", "message": decision.text}
