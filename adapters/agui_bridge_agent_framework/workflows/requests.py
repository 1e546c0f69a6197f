"""What a workflow asks of the world outside, as questions; and decisions, as its responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from agent_framework import Content, WorkflowEvent
from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from agui_bridge.errors import NotDelivered
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    APPROVE,
    DECLINE,
    Answer,
    Approve,
    Decision,
)
from agui_bridge.protocol.threads.records import Json, ToolCall

__all__ = ["Kept", "Requested", "ask_of", "response_of"]

_WORDS: Final = ("message", "question", "prompt")
"""Members of a request's data that have words for people."""


@dataclass(frozen=True, slots=True)
class Requested:
    """One request that waits for a person.

    Attributes:
        request: the framework's id of it.
        kind: whether an agent's tool may run is asked, or anything else.
        call: the tool call's id.
        content: what the framework waits with, of an approval.
    """

    request: str
    kind: Literal["approval", "info"]
    call: str = ""
    content: dict[str, Any] | None = None

    @property
    def native_id(self) -> str:
        """What its question is known by: the call's id, by which the gate knows it, too."""
        return self.call or self.request


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept while a workflow waits: no state of it, which holds pickles.

    Attributes:
        checkpoint: id of the checkpoint to go on from, in the thread's storage.
        place: where in a folder that is.
        requests: what is waited for.
        actor: who began the run.
    """

    checkpoint: str
    place: str
    requests: list[Requested]
    actor: str

    @classmethod
    def from_json(cls, kept: Any) -> Kept:
        """Read a continuation."""
        return cls(**{**kept, "requests": [Requested(**one) for one in kept["requests"]]})

    def to_json(self) -> Json:
        """Write a continuation."""
        return asdict(self)

    def approved(self, decisions: Mapping[str, Decision]) -> list[tuple[str, Mapping[str, Json]]]:
        """Name and arguments of each call that was approved.

        Args:
            decisions: by native id.
        """
        asked = [one for one in self.requests if one.content is not None]
        found = [(one.content, decisions[one.native_id]) for one in asked]
        return [
            (content["function_call"]["name"], made.args)
            for content, made in found
            if content is not None and isinstance(made, Approve)
        ]


def ask_of(event: WorkflowEvent[Any]) -> tuple[Requested, Ask]:
    """What a request waits for, and the question."""
    own, data = event.request_id, event.data
    call = data.function_call if isinstance(data, Content) else None
    if isinstance(data, Content) and call is not None and call.call_id:
        args = dict(call.parse_arguments() or {})
        asked = ToolCall(call.call_id, call.name or "", args)
        return (
            Requested(own, "approval", call.call_id, data.to_dict()),
            # Its agent's session, which the checkpoint holds, has the arguments that would run.
            Ask(call.call_id, "tool_call", None, asked, allowed=(APPROVE, DECLINE)),
        )
    told = _json(data)
    about: dict[str, Json] = {"executor": event.source_executor_id, "data": told}
    return Requested(own, "info"), Ask(
        own,
        "agent_framework:request_info",
        _words(told),
        response_schema=_schema(event.response_type),
        allowed=(ANSWER,),
        metadata=about,
    )


def response_of(one: Requested, decision: Decision, kind: type[Any]) -> Any:
    """What the workflow is told.

    Args:
        one: the request.
        decision: an answer, or what was decided about a call.
        kind: the type that the workflow wants.

    Raises:
        NotDelivered: the answer is of no such type; another one can be given.
    """
    if one.kind == "approval":
        approved = isinstance(decision, Approve)
        return Content.from_dict(one.content or {}).to_function_approval_response(approved)
    payload = decision.payload if isinstance(decision, Answer) else None
    try:
        return TypeAdapter(kind).validate_python(payload)
    except PydanticUserError:
        return payload
    except ValidationError as error:
        raise NotDelivered(
            f"The answer is no {kind.__name__} as the workflow wants it: {error.error_count()} "
            "parts of it don't fit. Answer again."
        ) from error


def _schema(kind: type[Any]) -> Mapping[str, Json] | None:
    """The JSON Schema of a type; None where it has none."""
    try:
        found: Mapping[str, Json] = TypeAdapter(kind).json_schema()
    except PydanticUserError:
        return None
    return found or None


def _json(data: Any) -> Json:
    try:
        made: Json = to_jsonable_python(data)
    except PydanticSerializationError:
        return str(type(data).__name__)
    return made


def _words(told: Json) -> str | None:
    if isinstance(told, dict):
        told = next((told[name] for name in _WORDS if told.get(name)), None)
    return told if isinstance(told, str) else None
