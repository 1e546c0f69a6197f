"""What the routes of the chat API are for, take and answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.http.chat.refusal_statuses import STATUSES
from agui_bridge.http.operation import OF_A_BODY, OF_AN_AGENT, OPENS_STORE, Operation
from agui_bridge.shapes import chat
from agui_bridge.shapes.readable_schema import OF_IDS

__all__ = ["CHAT_OPERATIONS"]

Json = dict[str, Any]

_A2UI: Final[Json] = {
    "name": "X-A2UI",
    "in": "header",
    "description": "`true` for frames of JSON, else tokens of text.",
    "schema": {"type": "string"},
    "example": "true",
}

_IDEMPOTENCY: Final[Json] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Names the message: with the same key it is carried out once in its session.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "example": "8e03978e-40d5-43dd-bc93-6894a57f9324",
}


def _of_chat(name: str, description: str, example: str) -> Json:
    return {
        "name": name,
        "in": "query",
        "required": True,
        "description": description,
        "schema": {"type": "string", "minLength": 1, **OF_IDS},
        "example": example,
    }


_CHAT_RUN: Final = (*OF_AN_AGENT, *OF_A_BODY, "RUN_IN_PROGRESS", "TOO_MANY_RUNS", "SHUTTING_DOWN")

CHAT_OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/api/v1/chat/stream"): Operation(
        "streamChat",
        "Chat",
        "Send a message to an agent, in SuperAgent's way",
        "On a session with a pending question nothing is sent: the question is repeated, unless "
        "`auto_resume` is on and the message answers it.",
        answer="ChatFrame",
        query=(_A2UI, _IDEMPOTENCY),
        body=chat.MESSAGE,
        codes=(*_CHAT_RUN, *OPENS_STORE),
        statuses=STATUSES,
    ),
    ("GET", "/api/v1/chat/interrupt_state"): Operation(
        "getInterruptState",
        "Chat",
        "Tell what a session asks",
        "Of several questions the first; each is answered by itself.",
        answer="ChatState",
        example={
            "interrupted": True,
            "state": {
                "session_id": "session-1",
                "agent_name": "ops",
                "reason": "Please confirm: 1,234 rows will be deleted.",
                "fields": [
                    {"name": "confirm", "type": "confirm", "label": "Confirm", "required": True}
                ],
                "timestamp": 1746000000,
                "checkpoint_id": "ops_session-1_1746000000000000000",
            },
        },
        query=(
            _of_chat("agent_id", "The agent's name.", "ops"),
            _of_chat("session_id", "The session: the thread of the same id.", "session-1"),
        ),
        codes=(*OF_AN_AGENT, "INVALID_INPUT", *OPENS_STORE),
        statuses=STATUSES,
    ),
    ("POST", "/api/v1/chat/resume"): Operation(
        "resumeChat",
        "Chat",
        "Answer what a session asks",
        answer="ChatFrame",
        query=(_A2UI,),
        body=chat.ANSWER,
        codes=(
            *_CHAT_RUN,
            "INVALID_RESUME_PAYLOAD",
            "INTERRUPTS_UNSUPPORTED",
            "INTERRUPT_NOT_PENDING",
            "INTERRUPT_EXPIRED",
            "INTERRUPT_NOT_FOUND",
            "INTERRUPT_ALREADY_ANSWERED",
            "RUN_INDETERMINATE",
            *OPENS_STORE,
        ),
        statuses=STATUSES,
    ),
}
"""By method and path."""
