"""What the routes of the chat API are for, take and answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Final, TypeVar

from starlette.requests import Request

from agui_bridge.errors import Refused
from agui_bridge.http.operation import OF_A_BODY, OF_AN_AGENT, OPENS_STORE, JsonObject, Operation
from agui_bridge.http.service import Service
from agui_bridge.shapes import chat
from agui_bridge.shapes.readable_schema import OF_IDS

# --- the HTTP statuses of the chat API, where they differ from those of `errors.CODES` ---
#
# Source: SuperAgent's page "Interrupt/Resume", the table of errors.

T = TypeVar("T")

STATUSES: Final[Mapping[str, int]] = {
    "INVALID_INPUT": 400,
    "INVALID_RESUME_PAYLOAD": 400,
    "INTERRUPT_EXPIRED": 409,
    "INTERRUPT_NOT_FOUND": 409,
}
"""By code."""


class _ChatRefused(Refused):
    """A refusal with this API's status."""

    @property
    def status(self) -> int:
        return STATUSES.get(self.code, super().status)


def in_its_statuses(
    handler: Callable[[Service, Request], Awaitable[T]],
) -> Callable[[Service, Request], Awaitable[T]]:
    """Have what a handler refuses answered with this API's statuses (decorator)."""

    @wraps(handler)
    async def handle(service: Service, request: Request) -> T:
        try:
            return await handler(service, request)
        except Refused as error:
            raise _ChatRefused(error.code, error.message, error.details) from error

    return handle


# --- operations ---

_A2UI: Final[JsonObject] = {
    "name": "X-A2UI",
    "in": "header",
    "description": "`true` for frames of JSON, else tokens of text.",
    "schema": {"type": "string"},
    "example": "true",
}

_A2UI_QUERY: Final[JsonObject] = {
    "name": "a2ui",
    "in": "query",
    "description": "The same as the header `X-A2UI`, for clients that can set none.",
    "schema": {"type": "string"},
    "example": "true",
}

_IDEMPOTENCY: Final[JsonObject] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Names the message: with the same key it is carried out once in its session.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    "example": "8e03978e-40d5-43dd-bc93-6894a57f9324",
}


def _of_chat(name: str, description: str, example: str) -> JsonObject:
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
    ("GET", "/api/v1/agents"): Operation(
        "listChatAgents",
        "Chat",
        "List the agents, at SuperAgent's address",
        "The same as `GET /agents`.",
        answer="Agents",
        example={"agents": [{"name": "ops", "description": "Deletes rows, once approved."}]},
        codes=("INTERNAL_ERROR",),
    ),
    ("POST", "/api/v1/chat/stream"): Operation(
        "streamChat",
        "Chat",
        "Send a message to an agent, in SuperAgent's way",
        "On a session with a pending question nothing is sent: the question is repeated, unless "
        "`auto_resume` is on and the message answers it.",
        answer="ChatFrame",
        query=(_A2UI, _A2UI_QUERY, _IDEMPOTENCY),
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
        query=(_A2UI, _A2UI_QUERY),
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
