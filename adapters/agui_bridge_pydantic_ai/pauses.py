"""Calls that pydantic-ai deferred, as questions; and decisions, as what it wants of these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage, ToolCallPart
from pydantic_core import to_jsonable_python

from agui_bridge.protocol.answers.asks import Ask, Handoff, Pause
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision
from agui_bridge.protocol.answers.unexecuted import UNREPORTED
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.protocol.turns import text_of
from agui_bridge_pydantic_ai.guard import Guard
from agui_bridge_pydantic_ai.history import dumped, loaded

__all__ = ["Deferred", "pause_of"]


@dataclass(frozen=True, slots=True)
class Deferred:
    """What is kept while calls wait.

    Attributes:
        messages: the conversation, which ends in the calls.
        metadata: what tools said of their calls, by id.
        questions: ids of the calls that are answered, not approved.
        frontend: ids of the calls that the application carries out.
        actor: who began the run.
    """

    messages: list[ModelMessage]
    metadata: dict[str, dict[str, Any]]
    questions: list[str]
    frontend: list[str]
    actor: str

    @classmethod
    def from_json(cls, kept: Any) -> Deferred:
        """Read a continuation."""
        return cls(**{**kept, "messages": loaded(kept["messages"])})

    def to_json(self) -> Json:
        """Write a continuation."""
        return {
            "messages": dumped(self.messages),
            "metadata": to_jsonable_python(self.metadata),
            "questions": self.questions,
            "frontend": self.frontend,
            "actor": self.actor,
        }

    def results(
        self, decisions: Mapping[str, Decision], frontend: Mapping[str, Json]
    ) -> DeferredToolResults:
        """What became of each call; pydantic-ai refuses to go on when one is missing.

        Args:
            decisions: by tool call id.
            frontend: the application's results, by tool call id.
        """
        results = DeferredToolResults(metadata=self.metadata)
        for call in self.frontend:
            found = frontend.get(call, UNREPORTED)
            results.calls[call] = text_of(found) if isinstance(found, list) else found
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
        return results


def pause_of(
    asked: DeferredToolRequests,
    messages: list[ModelMessage],
    guard: Guard,
    frontend: Collection[str],
    actor: str,
) -> Pause | Handoff:
    """What a run ends with that deferred calls.

    Args:
        asked: the calls.
        messages: the whole conversation.
        guard: the run's.
        frontend: names of the application's tools.
        actor: who began the run.
    """
    handed = [call.tool_call_id for call in asked.calls if call.tool_name in frontend]
    questions = [call for call in asked.calls if call.tool_name not in frontend]
    kept = Deferred(
        messages, asked.metadata, [call.tool_call_id for call in questions], handed, actor
    ).to_json()
    asks = [_approval(call, asked, guard) for call in asked.approvals]
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
