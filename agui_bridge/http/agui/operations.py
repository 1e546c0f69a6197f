"""What each route is for, takes and answers: AG-UI's part of the table of operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from agui_bridge.http.operation import OF_A_BODY, OF_AN_AGENT, OPENS_STORE, JsonObject, Operation
from agui_bridge.protocol.dialects import DialectChoice
from agui_bridge.protocol.threads.records import InterruptStatus
from agui_bridge.protocol.wire.run_events import RefusalChoice
from agui_bridge.shapes.readable_schema import OF_IDS
from agui_bridge.surfaces.reading import TellChoice

OF_A_THREAD: Final = (*OF_AN_AGENT, "THREAD_NOT_FOUND", "INVALID_INPUT", *OPENS_STORE)
_OF_A_QUESTION: Final = (
    "INVALID_REFERENCE",
    "REFERENCE_EXPIRED",
    "INTERRUPT_NOT_FOUND",
    "NOT_FOUND",
)

REF: Final = "WyJkZWZhdWx0Iiwib3BzIiwidGhyZWFkLTEiLCJrcTJuUTd4VlkwdUIxbTVjVDlzUmZnIl0"
CREATED, CHANGED = "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:02.250Z"


def limit(default: int, most: int) -> JsonObject:
    """The parameter that says how many rows are wanted."""
    return {
        "name": "limit",
        "in": "query",
        "description": "How many at most.",
        "schema": {"type": "integer", "minimum": 1, "maximum": most, "default": default},
    }


_STATUS: Final[JsonObject] = {
    "name": "status",
    "in": "query",
    "description": "Only interrupts of this status.",
    "schema": {"type": "string", "enum": [status.value for status in InterruptStatus]},
}


def _text(name: str, description: str) -> JsonObject:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": {"type": "string"},
    }


_FILTERS: Final = (
    _text("agent", "Only interrupts of this agent."),
    _text("tool", "Only interrupts that ask about a call of this tool."),
    _text("thread", "Only interrupts of threads of this id."),
    {
        "name": "mine",
        "in": "query",
        "description": "Only open interrupts that the caller may still answer or vote on.",
        "schema": {"type": "boolean", "default": False},
    },
    _text("after", "The `cursor` of the page before: what follows it."),
)
_WAIT: Final[JsonObject] = {
    "name": "wait",
    "in": "query",
    "description": "Seconds to wait for the end of the run that the answer sets off; when they "
    "are over, the status is `claimed`.",
    "schema": {"type": "number", "minimum": 0, "maximum": 300, "default": 30},
}
_ANSWER_BODY: Final[JsonObject] = {
    "type": "object",
    "title": "Answer",
    "description": "An answer to one question.",
    "required": ["status"],
    "properties": {
        "status": {
            "type": "string",
            "title": "Status",
            "description": "Whether it is answered, or nobody decides.",
            "enum": ["resolved", "cancelled"],
        },
        "payload": {
            "title": "Payload",
            "description": "The answer, of the shape of the question's responseSchema.",
        },
    },
    "if": {"required": ["status"], "properties": {"status": {"const": "cancelled"}}},
    "then": {"properties": {"payload": {"type": "null"}}},
    "examples": [{"status": "resolved", "payload": {"approved": True}}, {"status": "cancelled"}],
}

CALL: Final[JsonObject] = {
    "id": "call-1",
    "name": "delete_rows",
    "args": {"table": "users", "limit": 1234},
}
INTERRUPT: Final[JsonObject] = {
    "id": "kq2nQ7xVY0uB1m5cT9sRfg",
    "reason": "tool_call",
    "message": "Delete 1234 rows of users?",
    "toolCallId": CALL["id"],
    "responseSchema": {
        "type": "object",
        "required": ["approved"],
        "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    },
}
AUDITED: Final[JsonObject] = {
    **INTERRUPT,
    "toolCall": CALL,
    "ref": REF,
    "agent": "ops",
    "threadId": "thread-1",
    "status": "resolved",
    "askedBy": "bob",
    "approval": None,
    "mayAnswer": False,
    "why": {
        "code": "INTERRUPT_ALREADY_ANSWERED",
        "message": "It is decided already: resolved, by ann (via api).",
    },
    "answer": {"status": "resolved", "payload": {"approved": True}},
    "history": [
        {"status": "open", "at": CREATED, "actor": "agent"},
        {"status": "claimed", "at": CHANGED, "actor": "ann", "via": "api"},
        {"status": "resolved", "at": CHANGED, "actor": "ann"},
    ],
}


INTERRUPT_OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", "/agents/{agent}/threads/{thread}/interrupts"): Operation(
        "listThreadInterrupts",
        "Interrupts",
        "List what a thread asked, and who answered what",
        answer="Interrupts",
        example={"interrupts": [AUDITED]},
        query=(_STATUS, limit(1000, 1000)),
        codes=OF_A_THREAD,
    ),
    ("GET", "/interrupts"): Operation(
        "listInterrupts",
        "Interrupts",
        "List the interrupts of every agent and thread",
        "Those of the caller's scope, and of the scopes that it reviews, oldest first.",
        answer="Questions",
        example={"interrupts": [AUDITED], "cursor": None, "count": 1},
        query=(_STATUS, *_FILTERS, limit(200, 1000)),
        codes=("INVALID_INPUT", *OPENS_STORE),
    ),
    ("GET", "/interrupts/{ref}"): Operation(
        "getInterrupt",
        "Interrupts",
        "Show one question",
        answer="Question",
        example=AUDITED,
        codes=(*_OF_A_QUESTION, *OPENS_STORE),
    ),
    ("POST", "/interrupts/{ref}/answer"): Operation(
        "answerInterrupt",
        "Interrupts",
        "Answer one question, whatever else its thread asks",
        "The answer that completes a pause resumes it. Look at `status`: an answer that is refused "
        "has HTTP status 200. An identical answer has the same outcome again; another one is "
        "refused, and told who decided.",
        answer="AnswerTaken",
        example={"status": "resolved", "interrupt": AUDITED},
        query=(_WAIT,),
        body=_ANSWER_BODY,
        codes=(
            *_OF_A_QUESTION,
            "AGENT_NOT_FOUND",
            *OF_A_BODY,
            "TOO_MANY_RUNS",
            "SHUTTING_DOWN",
            *OPENS_STORE,
        ),
    ),
}
"""By method and path."""


_BEFORE: Final[JsonObject] = {
    "name": "before",
    "in": "query",
    "description": "Only threads that were last changed before this time, in seconds since the "
    "epoch.",
    "schema": {"type": "number", "minimum": 0, "exclusiveMaximum": 1e12},
    "example": 1767225600.5,
}

_EARLIER: Final[JsonObject] = {
    "name": "before",
    "in": "query",
    "description": "What `earlier` of an answer says: the messages archived before those.",
    "schema": {"type": "string", "pattern": "^[0-9]{1,19}$"},
    "example": "120001",
}

_DIALECT: Final[JsonObject] = {
    "name": "dialect",
    "in": "query",
    "description": "How pauses look on the wire and are answered; by default what the header "
    "AG-UI-Dialect names, else the agent's setting.",
    "schema": {"type": "string", "enum": list(get_args(DialectChoice))},
}

VERSION: Final[JsonObject] = {
    "name": "protocolVersion",
    "in": "query",
    "description": "The client's version, where the input declares none: of AG-UI, or 0.0.N of "
    "@ag-ui/client. By default what the header AG-UI-Protocol-Version says.",
    "schema": {"type": "string", "examples": ["0.0.42"]},
}

REFUSALS: Final[JsonObject] = {
    "name": "refusals",
    "in": "query",
    "description": "How an input is refused while a question is open: the question, then "
    "RUN_ERROR; or the question, saying why. By default what the header AG-UI-Refusals says, else "
    "`forwardedProps.refusals`, else the agent's setting.",
    "schema": {"type": "string", "enum": list(get_args(RefusalChoice))},
}

_TELL: Final[JsonObject] = {
    "name": "tell",
    "in": "query",
    "description": "`calls`: the message of each question says first what an approval would let "
    "run: the tool, all arguments, and the asker, as text in which nothing hides. An answer with a "
    "number of 2^53 or more, which browsers round, is refused.",
    "schema": {"type": "string", "enum": list(get_args(TellChoice))},
}

PATH_PARAMETERS: Final[Mapping[str, JsonObject]] = {
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

_STOP_BODY: Final[JsonObject] = {
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

_SESSION_STOP_BODY: Final[JsonObject] = {
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

_USER_MESSAGE: Final[JsonObject] = {"id": "m1", "role": "user", "content": "Clean up the users."}
_CUT_OFF: Final[JsonObject] = {
    "id": "m2",
    "role": "assistant",
    "content": "Counting the r",
    "metadata": {"agui_bridge": {"truncated": True}},
}
_IDS: Final[JsonObject] = {"threadId": "thread-1", "runId": "run-1"}
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
        query=(_DIALECT, REFUSALS, _TELL, VERSION),
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
