"""Google ADK's confirmations: calls of `adk_request_confirmation`, each about another call.

People are asked about those; the calls of ADK's own are kept from the conversation, and so is the
result "requires confirmation", which a resumable app tells of a call that has not run. An answer
finds its call only if one assistant message, the last, has all of them: ag-ui-adk carries out no
more than the last tool messages in a row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.adapters import Ask, Pause
from agui_bridge.protocol.answers.asks import with_call
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, Decision, approval_schema
from agui_bridge.protocol.json_values import WireEvent, same_json
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.answers import (
    Answers,
    Asked,
    Ended,
    arguments_of,
    call_of,
    calls_like,
    unseen,
)
from agui_bridge_agui.pauses.interrupts import asked_of, entry_of, keep

ADK: Final = "adk"
"""The dialect of such a pause, in its continuation."""

CONFIRMATION: Final = "adk_request_confirmation"
"""The tool whose calls ask."""

_HINT: Final = "Please approve or reject the tool call "
"""How ADK's hint begins when the tool gave none."""


@dataclass(frozen=True, slots=True)
class _Confirmation:
    """A call that is to be confirmed: its id, name and arguments; and ADK's hint."""

    call: Json
    name: Json
    args: Json
    hint: str | None


class Confirmations:
    """Takes ADK's own calls out of a stream, and keeps what they ask.

    Args:
        tools: of the application; one that has ADK's name shows confirmations itself.
    """

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._parts: dict[str, list[str]] = {}
        self._own = CONFIRMATION not in tools

    def pass_on(self, event: WireEvent) -> WireEvent | None:
        """The event without what is ADK's own; None if nothing is left."""
        call = event.get("toolCallId")
        match event["type"]:
            case "TOOL_CALL_START" if self._own and event.get("toolCallName") == CONFIRMATION:
                self._parts[str(call)] = []
                return None
            case "TOOL_CALL_ARGS" if call in self._parts:
                self._parts[call].append(str(event.get("delta") or ""))
                return None
            case "TOOL_CALL_END" if call in self._parts:
                return None
            case "TOOL_CALL_RESULT" if call in self._parts or call in self._waiting:
                return None
            case "MESSAGES_SNAPSHOT" if self._parts:
                return {
                    **event,
                    "messages": [self._without(m) for m in event.get("messages") or ()],
                }
        return event

    @property
    def asked(self) -> Mapping[str, _Confirmation]:
        """What is asked, by the id of ADK's call."""
        return {key: _confirmation("".join(parts)) for key, parts in self._parts.items()}

    @property
    def _waiting(self) -> set[Json]:
        return {c.call for c in self.asked.values() if c.call is not None}

    def _without(self, message: Any) -> Any:
        calls = message.get("toolCalls") if isinstance(message, Mapping) else None
        if not isinstance(calls, list):
            return message
        left = [call for call in calls if call.get("id") not in self._parts]
        return {**message, "toolCalls": left}


def adk_pause(ended: Ended, asked: Mapping[str, _Confirmation]) -> Pause | None:
    """The pause of a run that asked for confirmations, None if it did not.

    Args:
        ended: the run.
        asked: what its confirmations ask.
    """
    if not asked:
        return None
    others = [asked_of(i, ended) for i in ended.interrupts if i.id not in asked]
    taken: set[str] = set()
    asks = []
    for key, confirmation in asked.items():
        ask = _ask(key, confirmation, ended, taken)
        taken |= {ask.tool_call.id} if ask.tool_call is not None else set()
        asks.append(Asked(ask))
    return keep(ADK, [*asks, *others], ended, confirmations=list(asked))


def adk_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers:
    """The decisions as entries of `resume`, with the message that has the calls they are for."""
    calls = [
        {"id": key, "type": "function", "function": {"name": CONFIRMATION, "arguments": "{}"}}
        for key in continuation["confirmations"]
    ]
    return Answers(
        resume=[entry_of(key, d, continuation) for key, d in decisions.items()],
        messages=[{"role": "assistant", "toolCalls": calls}],
    )


def _ask(key: str, asked: _Confirmation, ended: Ended, taken: Collection[str]) -> Ask:
    call = call_of(asked.call, ended.calls)
    if call is None or call.name != asked.name or not same_json(call.args, asked.args):
        # Streamed calls have ids of their own.
        like = calls_like(asked.name, asked.args, ended.calls, set(ended.unanswered) - set(taken))
        call = like[0] if like else None
    hint = None if asked.hint and asked.hint.startswith(_HINT) else asked.hint
    if call is not None:
        return Ask(
            key, reason="tool_call", message=hint, tool_call=call, allowed=(APPROVE, DECLINE)
        )
    return Ask(
        key,
        reason="confirmation",
        message=with_call(hint, asked.name, asked.args),
        about=unseen(key, asked.name, asked.args),
        permits=True,
        response_schema=approval_schema(None, editable=False),
    )


def _confirmation(text: str) -> _Confirmation:
    told = arguments_of(text)
    said: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    original, confirmation = said.get("originalFunctionCall"), said.get("toolConfirmation")
    original = original if isinstance(original, Mapping) else {}
    hint = confirmation.get("hint") if isinstance(confirmation, Mapping) else None
    return _Confirmation(
        original.get("id"),
        original.get("name"),
        original.get("args") or {},
        hint if isinstance(hint, str) and hint else None,
    )
