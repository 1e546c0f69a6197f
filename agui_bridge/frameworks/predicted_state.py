"""State that a page shows while the arguments of a call still stream in.

AG-UI's clients read a CUSTOM event `PredictState`, and fill the state's key from the call's
argument as it grows. What the state becomes is told by a STATE_SNAPSHOT or STATE_DELTA once the
tool has run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import BaseEvent, CustomEvent, MessagesSnapshotEvent, ToolCallStartEvent

from agui_bridge.adapters import RunItem
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.wire.run_events import messages_snapshot


@dataclass(frozen=True, slots=True)
class PredictState:
    """A key of the state that a call's argument predicts.

    Attributes:
        key: of the shared state.
        tool: name of the tool.
        argument: its argument that becomes the key's value; None for all arguments.
    """

    key: str
    tool: str
    argument: str | None = None


def predict_state_event(predictions: Sequence[PredictState]) -> CustomEvent:
    """The event that announces predictions, in the shape that AG-UI's clients read."""
    value = [
        {"state_key": one.key, "tool": one.tool}
        | ({} if one.argument is None else {"tool_argument": one.argument})
        for one in predictions
    ]
    return CustomEvent(name="PredictState", value=value)


def predicted(items: Iterable[RunItem], predictions: Sequence[PredictState]) -> Iterator[RunItem]:
    """Announce predictions before each call whose arguments make one.

    Args:
        items: what an adapter tells.
        predictions: of all tools.
    """
    for item in items:
        if isinstance(item, ToolCallStartEvent):
            of_tool = [one for one in predictions if one.tool == item.tool_call_name]
            if of_tool:
                yield predict_state_event(of_tool)
        yield item


# --- the conversation told anew, where an adapter takes something of it back ---


def told_anew(messages: Sequence[Mapping[str, Json]]) -> BaseEvent:
    """The snapshot that tells it; what a page made itself stays there.

    Args:
        messages: of the conversation, as they are: one may have parts that AG-UI does not know.
    """
    event: dict[str, Any] = {**messages_snapshot(messages)}
    return MessagesSnapshotEvent.model_construct(**event)
