"""What each route is for, takes and answers: AG-UI's part of the table of operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from agui_bridge.http.agui.interrupt_operations import (
    CALL,
    CHANGED,
    CREATED,
    INTERRUPT,
    INTERRUPT_OPERATIONS,
    OF_A_THREAD,
    REF,
    limit,
)
from agui_bridge.http.operation import OF_A_BODY, OF_AN_AGENT, OPENS_STORE, Operation
from agui_bridge.protocol.dialects import DialectChoice
from agui_bridge.protocol.wire.refusals import RefusalChoice
from agui_bridge.shapes.readable_schema import OF_IDS

__all__ = ["AGUI_OPERATIONS", "PATH_PARAMETERS", "REFUSALS", "VERSION"]

Json = dict[str, Any]


_BEFORE: Final[Json] = {
    "name": "before",
    "in": "query",
    "description": "Only threads that were last changed before this time, in seconds since the "
    "epoch.",
    "schema": {"type": "number", "minimum": 0, "exclusiveMaximum": 1e12},
    "example": 1767225600.5,
}

_EARLIER: Final[Json] = {
    "name": "before",
    "in": "query",
    "description": "What `earlier` of an answer says: the messages archived before those.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,19}$"},
    "example": "120001",
}

_DIALECT: Final[Json] = {
    "name": "dialect",
    "in": "query",
    "description": "How pauses look on the wire and are answered; by default what the header "
    "AG-UI-Dialect names, else the agent's setting.",
    "schema": {"type": "string", "enum": list(get_args(DialectChoice))},
}

VERSION: Final[Json] = {
    "name": "protocolVersion",
    "in": "query",
    "description": "The client's version, where the input declares none: of AG-UI, or 0.0.N of "
    "@ag-ui/client. By default what the header AG-UI-Protocol-Version says.",
    "schema": {"type": "string", "examples": ["0.0.42"]},
}

REFUSALS: Final[Json] = {
    "name": "refusals",
    "in": "query",
    "description": "How an input is refused while a question is open: the question, then "
    "RUN_ERROR; or the question, saying why. By default what the header AG-UI-Refusals says, else "
    "`forwardedProps.refusals`, else the agent's setting.",
    "schema": {"type": "string", "enum": list(get_args(RefusalChoice))},
}

PATH_PARAMETERS: Final[Mapping[str, Json]] = {
    "agent": {
        "name": "agent",
        "in": "path",
        "required": True,
        "description": "The agent's name, of those that GET /agents lists.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._~-]+$"},
        "example": "ops",
    },
    "thread": {
        "name": "thread",
        "in": "path",
        "required": True,
        "description": "The thread's id, percent-encoded.",
        "schema": {"type": "string", "minLength": 1, **OF_IDS},
        "example": "thread-1",
    },
    "ref": {
        "name": "ref",
        "in": "path",
        "required": True,
        "description": "The question's reference, as the lists of questions give it.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]+$"},
        "example": REF,
    },
}

_STOP_BODY: Final[Json] = {
    "type": "object",
    "title": "Stop options",
    "description": "How to stop; nothing is a graceful stop.",
    "properties": {
        "force": {
            "type": "boolean",
            "title": "Force",
            "description": "Cancel at once instead of letting a tool that runs finish.",
            "default": False,
        },
        "timeout": {
            "type": "number",
            "title": "Timeout",
            "description": "Seconds that a graceful stop may take; by default the agent's setting.",
            "minimum": 0,
            "maximum": 600,
        },
    },
    "examples": [{"force": True}, {"timeout": 5}],
}

_SESSION_STOP_BODY: Final[Json] = {
    "type": "object",
    "title": "Session stop",
    "description": "Which session to stop, and how.",
    "required": ["session_id"],
    "properties": {
        "session_id": {
            "type": "string",
            "title": "Session",
            "description": "The thread's id.",
            "minLength": 1,
            **OF_IDS,
        },
        "user_id": {
            "type": ["string", "null"],
            "title": "User",
            "description": "Whose session; another user's than the caller's is an unknown one. "
            "NexAU's own default, default-user, is the caller, as null is.",
            **OF_IDS,
        },
        "agent_id": {
            "type": ["string", "null"],
            "title": "Agent",
            "description": "The agent's name; null is every agent of the session.",
            **OF_IDS,
        },
        **_STOP_BODY["properties"],
    },
    "examples": [{"session_id": "thread-1", "force": True}],
}

_USER_MESSAGE: Final[Json] = {"id": "m1", "role": "user", "content": "Clean up the users."}
_CUT_OFF: Final[Json] = {
    "id": "m2",
    "role": "assistant",
    "content": "Counting the r",
    "metadata": {"agui_bridge": {"truncated": True}},
}
_IDS: Final[Json] = {"threadId": "thread-1", "runId": "run-1"}
_STREAM: Final = [
    {"type": "RUN_STARTED", **_IDS, "protocolVersion": "1.0"},
    {"type": "STATE_SNAPSHOT", "snapshot": {}},
    {"type": "MESSAGES_SNAPSHOT", "messages": [_USER_MESSAGE]},
    {"type": "RUN_FINISHED", **_IDS, "outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}},
]

AGUI_OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", "/agents"): Operation(
        "listAgents",
        "Agents",
        "List the agents",
        answer="Agents",
        example={"agents": [{"name": "ops", "description": "Deletes rows, once approved."}]},
        codes=("INTERNAL_ERROR",),
    ),
    ("POST", "/agents/{agent}"): Operation(
        "runAgent",
        "Agents",
        "Run an agent, or answer what it asked",
        "Starts a run, or goes on with a paused one when the body has `resume`. What is wrong "
        "with an answer, or fails once the stream has begun, is a RUN_ERROR event in it. A "
        "thread's id may not end in `/connect`, `/stop` or `/interrupts`, which are paths below a "
        "thread's.",
        answer="Events",
        example=_STREAM,
        body="RunInput",
        query=(_DIALECT, REFUSALS, VERSION),
        codes=(
            *OF_AN_AGENT,
            *OF_A_BODY,
            "UNSUPPORTED_VERSION",
            "TOO_MANY_RUNS",
            "SHUTTING_DOWN",
            *OPENS_STORE,
        ),
    ),
    ("GET", "/agents/{agent}/capabilities"): Operation(
        "getCapabilities",
        "Agents",
        "Tell what an agent can do",
        answer="Capabilities",
        codes=(*OF_AN_AGENT, "INTERNAL_ERROR"),
    ),
    ("GET", "/agents/{agent}/threads"): Operation(
        "listThreads",
        "Threads",
        "List an agent's threads, last touched first",
        answer="Threads",
        query=(limit(50, 500), _BEFORE),
        codes=(*OF_AN_AGENT, "INVALID_INPUT", *OPENS_STORE),
    ),
    **INTERRUPT_OPERATIONS,
    ("POST", "/agents/{agent}/threads/{thread}/stop"): Operation(
        "stopThread",
        "Threads",
        "Stop what a thread does, and lose nothing",
        "Answers once the run is over, or the time is. On a thread that waits for answers it "
        "withdraws the questions, as only those may who asked or may answer.",
        answer="Stop",
        example={
            "status": "success",
            "stopReason": "USER_INTERRUPTED",
            "messageCount": 2,
            "messages": [_USER_MESSAGE, _CUT_OFF],
            "interruptedAtIteration": None,
            "partialResponse": _CUT_OFF["content"],
            "error": None,
        },
        body=_STOP_BODY,
        body_required=False,
        codes=(*OF_A_BODY, *OF_A_THREAD, "NOT_AN_APPROVER", "TOO_MANY_RUNS"),
    ),
    ("POST", "/agents/{agent}/threads/{thread}/connect"): Operation(
        "connectThread",
        "Threads",
        "Show a thread, and follow what runs on it to its end",
        "For a client that comes back. The conversation, the state, the events of a run that goes "
        "on, the open questions; nothing is begun. Of the body only the ids count, and `threadId` "
        "is the path's.",
        answer="Events",
        example=_STREAM,
        body="RunInput",
        query=(_DIALECT, VERSION),
        codes=(*OF_A_BODY, *OF_A_THREAD, "UNSUPPORTED_VERSION", "TOO_MANY_RUNS"),
    ),
    ("GET", "/agents/{agent}/threads/{thread}/connect"): Operation(
        "watchThread",
        "Threads",
        "Show a thread, and follow what runs on it to its end, without a body",
        "The same for curl and EventSource, in the shapes of AG-UI 1.0 if no other "
        "version is declared. EventSource connects again when a stream has ended: close it at "
        "RUN_FINISHED or RUN_ERROR.",
        answer="Events",
        example=_STREAM,
        query=(_DIALECT, VERSION),
        codes=(*OF_A_THREAD, "UNSUPPORTED_VERSION", "TOO_MANY_RUNS"),
    ),
    ("GET", "/agents/{agent}/threads/{thread}"): Operation(
        "getThread",
        "Threads",
        "Show a thread: messages, state, open questions",
        "Of a thread that is at its size, the oldest messages are archived: `earlier` says where "
        "they are, page by page, the newest of them first.",
        answer="Thread",
        example={
            "threadId": "thread-1",
            "agent": "ops",
            "status": "interrupted",
            "messages": [_USER_MESSAGE],
            "earlier": None,
            "state": {},
            "interrupts": [{**INTERRUPT, "toolCall": CALL}],
            "pendingToolCallIds": [],
            "result": None,
            "createdAt": CREATED,
            "updatedAt": CHANGED,
        },
        query=(_EARLIER,),
        codes=OF_A_THREAD,
    ),
    ("DELETE", "/agents/{agent}/threads/{thread}"): Operation(
        "deleteThread",
        "Threads",
        "Delete a thread for good",
        "What it runs is stopped first. Questions that wait are withdrawn, as by a stop.",
        codes=(*OF_A_THREAD, "NOT_AN_APPROVER", "TOO_MANY_RUNS"),
    ),
    ("POST", "/stop"): Operation(
        "stopSession",
        "Threads",
        "Stop a session, as NexAU's clients do",
        "For clients that know a session and no agent. Look at `status`: an unknown session, and "
        "one that waits for others' answers, is an error with HTTP status 200.",
        answer="SessionStop",
        example={
            "status": "success",
            "stop_reason": "USER_INTERRUPTED",
            "message_count": 2,
            "error": None,
        },
        body=_SESSION_STOP_BODY,
        codes=(*OF_A_BODY, "TOO_MANY_RUNS", *OPENS_STORE),
    ),
}
"""By method and path."""
