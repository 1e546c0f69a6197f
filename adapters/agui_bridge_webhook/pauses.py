"""What a workflow asks, as a question of the bridge; and answers, as its resume URL takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agui_bridge.adapters import Ask, Pause, Run
from agui_bridge.protocol.answers.decisions import Answer, Approve, Cancel, Decision, Decline
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_webhook.execution import Execution
from agui_bridge_webhook.told import Question, Told, told_in

ASK: Final = "question"

_TEXT: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string", "minLength": 1, "title": "Your answer"}},
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that waits for people, as its pause keeps it.

    Attributes:
        execution: that asks.
        told: how it asked.
        call: id of the tool call that it is about; None: of none.
    """

    execution: Execution
    told: Told
    call: str | None

    @property
    def question(self) -> Question:
        """What is asked."""
        assert self.told.question is not None, "only questions are kept"
        return self.told.question

    def pause(self) -> Pause:
        """The pause that asks it."""
        asks, told = self.question, self.told
        if asks.tool is not None and self.call is not None:
            ask = Ask(
                ASK,
                reason="tool_call",
                message=told.message or None,
                tool_call=ToolCall(self.call, asks.tool, dict(asks.args or {})),
                parameters=asks.parameters,
                expires_in=asks.expires_in,
            )
        else:
            ask = Ask(
                ASK,
                reason="input_required",
                message=told.message,
                response_schema=_TEXT if asks.schema is None else asks.schema,
                expires_in=asks.expires_in,
            )
        return Pause([ask], self.to_json())

    def to_json(self) -> dict[str, Json]:
        """As the pause keeps it."""
        told = {**self.told.raw, "id": self.told.id}
        return {"execution": self.execution.to_json(), "told": told, "call": self.call}

    @classmethod
    def from_json(cls, kept: Json) -> Asked:
        """From what `to_json` gave."""
        return cls(Execution.from_json(kept["execution"]), told_in(kept["told"]), kept["call"])


def asked_by(execution: Execution, told: Told, run: Run) -> Asked:
    """What a question becomes in a run.

    Args:
        execution: that asks.
        told: the question.
        run: the run that ends with it.
    """
    tool = told.question.tool if told.question is not None else None
    return Asked(execution, told, run.call_ids().new(told.id) if tool is not None else None)


def answer_of(asked: Asked, decision: Decision) -> dict[str, Json]:
    """The body of an answer.

    Args:
        asked: the question.
        decision: what people decided.
    """
    status, more = _said(decision)
    return {
        "type": "answer",
        "id": asked.told.id,
        "execution": asked.execution.id,
        "status": status,
        "approved": isinstance(decision, Approve),
        "actor": getattr(decision, "actor", "") or None,
        **more,
    }


def withdrawn(asked: Asked, cause: str) -> dict[str, Json]:
    """The body of what tells that nobody answers a question any more.

    Args:
        asked: the question.
        cause: `cancelled` or `expired`.
    """
    body = {"type": "answer", "id": asked.told.id, "execution": asked.execution.id}
    return {**body, "status": cause, "approved": False, "actor": None}


def _said(decision: Decision) -> tuple[str, dict[str, Json]]:
    match decision:
        case Approve(args=args, edited=edited):
            return "approved", {"args": dict(args), "edited": edited}
        case Decline(reason=reason):
            return "declined", {"reason": reason}
        case Answer(payload=payload):
            return "answered", {"payload": payload, "text": decision.text}
        case Cancel(cause=cause):
            return cause, {}
    raise AssertionError(f"{type(decision).__name__} is not declared")
