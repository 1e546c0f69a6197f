"""What an agent asks: permissions and forms as questions, and decisions as what it is answered.

A decision that was recorded serves one question of the turn that goes on, if that is the same
question: the call was shown alike and would do the same, or the form asks for the same.

Source: the Agent Client Protocol, version 1, "Requesting Permission", "Elicitation".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from agui_bridge.adapters import Ask
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision, Decline
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_acp.calls import AgentCall, Shape
from agui_bridge_acp.connection import Asked

PERMISSION: Final = "session/request_permission"
FORM: Final = "elicitation/create"

CANCELLED: Final[Mapping[str, Mapping[str, Json]]] = {
    PERMISSION: {"outcome": {"outcome": "cancelled"}},
    FORM: {"action": "cancel"},
}
"""What a question is answered with that nobody decides on, by its method."""

_MOST_METADATA: Final = 32_768
"""Characters of what is told besides the arguments; more of it is left out, which is told."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of an agent, as far as it must be known again.

    Attributes:
        likeness: equal for questions that are the same.
        call: the call that may run, as the conversation has it; None of a form.
        message: what a form asks.
    """

    likeness: str
    call: ToolCall | None = None
    message: str = ""

    @property
    def json(self) -> dict[str, Json]:
        """To be kept in a continuation."""
        return asdict(self)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Question:
        """Read what was kept."""
        call = kept["call"]
        return cls(kept["likeness"], ToolCall(**call) if call else None, kept["message"])


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that waits in the agent.

    Attributes:
        asked: the agent's request.
        question: what it asks.
        call: the call that it is about; None of a form.
    """

    asked: Asked
    question: Question
    call: AgentCall | None = None


class Recorded:
    """The decisions that a run begins with, until each has served its question.

    Args:
        decided: the questions, and what was decided.
    """

    def __init__(self, decided: Iterable[tuple[Question, Decision]] = ()) -> None:
        self.left: list[tuple[Question, Decision]] = list(decided)

    def take(self, question: Question) -> tuple[Question, Decision] | None:
        """The decision on a question, which it serves once; None where there is none."""
        for number, (asked, _) in enumerate(self.left):
            if asked.likeness == question.likeness:
                return self.left.pop(number)
        return None

    def awaits(self, shape: Shape) -> bool:
        """Whether a call that is shown like this one is to be proposed again."""
        return any(
            asked.call is not None
            and (asked.call.name, asked.call.args) == (shape.name, shape.args)
            for asked, _ in self.left
        )

    @property
    def calls(self) -> list[str]:
        """Ids of the calls that may run and were not proposed again."""
        return [
            asked.call.id
            for asked, decision in self.left
            if asked.call is not None and isinstance(decision, Approve)
        ]


def call_asked(asked: Asked, call: AgentCall) -> Waiting:
    """A permission that is asked for.

    Args:
        asked: the request.
        call: its call, with what the request says of it.
    """
    shape = call.settle()
    shown = ToolCall(call.id, shape.name, dict(shape.args))
    return Waiting(asked, Question(call.likeness, shown), call)


def form_asked(asked: Asked) -> Waiting:
    """A form that is to be filled in."""
    message = str(asked.params.get("message") or "The agent asks for input.")
    likeness = json.dumps([message, asked.params.get("requestedSchema")], sort_keys=True)
    return Waiting(asked, Question(likeness, None, message))


def ask_of(native_id: str, waiting: Waiting, cwd: str) -> Ask:
    """A question for people.

    Args:
        native_id: its name.
        waiting: what is asked.
        cwd: the folder that the agent works in.
    """
    if waiting.call is None:
        schema = waiting.asked.params.get("requestedSchema")
        return Ask(
            native_id,
            "input_required",
            waiting.question.message,
            response_schema=schema if isinstance(schema, dict) else None,
            allowed=("answer", "decline"),
        )
    return Ask(
        native_id,
        "tool_call",
        _words_of(waiting.call),
        tool_call=waiting.question.call,
        metadata={"acp": _besides(waiting.call)},
        preview=waiting.call.preview(cwd),
    )


def answer_to(asked: Asked, decision: Decision) -> Mapping[str, Json] | None:
    """What the agent is answered; None where it offers no such answer.

    It is told yes for this once, whatever else it offers: what an agent remembers lasts beyond the
    thread, for everybody, and leaves no record of who decided.
    """
    if asked.method == FORM:
        if isinstance(decision, Answer):
            return {"action": "accept", "content": decision.payload}
        return {"action": "decline" if isinstance(decision, Decline) else "cancel"}
    kind = "allow_once" if isinstance(decision, Approve) else "reject_once"
    for option in _options(asked):
        if option.get("kind") == kind and isinstance(option.get("optionId"), str):
            return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
    return None if isinstance(decision, Approve) else CANCELLED[PERMISSION]


def may_be_allowed_once(asked: Asked) -> bool:
    """Whether an agent that asks for a permission takes a yes for this once."""
    return answer_to(asked, Approve({})) is not None


def _options(asked: Asked) -> Sequence[Mapping[str, Any]]:
    options = asked.params.get("options")
    return [one for one in options if isinstance(one, dict)] if isinstance(options, list) else []


def _words_of(call: AgentCall) -> str | None:
    """What the agent calls it, and what would run where that is not what was shown."""
    title = call.told.get("title")
    said = [title] if isinstance(title, str) and title else []
    if call.now != call.settle():
        said.append(
            f"It would run: {call.now.name} {json.dumps(call.now.args, ensure_ascii=False)}"
        )
    return "\n".join(said) or None


def _besides(call: AgentCall) -> dict[str, Json]:
    """What the agent says of a call besides its arguments and its preview, for who decides."""
    told: dict[str, Json] = {
        name: call.told[name] for name in ("kind", "locations") if call.told.get(name)
    }
    content = call.told.get("content")
    if isinstance(content, list) and call.told.get("kind") != "execute":
        content = [
            part for part in content if not isinstance(part, dict) or part.get("type") != "diff"
        ]
    if content:
        told["content"] = content
    if len(json.dumps(told)) > _MOST_METADATA:
        told = {"leftOut": "It is more than is shown beside the arguments."}
    if call.now != call.settle():
        # Never left out: it is what would run.
        told["asked"] = {"name": call.now.name, "args": dict(call.now.args)}
    return told
