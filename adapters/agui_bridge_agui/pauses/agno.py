"""agno's paused calls: nothing in the stream asks, and tool messages answer.

A run that waits ends as any other, with calls that have no result. They are continued by tool
messages behind the conversation, one for each: `{"accepted": true | false, "note"?}` for a tool
that requires confirmation. Which kind of pause it is, only the text of the calls' message tells.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, Approve, Decision, Decline
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.answers import Answers, Asked, Ended, call_of
from agui_bridge_agui.pauses.interrupts import keep

Silence = Literal["signed", "any"]
"""Which calls without results ask: those below agno's own words for a pause, or all."""

AGNO: Final = "agno"
"""The dialect of such a pause, in its continuation; also how agno signs its RAW events."""

_PAUSED: Final = "I have tools to execute, but "
_OTHERS: Final = ("user input", "external execution")


def agno_pause(ended: Ended, silence: Silence) -> Pause | None:
    """The pause of a run of agno's that left calls open which are not the application's.

    Raises:
        UpstreamError: it waits for what is no confirmation, or a call can't be shown.
    """
    open_calls = [call for call in ended.unanswered if call not in ended.frontend]
    if silence == "signed":
        open_calls = [call for call in open_calls if ended.texts[call].startswith(_PAUSED)]
    if not open_calls:
        return None
    said = {ended.texts[call] for call in open_calls}
    if any(text.startswith(_PAUSED) and any(w in text for w in _OTHERS) for text in said):
        raise UpstreamError(
            "The upstream agent waits for more than a confirmation (agno's user input or external "
            "execution), which its endpoint does not tell apart: it can't be answered here."
        )
    asks = []
    for named in open_calls:
        call = call_of(named, ended.calls)
        if call is None:
            raise UpstreamError("The upstream agent asks about a call whose arguments are no JSON.")
        asked = Ask(named, reason="tool_call", tool_call=call, allowed=(APPROVE, DECLINE))
        asks.append(Asked(asked))
    return keep(AGNO, asks, ended)


def agno_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers:
    """The decisions as tool messages."""
    return Answers(messages=[_message(key, decision) for key, decision in decisions.items()])


def _message(call: str, decision: Decision) -> dict[str, Json]:
    said: dict[str, Json] = {"accepted": isinstance(decision, Approve)}
    if isinstance(decision, Decline) and decision.reason:
        said["note"] = decision.reason
    elif not isinstance(decision, Approve):
        said["note"] = decision.text
    return {"role": "tool", "toolCallId": call, "content": json.dumps(said, ensure_ascii=False)}
