"""Calls that pydantic-ai deferred, as questions; and decisions, as what it wants of these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_core import to_jsonable_python

from agui_bridge.frameworks.rounds import Rounds
from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision, Respond
from agui_bridge.protocol.answers.unexecuted import UNREPORTED
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.protocol.turns import text_of
from agui_bridge_pydantic_ai.guard import Guard
from agui_bridge_pydantic_ai.history import dumped, loaded


@dataclass(frozen=True, slots=True)
class Deferred:
    """What is kept while calls wait.

    Attributes:
        messages: the conversation, which ends in the calls.
        metadata: what tools said of their calls, by id.
        questions: ids of the calls that are answered, not approved.
        frontend: ids of the calls that the application carries out.
        actor: who began the run.
        decided: by id, what people decided, and an earlier version of the bridge did not carry out
            before the application's results were there.
        late: what people said that the model has not been told yet.
        rounds: what calls asked in their middle.
    """

    messages: list[ModelMessage]
    metadata: dict[str, dict[str, Any]]
    questions: list[str]
    frontend: list[str]
    actor: str
    decided: Mapping[str, Decision] = field(default_factory=dict)
    late: list[Any] = field(default_factory=list)
    rounds: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Any) -> Deferred:
        """Read a continuation."""
        decided = {call: _decision(made) for call, made in kept.get("decided", {}).items()}
        return cls(**{**kept, "messages": loaded(kept["messages"]), "decided": decided})

    def to_json(self) -> Json:
        """Write a continuation."""
        return {
            "messages": dumped(self.messages),
            "metadata": to_jsonable_python(self.metadata),
            "questions": self.questions,
            "frontend": self.frontend,
            "actor": self.actor,
            "late": self.late,
            "rounds": dict(self.rounds),
        }

    def names(self, calls: Collection[str]) -> list[str]:
        """Names of the tools of some calls."""
        parts = (part for one in self.messages[::-1] for part in one.parts)
        return [
            part.tool_name
            for part in parts
            if isinstance(part, ToolCallPart) and part.tool_call_id in calls
        ]

    @property
    def held(self) -> set[str]:
        """Ids of the application's calls for whose results a sentence stands in the messages."""
        parts = (part for one in self.messages for part in one.parts)
        told = {part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)}
        return told.intersection(self.frontend)

    def conversation(
        self, decisions: Mapping[str, Decision], frontend: Mapping[str, Json]
    ) -> list[ModelMessage]:
        """The messages: with the arguments of calls as people edited them, and all results.

        Args:
            decisions: by tool call id.
            frontend: the application's results, by tool call id.
        """
        edited = {
            call: dict(made.args)
            for call, made in decisions.items()
            if isinstance(made, Approve) and made.edited
        }
        held = {call: _returned(frontend[call]) for call in self.held if call in frontend}
        if not (edited or held):
            return self.messages
        return [_with_results(_with_arguments(one, edited), held) for one in self.messages]

    def results(
        self, decisions: Mapping[str, Decision], frontend: Mapping[str, Json]
    ) -> DeferredToolResults | None:
        """What became of each call; pydantic-ai refuses to go on when one is missing.

        Args:
            decisions: by tool call id.
            frontend: the application's results, by tool call id.

        Returns:
            None where the messages have all results by now.
        """
        results = DeferredToolResults(metadata=self.metadata)
        for call in {*self.frontend} - self.held:
            results.calls[call] = _returned(frontend.get(call, UNREPORTED))
        for call, decision in decisions.items():
            if isinstance(decision, Approve):
                # Always with arguments: what was shown is what runs, edited or not.
                results.approvals[call] = ToolApproved(override_args=dict(decision.args))
            elif isinstance(decision, Answer):
                results.calls[call] = decision.payload
            elif call in self.questions:
                results.calls[call] = decision.text
            else:
                results.approvals[call] = ToolDenied(decision.text)
        return results if results.calls or results.approvals else None


def pause_of(
    asked: DeferredToolRequests,
    messages: list[ModelMessage],
    guard: Guard,
    frontend: Collection[str],
    actor: str,
    *,
    held: Collection[str],
    late: list[Any],
    rounds: Rounds,
) -> Pause | Handoff:
    """What a run ends with that deferred calls.

    Args:
        asked: the calls.
        messages: the whole conversation.
        guard: the run's.
        frontend: names of the application's tools.
        actor: who began the run.
        held: ids of calls of the application's that wait on.
        late: what people said that the model has not been told yet.
        rounds: the calls whose tools ask in their middle.
    """
    handed = [call.tool_call_id for call in asked.calls if call.tool_name in frontend]
    handed += held
    questions = [call for call in asked.calls if call.tool_name not in frontend]
    for call in (*questions, *asked.approvals):
        rounds.expect_one_way(call.tool_call_id, call.tool_name)
    kept = Deferred(
        messages,
        asked.metadata,
        [call.tool_call_id for call in questions],
        handed,
        actor,
        late=late,
        rounds=rounds.to_json(),
    ).to_json()
    asks: list[Ask] = []
    for call in asked.approvals:
        asks += rounds.asks.get(call.tool_call_id) or [_approval(call, asked, guard)]
    asks += [_question(call, asked) for call in questions]
    return Pause(asks, kept, frontend_calls=handed) if asks else Handoff(handed, kept)


def _approval(call: ToolCallPart, asked: DeferredToolRequests, guard: Guard) -> Ask:
    told = asked.metadata.get(call.tool_call_id) or {}
    ask = guard.asks.get(call.tool_call_id)
    if ask is not None:
        return replace(ask, metadata=_public(told))
    return Ask(
        native_id=call.tool_call_id,
        reason="tool_call",
        message=_text(told.get("message")),
        tool_call=ToolCall(call.tool_call_id, call.tool_name, call.args_as_dict()),
        parameters=guard.parameters.get(call.tool_name),
        metadata=_public(told),
    )


def _question(call: ToolCallPart, asked: DeferredToolRequests) -> Ask:
    told = asked.metadata.get(call.tool_call_id) or {}
    # Up to 2.66 pydantic-ai can't say it: there a question is what has words for people.
    kind = getattr(asked, "kind", lambda _: None)(call.tool_call_id)
    is_question = kind == "question" or bool(told.get("message"))
    schema = told.get("response_schema")
    about: dict[str, Json] = {
        "toolCallId": call.tool_call_id,
        "toolName": call.tool_name,
        "args": call.args_as_dict(),
    }
    return Ask(
        native_id=call.tool_call_id,
        reason="input_required" if is_question else "pydantic_ai:external",
        message=_text(told.get("message")),
        about=call.tool_call_id,
        response_schema=schema if isinstance(schema, Mapping) else None,
        metadata={**about, **(_public(told) or {})},
    )


def _public(told: Mapping[str, Any]) -> Mapping[str, Json] | None:
    """What a tool's author wants shown: the rest of its metadata is between its two halves."""
    shown = told.get("public")
    made: Mapping[str, Json] = to_jsonable_python(shown) if isinstance(shown, Mapping) else {}
    return made or None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _with_arguments(message: ModelMessage, edited: Mapping[str, dict[str, Any]]) -> ModelMessage:
    if not isinstance(message, ModelResponse):
        return message
    parts: list[Any] = list(message.parts)
    for place, part in enumerate(parts):
        if isinstance(part, ToolCallPart) and part.tool_call_id in edited:
            parts[place] = replace(part, args=edited[part.tool_call_id])
    return replace(message, parts=parts)


def _with_results(message: ModelMessage, held: Mapping[str, Any]) -> ModelMessage:
    if not isinstance(message, ModelRequest):
        return message
    parts: list[Any] = list(message.parts)
    for place, part in enumerate(parts):
        if isinstance(part, ToolReturnPart) and part.tool_call_id in held:
            parts[place] = replace(part, content=held[part.tool_call_id])
    return replace(message, parts=parts)


def _returned(found: Json) -> Any:
    """What the application gave back, as the model reads it."""
    return text_of(found) if isinstance(found, list) else found


def _decision(made: Any) -> Decision:
    if "approve" in made:
        approvers = tuple(made["approvers"])
        return Approve(**made["approve"], actor=made["actor"], approvers=approvers)
    return Answer(made["answer"]) if "answer" in made else Respond(made["refused"])
