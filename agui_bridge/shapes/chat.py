"""The chat API: bodies, states and frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.shapes.readable_schema import OF_IDS, Schema, code_schema, document


def _object(title: str, description: str, optional: tuple[str, ...] = (), **of: Any) -> Schema:
    return {
        "type": "object",
        "title": title,
        "description": description,
        "required": [name for name in of if name not in optional],
        "properties": {
            name: {"title": name.replace("_", " ").capitalize(), **part}
            for name, part in of.items()
        },
        "additionalProperties": False,
    }


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


_AGENT: Final = _text("Name of the agent.", minLength=1)
_SESSION: Final = _text("The session: the AG-UI thread of the same id.", minLength=1, **OF_IDS)
_TIMESTAMP: Final = {"type": "integer", "description": "Unix time in seconds."}
_REASON: Final = _text("The question, as it was asked; of a tool call its name and arguments too.")

_FIELD: Final = _object(
    "InputField",
    "One field of the form that answers a question.",
    ("options",),
    name=_text("The key of its value in `input`."),
    type={
        "type": "string",
        "enum": ["text", "confirm", "select"],
        "description": "A string, a boolean, an option.",
    },
    label=_text("What people read; empty when there is none."),
    required={"type": "boolean", "description": "Whether it must be filled in."},
    options={
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "description": "What a select offers; others have none.",
    },
)
_FIELDS: Final = {"type": "array", "items": _FIELD, "description": "The form."}

_STATE: Final = _object(
    "InterruptState",
    "A pending question.",
    session_id=_SESSION,
    agent_name=_AGENT,
    reason=_REASON,
    fields=_FIELDS,
    timestamp={**_TIMESTAMP, "description": "When it was asked: Unix time in seconds."},
    checkpoint_id=_text("Names the question: agent, session, and time in nanoseconds."),
)

MESSAGE: Final[Schema] = {
    **_object(
        "Chat message",
        "A message to an agent.",
        agent_id=_AGENT,
        session_id=_SESSION,
        message=_text("What the user says.", minLength=1),
    ),
    "additionalProperties": True,
    "examples": [{"agent_id": "ops", "session_id": "session-1", "message": "Clean up the users."}],
}

ANSWER: Final[Schema] = {
    **_object(
        "Chat answer",
        "The answer to a pending question.",
        ("checkpoint_id",),
        agent_id=_AGENT,
        session_id=_SESSION,
        checkpoint_id=_text("Which question it answers; without it the first one.", minLength=1),
        input={"type": "object", "description": "A value for each field, by its name."},
    ),
    "additionalProperties": True,
    "examples": [{"agent_id": "ops", "session_id": "session-1", "input": {"confirm": True}}],
}


def _frame(kind: str, description: str, data: Schema) -> Schema:
    name = {"const": kind, "description": "The name of the event."}
    return _object(f"Chat {kind} frame", description, type=name, timestamp=_TIMESTAMP, data=data)


FRAMES: Final[Mapping[str, Schema]] = {
    "text": _frame(
        "text",
        "A piece of text.",
        _object(
            "Chat text",
            "What the agent says.",
            content=_text("All text of this stream so far."),
            delta=_text("What is new.", minLength=1),
        ),
    ),
    "interrupt": _frame(
        "interrupt",
        "A question; the stream ends here.",
        _object("Chat interrupt", "What is asked.", reason=_REASON, fields=_FIELDS),
    ),
    "error": _frame(
        "error",
        "The run failed. An `interrupt` that follows is still open.",
        _object(
            "Chat error",
            "What happened.",
            code={**code_schema(stream=True), "description": "A stable code."},
            message=_text("What happened, for people."),
        ),
    ),
    "done": _frame(
        "done",
        "The end of a stream that asks nothing and did not fail.",
        _object(
            "Chat done",
            "Empty, unless the run was stopped.",
            ("stop_reason",),
            stop_reason={"const": "USER_INTERRUPTED", "description": "The run was stopped."},
        ),
    ),
}
"""The A2UI frames, by the name of their event."""


def chat_frame() -> Schema:
    """A frame of an A2UI stream."""
    return document(
        "chat-frame",
        "Chat frame",
        "The data of a frame of the chat API with `X-A2UI: true`; `type` is the event's name too.",
        {"oneOf": list(FRAMES.values())},
    )


def chat_state() -> Schema:
    """What `interrupt_state` answers."""
    result = {"description": "What the newest run gave besides text; absent if it gave nothing."}
    interrupted = {"const": True, "description": "A question is pending."}
    not_interrupted = {"const": False, "description": "No question is pending."}
    return document(
        "chat-state",
        "Chat state",
        "Whether a session of the chat API waits for an answer, and to what.",
        {
            "oneOf": [
                _object(
                    "Interrupted",
                    "A question is pending.",
                    ("result",),
                    interrupted=interrupted,
                    state=_STATE,
                    result=result,
                ),
                _object(
                    "Not interrupted",
                    "None is.",
                    ("result",),
                    interrupted=not_interrupted,
                    result=result,
                ),
            ]
        },
    )
