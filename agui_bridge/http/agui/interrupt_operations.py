"""What each route about questions is for, takes and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.http.operation import OF_A_BODY, OF_AN_AGENT, OPENS_STORE, Operation
from agui_bridge.protocol.threads.records import InterruptStatus

__all__ = [
    "CALL",
    "CHANGED",
    "CREATED",
    "INTERRUPT",
    "INTERRUPT_OPERATIONS",
    "OF_A_THREAD",
    "REF",
    "limit",
]

Json = dict[str, Any]

OF_A_THREAD: Final = (*OF_AN_AGENT, "THREAD_NOT_FOUND", "INVALID_INPUT", *OPENS_STORE)
_OF_A_QUESTION: Final = (
    "INVALID_REFERENCE",
    "REFERENCE_EXPIRED",
    "INTERRUPT_NOT_FOUND",
    "NOT_FOUND",
)

REF: Final = "WyJkZWZhdWx0Iiwib3BzIiwidGhyZWFkLTEiLCJrcTJuUTd4VlkwdUIxbTVjVDlzUmZnIl0"
CREATED, CHANGED = "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:02.250Z"


def limit(default: int, most: int) -> Json:
    """The parameter that says how many rows are wanted."""
    return {
        "name": "limit",
        "in": "query",
        "description": "How many at most.",
        "schema": {"type": "integer", "minimum": 1, "maximum": most, "default": default},
    }


_STATUS: Final[Json] = {
    "name": "status",
    "in": "query",
    "description": "Only interrupts of this status.",
    "schema": {"type": "string", "enum": [status.value for status in InterruptStatus]},
}


def _text(name: str, description: str) -> Json:
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
_WAIT: Final[Json] = {
    "name": "wait",
    "in": "query",
    "description": "Seconds to wait for the end of the run that the answer sets off; when they "
    "are over, the status is `claimed`.",
    "schema": {"type": "number", "minimum": 0, "maximum": 300, "default": 30},
}
_ANSWER_BODY: Final[Json] = {
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

CALL: Final[Json] = {
    "id": "call-1",
    "name": "delete_rows",
    "args": {"table": "users", "limit": 1234},
}
INTERRUPT: Final[Json] = {
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
AUDITED: Final[Json] = {
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
