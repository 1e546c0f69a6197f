"""Arguments that ag-ui-langgraph leaves out: those that come in one piece with a call's name.

It makes a TOOL_CALL_START of the piece, and drops the rest: of a model that tells each call whole,
people would be asked about a call without arguments. They stand in the event's `rawEvent`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agui_bridge.protocol.json_values import WireEvent

__all__ = ["with_first_arguments"]


def with_first_arguments(event: WireEvent) -> Iterator[WireEvent]:
    """The event, and behind a TOOL_CALL_START of LangGraph's the arguments that came with it."""
    yield event
    if event["type"] != "TOOL_CALL_START":
        return
    for piece in _pieces(event.get("rawEvent")):
        if piece.get("id") == event.get("toolCallId") and isinstance(piece.get("args"), str):
            if piece["args"]:
                yield {
                    "type": "TOOL_CALL_ARGS",
                    "toolCallId": piece["id"],
                    "delta": piece["args"],
                }
            return


def _pieces(raw: Any) -> list[Mapping[str, Any]]:
    """The pieces of calls in an event of LangChain's `on_chat_model_stream`."""
    if not isinstance(raw, Mapping) or raw.get("event") != "on_chat_model_stream":
        return []
    data = raw.get("data")
    chunk = data.get("chunk") if isinstance(data, Mapping) else None
    pieces = chunk.get("tool_call_chunks") if isinstance(chunk, Mapping) else None
    return [p for p in pieces if isinstance(p, Mapping)] if isinstance(pieces, list) else []
