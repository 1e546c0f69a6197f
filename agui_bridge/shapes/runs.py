"""The shapes of a run: its input, its events, its interrupts and their answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, get_args

from ag_ui.core import Event, Interrupt, Message, ResumeEntry, RunAgentInput
from pydantic import TypeAdapter

from agui_bridge.protocol.answers.decisions import CONFIRM_SCHEMA, DECLINE_SCHEMA, approval_schema
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.protocol.dialects import STOP_REASON
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES
from agui_bridge.protocol.previews import (
    LONGEST_COMMAND,
    LONGEST_DIFF,
    LONGEST_PATH,
    MOST_PATHS,
)
from agui_bridge.protocol.versions import NEWEST, SPOKEN
from agui_bridge.protocol.wire.run_events import RefusalChoice
from agui_bridge.shapes.readable_schema import (
    OF_IDS,
    REF,
    Schema,
    code_schema,
    document,
    schema_of,
    title_of,
    within,
)

VERSION_PATTERN: Final = r"^(0\.|1\.[0-9]{1,6}$|(?![0-9]{1,6}\.[0-9]{1,6}$))"
"""What is no other major version; what can't be read counts as the newest."""


_DRAFT_ANSWER: Final[Schema] = {
    "type": "object",
    "title": "Answer of the draft",
    "description": "The answer to one interrupt, as clients of the draft send it; they need no "
    "messages beside it.",
    "properties": {
        "interruptId": {
            "type": ["string", "null"],
            "title": "Interrupt",
            "description": "The interrupt's id; without it the answer is refused.",
            **OF_IDS,
        },
        "payload": {"title": "Payload", "description": "The answer, any JSON value."},
        "status": {
            "title": "Status",
            "description": "The draft has none: what is sent is an answer, unless it says this.",
            "enum": ["resolved", "cancelled"],
            "default": "resolved",
        },
    },
    # With none of them it is no answer of the draft, but something else under its name.
    "anyOf": [{"required": [name]} for name in ("interruptId", "payload", "status")],
}


@cache
def from_clients() -> frozenset[str]:
    """Definitions of what clients write, messages and tools; the bridge keeps them as written."""
    return frozenset({*TypeAdapter(Message).json_schema()["$defs"], "Tool"})


def run_input() -> Schema:
    """What `POST /agents/{agent}` takes: AG-UI's RunAgentInput within the bridge's limits."""
    schema = schema_of(RunAgentInput, nullable="*")
    properties = schema["properties"]
    for name in ("threadId", "runId"):
        properties[name] |= {"minLength": 1, **OF_IDS}
    properties["parentRunId"] |= OF_IDS
    properties["protocolVersion"]["anyOf"][0]["pattern"] = VERSION_PATTERN
    properties["forwardedProps"] |= {
        "description": "Values of the application, passed on to the agent as they are. Any JSON "
        "value; `autoResume`, `refusals` and `agui_bridge` of an object are the bridge's.",
        "properties": {
            "refusals": {
                "title": "Refusals",
                "description": "How an input is refused while a question is open.",
                "enum": [*get_args(RefusalChoice), None],
            },
            "agui_bridge": {
                "title": "Bridge",
                "description": "What the bridge alone reads.",
                "properties": {
                    "newest": {
                        "title": "Newest",
                        "description": "Sent with an edit, or when another answer is wanted: id of "
                        "the newest user's or assistant's message that the page had before.",
                        "type": ["string", "null"],
                    }
                },
            },
        },
    }
    entries = properties["resume"]
    properties["resume"] = {"anyOf": [entries, _DRAFT_ANSWER]} | {
        key: entries.pop(key) for key in ("title", "description") if key in entries
    }
    schema["required"].remove("messages")
    schema["anyOf"] = [
        {"required": ["messages"]},
        {"required": ["resume"], "properties": {"resume": {"type": "object"}}},
    ]
    schema["examples"] = [
        {
            "threadId": "thread-1",
            "runId": "run-1",
            "protocolVersion": NEWEST,
            "messages": [{"id": "m1", "role": "user", "content": "Clean up the users."}],
        },
        {
            "threadId": "thread-1",
            "runId": "run-2",
            "protocolVersion": NEWEST,
            "messages": [],
            "resume": [
                {
                    "interruptId": "kq2nQ7xVY0uB1m5cT9sRfg",
                    "status": "resolved",
                    "payload": {"approved": True},
                }
            ],
        },
    ]
    return document(
        "run-input",
        "Run input",
        "The body of POST /agents/{agent}: AG-UI's RunAgentInput. `resume` answers every open "
        "interrupt of the thread, each by its id. Unknown members are ignored. Strings hold no "
        "NUL and no lone surrogate, and numbers are finite. How much it may hold, and how deep it "
        "may nest, is the server's own setting.",
        schema,
    )


def resume() -> Schema:
    """The `resume` of a run's input."""
    entry = schema_of(ResumeEntry, nullable="*")
    entry["properties"]["payload"]["description"] = (
        "The answer, which satisfies the interrupt's responseSchema. Absent is the same as null."
    )
    return document(
        "resume",
        "Resume",
        "The `resume` member of a run's input: one entry for each open interrupt of the thread. "
        "A repetition of the same entries replays the outcome and executes nothing.",
        {
            "type": "array",
            "items": {"$ref": REF + "ResumeEntry"},
            "$defs": {"ResumeEntry": entry},
        },
    )


def interrupt() -> Schema:
    """An interrupt as a run's outcome carries it."""
    return document(
        "interrupt",
        "Interrupt",
        "A question to a person, as RUN_FINISHED carries it. It is answered by its id, with a "
        "payload that satisfies its responseSchema. Clients from before 1.0 are told no "
        "expiresAt.",
        schema_of(Interrupt),
    )


def preview() -> Schema:
    """What the call of an approval would do, as its interrupt carries it."""
    cut = {
        "type": "boolean",
        "title": "Cut",
        "description": "Whether it lacks its end. Nobody can approve the call then.",
    }
    path: Schema = {"type": "string", "minLength": 1, "maxLength": LONGEST_PATH}
    diff: dict[str, Schema] = {
        "paths": {
            "type": "array",
            "title": "Paths",
            "description": "Of the files, as the person knows them.",
            "items": path,
            "minItems": 1,
            "maxItems": MOST_PATHS,
        },
        "diff": {
            "type": "string",
            "title": "Diff",
            "description": "A unified diff; empty where nothing would change.",
            "maxLength": LONGEST_DIFF,
        },
    }
    command: dict[str, Schema] = {
        "command": {
            "type": "string",
            "title": "Command",
            "description": "As a person would type it, perhaps on several lines.",
            "minLength": 1,
            "maxLength": LONGEST_COMMAND,
        },
        "folder": {**path, "title": "Folder", "description": "Where it would run."},
    }
    return document(
        "preview",
        "Preview",
        "What the call of an approval would do: `metadata.agui_bridge.preview` of its interrupt. "
        "It is shown beside the call's arguments, and never for them. Its texts are the agent's: "
        "mark what hides in them, and offer no approval where not all of it is shown.",
        {"oneOf": [_kind("diff", {**diff, "cut": cut}), _kind("command", {**command, "cut": cut})]},
    )


def _kind(name: str, members: dict[str, Schema]) -> Schema:
    told = {"const": name, "title": "Type", "description": "Which kind this is."}
    return {
        "type": "object",
        "title": name.title(),
        "description": f"A {name}.",
        "required": ["type", *members],
        "properties": {"type": told, **members},
    }


def events() -> Schema:
    """Every event that the bridge puts on the wire, to clients of any version."""
    made = schema_of(Event, nullable=from_clients())
    defs = made["$defs"]
    by_type = {
        defs[name]["properties"]["type"]["const"]: name
        for name in (choice["$ref"].removeprefix(REF) for choice in made["oneOf"])
    }
    # The lifecycle turns chunks into START, CONTENT and END.
    sent = {kind: name for kind, name in by_type.items() if EVENT_RULES[kind].verb != "chunk"}
    _frame(defs)
    return document(
        "events",
        "Events",
        "One event of a run's stream, chosen by `type`: the `data` of one server-sent event. A "
        "stream is RUN_STARTED, then events, then RUN_FINISHED or RUN_ERROR; a refusal restates "
        "the thread's outcome in RUN_FINISHED and then says why in RUN_ERROR. In the dialects "
        "draft and langgraph pauses have other shapes: see docs/dialects.md.",
        {
            "type": "object",
            "required": ["type"],
            "properties": {
                "type": {
                    "title": "Type",
                    "description": "Which event this is.",
                    "enum": sorted(sent),
                }
            },
            "oneOf": [{"$ref": REF + name} for name in sent.values()],
            "$defs": _reachable(defs, sent.values()),
        },
    )


def _frame(defs: dict[str, Schema]) -> None:
    """The engine's own events say more than AG-UI demands, or leave out what they never say."""
    started, finished, error = (
        defs[name] for name in ("RunStartedEvent", "RunFinishedEvent", "RunErrorEvent")
    )
    for name in ("input", "parentRunId"):
        del started["properties"][name]
    started["properties"]["protocolVersion"] |= {
        "enum": [*SPOKEN],
        "description": "The version that the stream is spoken in, never an echo of the client's.",
    }
    started["required"] = [*started["required"], "protocolVersion"]
    error["properties"]["code"] = {
        **code_schema(stream=True),
        "title": "Code",
        "description": "A stable code, by which a program can tell what happened.",
    }
    error["required"] = [*error["required"], "code"]
    finished["description"] += (
        " Clients from before 1.0 get no outcome for a run that was stopped, but a result that "
        "says so, no pendingToolCallIds and no expiresAt."
    )
    outcome = finished["properties"]["outcome"]
    finished["properties"]["outcome"] = {
        "anyOf": [dict(outcome), {"enum": ["success", "interrupt"]}],
        "title": "Outcome",
        "description": "Why the run ended; a word in the dialect of the draft.",
    }
    finished["properties"]["interrupt"] = _DRAFT_INTERRUPT
    finished["anyOf"] = [{"required": ["outcome"]}, _stopped_before_one(), _PAUSE_OF_LANGGRAPH]


_DRAFT_INTERRUPT: Final[Schema] = {
    "type": "object",
    "title": "Interrupt of the draft",
    "description": "What is asked, in the dialect of the draft.",
    "required": ["id", "reason", "payload"],
    "properties": {
        "id": {"type": "string", "title": "Id", "description": "By which it is answered."},
        "reason": {"type": "string", "title": "Reason", "description": "Why it is asked."},
        "payload": {
            "type": "object",
            "title": "Payload",
            "description": "For the one who answers: the tool call as `proposal`, the message, "
            "the responseSchema, and what the agent says besides.",
        },
    },
}
_PAUSE_OF_LANGGRAPH: Final[Schema] = {
    "description": "In the dialect langgraph a pause is told by the CUSTOM event before.",
    "not": {"anyOf": [{"required": ["outcome"]}, {"required": ["result"]}]},
}


def _stopped_before_one() -> Schema:
    reason = {"const": STOP_REASON, "title": "Stop reason", "description": "It was stopped."}
    result: dict[str, Any] = {
        "type": "object",
        "title": "Result",
        "description": "What a client from before 1.0 is told of a run that was stopped.",
        "required": ["stopReason"],
        "properties": {"stopReason": reason},
    }
    return {"required": ["result"], "properties": {"result": result}}


def _reachable(defs: dict[str, Schema], names: Iterable[str]) -> dict[str, Schema]:
    found: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            references = (node.get("$ref") for node in within(defs[name]))
            pending += [ref.removeprefix(REF) for ref in references if isinstance(ref, str)]
    return {name: schema for name, schema in defs.items() if name in found}


# --- the payloads of answers: tool approvals, confirmations, and the fields of a form ---

_SAID = {
    "approved": "Whether the tool may run; nothing but true is an approval.",
    "reason": "Why, in the words of who decided; it reaches the agent.",
    "editedArgs": "Arguments in the place of those asked about, whole; they satisfy the tool's "
    "parameter schema. Only where the interrupt's responseSchema has it.",
    "respond": "A text in place of the tool's result, which is then not executed; `approved` is "
    "false. Only where the interrupt's responseSchema has it.",
    "confirm": "Whether to go on.",
    "declined": "Says that the person would not answer. Only where the interrupt's responseSchema "
    "has it, beside the answer.",
}
_FIELD = {
    "name": "The key of its value in the payload.",
    "type": "text (a string), confirm (a boolean) or select (one of options).",
    "label": "What people read; empty when there is none.",
    "required": "Whether it must be filled in.",
    "options": "What a select offers.",
}


def decisions() -> Schema:
    """What `payload` may be for each kind of question the bridge itself makes a schema for."""
    shape = _described(schema_of(FormField), _FIELD)
    for value in shape["properties"].values():
        value.pop("default", None)
    shape["properties"]["options"]["minItems"] = 1
    field = {
        "title": "Form field",
        "description": "One field of a form, as interfaces that know no JSON Schema show it.",
        "type": "object",
        "required": [name for name in shape["properties"] if name != "options"],
        "properties": shape["properties"],
        "if": {"properties": {"type": {"const": "select"}}},
        "then": {"required": ["options"]},
        "else": {"not": {"required": ["options"]}},
    }
    approval = {
        "title": "Tool approval",
        "description": "The payload that answers whether a tool call may run. Unknown members "
        "reach the agent.",
        **_described(approval_schema(None, editable=True, respond=True), _SAID),
    }
    confirmation = {
        "title": "Confirmation",
        "description": "The payload that answers a plain confirmation.",
        **_described(CONFIRM_SCHEMA, _SAID),
    }
    decline = {
        "title": "Decline",
        "description": "The payload that declines to answer a question which offers that: its "
        "responseSchema is an anyOf of the answer and of this.",
        **_described(DECLINE_SCHEMA, _SAID),
    }
    return document(
        "decisions",
        "Decisions",
        "Payloads of resume entries for the questions whose schema is the bridge's own, and the "
        "fields of a form. What a question accepts is its responseSchema: that of an approval is "
        "this one with the tool's own parameters as editedArgs.",
        {
            "anyOf": [
                {"$ref": REF + "ToolApproval"},
                {"$ref": REF + "Confirmation"},
                {"$ref": REF + "Decline"},
            ],
            "$defs": {
                "Confirmation": confirmation,
                "Decline": decline,
                "FormField": field,
                "ToolApproval": approval,
            },
        },
    )


def _described(schema: Mapping[str, Any], said: Mapping[str, str]) -> Schema:
    properties = {
        name: {**value, "title": title_of(name), "description": said[name]}
        for name, value in schema["properties"].items()
    }
    return {**schema, "properties": properties}
