"""Tools that suspend, as Mastra's own package @ag-ui/mastra tells them: CUSTOM `on_interrupt`.

It tells of the call in that event alone, unless another call comes behind it, and later of its
result. Of several entries of `resume` it heeds the first resolved one, and says nothing more of the
others. Mastra's own server has no such limits: see the adapter `mastra`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import NotDelivered
from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    DECLINE,
    Answer,
    Approve,
    Decision,
    Decline,
)
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.answers import Answers, Asked, Ended, call_of, parsed
from agui_bridge_agui.pauses.interrupts import entry_of, is_approval, keep
from agui_bridge_agui.pauses.langgraph import ON_INTERRUPT

MASTRA: Final = "mastra"
"""The dialect of such a pause, in its continuation."""


def suspended_call(custom: WireEvent, known: Collection[str]) -> Iterator[WireEvent]:
    """The events of the call that a CUSTOM event tells of, if nothing else has told of that.

    Args:
        custom: any CUSTOM event.
        known: ids of the calls that were told.
    """
    value = _suspended(custom.get("value")) if custom.get("name") == ON_INTERRUPT else None
    if value is None or value["toolCallId"] in known:
        return
    call, name = value["toolCallId"], value["toolName"]
    arguments = json.dumps(value.get("args") or {}, ensure_ascii=False)
    yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": name}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": arguments}
    yield {"type": "TOOL_CALL_END", "toolCallId": call}


def mastra_pause(ended: Ended) -> Pause | None:
    """The pause of a run whose tools were suspended, None if it is another's."""
    told = [_suspended(custom.value) for custom in ended.customs]
    asks = [Asked(_ask_of(value, ended)) for value in told if value is not None]
    return keep(MASTRA, asks, ended) if asks and len(asks) == len(told) else None


def mastra_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers | None:
    """The one decision as an entry of `resume`; None when nobody decided: it stays suspended.

    Beside an approval, what was declined stays suspended, too, and so is not executed.

    Raises:
        NotDelivered: several are to go on, of which all but one would be lost.
    """
    going = [key for key, d in decisions.items() if isinstance(d, Approve | Answer)]
    if len(going) > 1:
        raise NotDelivered(
            "The upstream agent lets one of several calls go on: approve one, and decline or "
            "cancel the others."
        )
    told = going or [key for key, d in decisions.items() if isinstance(d, Decline)]
    return (
        Answers([entry_of(key, decisions[key], continuation) for key in told[:1]]) if told else None
    )


def _suspended(value: Json) -> Mapping[str, Any] | None:
    found = parsed(value, None) if isinstance(value, str) else value
    if not isinstance(found, Mapping) or found.get("type") != "mastra_suspend":
        return None
    named = all(isinstance(found.get(key), str) for key in ("toolCallId", "toolName", "runId"))
    return found if named else None


def _ask_of(value: Mapping[str, Any], ended: Ended) -> Ask:
    schema = value.get("resumeSchema")
    schema = parsed(schema, None) if isinstance(schema, str) else schema
    schema = schema if isinstance(schema, Mapping) else None
    shown = value.get("suspendPayload")
    message = shown.get("message") if isinstance(shown, Mapping) else None
    call = call_of(value["toolCallId"], ended.calls)
    approves = schema is not None and is_approval(schema)
    gated = approves and call is not None
    return Ask(
        native_id=f"{value['runId']}::{value['toolCallId']}",
        reason="tool_call" if gated else "input_required",
        message=message if isinstance(message, str) else None,
        tool_call=call if gated else None,
        about=value["toolCallId"] if not gated and value["toolCallId"] in ended.calls else None,
        permits=approves and not gated,
        response_schema=schema,
        allowed=(APPROVE, DECLINE),
        metadata={"tool": value["toolName"], "shown": shown},
    )
