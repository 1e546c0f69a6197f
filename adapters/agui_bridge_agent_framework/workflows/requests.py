"""What a workflow asks of the world outside, as questions; and decisions, as its responses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Final, Literal, get_args, get_type_hints

from agent_framework import AgentExecutorResponse, AgentResponse, Content, Message, WorkflowEvent
from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

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

_WORDS: Final = ("message", "question", "prompt")
"""Members of a request's data that have words for people."""

_WITHOUT_SCHEMA: Final = (PydanticUserError, NameError)
"""What is raised of a type that has none, or of which a name can't be found (`TYPE_CHECKING`)."""


@dataclass(frozen=True, slots=True)
class Requested:
    """One request that waits for a person.

    Attributes:
        request: the framework's id of it.
        kind: whether an agent's tool may run is asked, or anything else; of a tool that there is
            not, nothing is asked.
        call: the tool call's id.
        content: what the framework waits with, of an approval.
    """

    request: str
    kind: Literal["approval", "info", "unknown"]
    call: str = ""
    content: dict[str, Any] | None = None

    @property
    def native_id(self) -> str:
        """What its question is known by: the call's id, by which the gate knows it, too."""
        return self.call or self.request


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is kept while a workflow waits: no state of it, which holds pickles.

    Attributes:
        checkpoint: id of the checkpoint to go on from, in the thread's storage.
        place: where in a folder that is.
        requests: what is waited for.
        actor: who began the run.
        named: see `UniqueCalls`.
    """

    checkpoint: str
    place: str
    requests: list[Requested]
    actor: str
    named: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Any) -> Continuation:
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
        found = [(one.content, decisions.get(one.native_id)) for one in self.requests]
        return [
            (content["function_call"]["name"], made.args)
            for content, made in found
            if content is not None and isinstance(made, Approve)
        ]


def ask_of(
    event: WorkflowEvent[Any], tools_for: Callable[[str], Collection[str]]
) -> tuple[Requested, Ask] | tuple[Requested, None]:
    """What a request waits for, and the question.

    Args:
        event: the request.
        tools_for: names of the tools that the model had which made a call, by the call's id; none
            where that is not known.
    """
    own, data = event.request_id, event.data
    call = data.function_call if isinstance(data, Content) else None
    if isinstance(data, Content) and call is not None and call.call_id:
        args = dict(call.parse_arguments() or {})
        asked = ToolCall(call.call_id, call.name or "", args)
        tools = tools_for(call.call_id)
        if tools and call.name not in tools:
            # Beside a call that waits the framework waits for what is no tool, too.
            return Requested(own, "unknown", call.call_id, data.to_dict()), None
        return (
            Requested(own, "approval", call.call_id, data.to_dict()),
            # Its agent's session, which the checkpoint holds, has the arguments that would run.
            Ask(call.call_id, "tool_call", None, asked, allowed=(APPROVE, DECLINE)),
        )
    if isinstance(data, AgentExecutorResponse):
        # All of the conversation is in it.
        data = data.agent_response
    told = to_jsonable_python(data, fallback=_told)
    about: dict[str, Json] = {"executor": event.source_executor_id, "data": told}
    return Requested(own, "info"), Ask(
        own,
        "agent_framework:request_info",
        _words(told) or _last_words(data),
        response_schema=_schema(event.response_type, data),
        allowed=(ANSWER,),
        metadata=about,
    )


def response_of(one: Requested, decision: Decision | None, kind: type[Any]) -> Any:
    """What the workflow is told.

    Args:
        one: the request.
        decision: an answer, or what was decided about a call; None about one of no tool.
        kind: the type that the workflow wants.

    Raises:
        NotDelivered: the answer is of no such type; another one can be given.
    """
    if one.content is not None:
        approved = isinstance(decision, Approve)
        return Content.from_dict(one.content).to_function_approval_response(approved)
    payload = decision.payload if isinstance(decision, Answer) else None
    if kind == list[Message] and isinstance(payload, str):
        return _said(payload)
    if (member := _reviewed_in(kind)) is not None and isinstance(payload, Mapping):
        return _review(kind, member, payload)
    try:
        return TypeAdapter(kind).validate_python(payload)
    except _WITHOUT_SCHEMA:
        # The framework has a look at it before anything else.
        return payload
    except ValidationError as error:
        raise NotDelivered(
            f"The answer is no {_named(kind)} as the workflow wants it: {error.error_count()} "
            "parts of it don't fit. Answer again."
        ) from error


# --- what people are shown ---


def _told(data: Any) -> Json:
    """Something of the framework's, or the author's, as people can read it."""
    if isinstance(data, AgentResponse | Message):
        return _last_words(data)
    return str(data.to_dict()) if hasattr(data, "to_dict") else type(data).__name__


def _words(told: Json) -> str | None:
    if isinstance(told, dict):
        told = next((told[name] for name in _WORDS if told.get(name)), None)
    return told if isinstance(told, str) else None


def _last_words(data: Any) -> str | None:
    """What was said last in something that an agent said, or in the first member that is such."""
    if isinstance(data, Message):
        return data.text or None
    if isinstance(data, AgentResponse):
        return next((one.text for one in reversed(data.messages) if one.text), None)
    if not is_dataclass(data):
        return None
    held = (getattr(data, one.name) for one in fields(data))
    said = (one for one in held if isinstance(one, AgentResponse | Message))
    return next(filter(None, map(_last_words, said)), None)


# --- what they answer ---


def _schema(kind: type[Any], data: Any) -> Mapping[str, Json] | None:
    """The JSON Schema of what people answer; None where the type that is wanted has none.

    Args:
        kind: that type.
        data: what was requested.
    """
    if kind == list[Message]:
        ends = " Empty: the conversation ends." if hasattr(data, "terminate") else ""
        return {"type": "string", "title": "Message", "description": f"What to say.{ends}"}
    if _reviewed_in(kind) is not None:
        return {
            "type": "object",
            "properties": {"approved": {"type": "boolean"}, "feedback": {"type": "string"}},
            "required": ["approved"],
        }
    try:
        found: Mapping[str, Json] = TypeAdapter(kind).json_schema()
    except _WITHOUT_SCHEMA:
        return None
    return found or None


def _reviewed_in(kind: Any) -> str | None:
    """The member of a review that holds what is to change, such as that of Magentic's plans.

    The orchestrations' reviews have one member, messages, and `approve()` makes one without any.
    """
    if not (is_dataclass(kind) and callable(getattr(kind, "approve", None))):
        return None
    members = [one.name for one in fields(kind)]
    try:
        is_one = len(members) == 1 and get_type_hints(kind).get(members[0]) == list[Message]
    except NameError:
        return None
    return members[0] if is_one else None


def _named(kind: Any) -> str:
    return str(kind) if get_args(kind) else getattr(kind, "__name__", str(kind))


def _review(kind: Any, member: str, payload: Mapping[str, Json]) -> Any:
    if payload.get("approved") is True:
        return kind.approve()
    feedback = payload.get("feedback")
    if not isinstance(feedback, str) or not feedback:
        raise NotDelivered("Nothing was approved, and `feedback` does not say what is to change.")
    return kind(**{member: _said(feedback)})


def _said(text: str) -> list[Message]:
    return [Message("user", [text])] if text else []
