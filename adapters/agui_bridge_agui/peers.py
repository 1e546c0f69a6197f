"""What each public producer of AG-UI needs, measured on its own package; see docs/proxy.md.

`auto` goes by what an endpoint says of itself, and does what is safe for all: LangGraph's
interrupts have LangGraph's ids, ADK's confirmations are calls of a tool of that name, agno signs
its RAW events; Agent Framework, CrewAI and Mastra sign their interrupts. A peer that is named is
taken at its word, also where a gateway drops those signs; nothing is looked for then that belongs
to another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge_agui.pauses.agno import Silence
from agui_bridge_agui.requests import HistoryMode

PeerName = Literal[
    "auto",
    "langgraph",
    "adk",
    "agent-framework",
    "agno",
    "crewai",
    "mastra",
    "pydantic-ai",
    "strands",
    "ag2",
]


@dataclass(frozen=True, slots=True)
class Peer:
    """One producer.

    Attributes:
        measured: the package and version that the rest was measured on, "" for `auto`.
        history: what of the conversation it is sent unless something else is set.
        confirmations: whether calls of `adk_request_confirmation` ask, as ADK has it.
        silent: which calls that a run leaves open ask, as agno has it; `signed` are those of a run
            with agno's RAW events below its own words for a pause.
    """

    measured: str
    history: HistoryMode = "full"
    confirmations: bool = False
    silent: Silence | None = None


PEERS: Final[Mapping[PeerName, Peer]] = {
    "auto": Peer("", confirmations=True, silent="signed"),
    "langgraph": Peer("ag-ui-langgraph 0.0.47"),
    "adk": Peer("ag-ui-adk 0.11.0", history="new", confirmations=True),
    "agent-framework": Peer("agent-framework-ag-ui 1.7.0"),
    "agno": Peer("agno 3.1.10", silent="any"),
    "crewai": Peer("ag-ui-crewai 1.0.0"),
    "mastra": Peer("@ag-ui/mastra 1.1.2"),
    "pydantic-ai": Peer("pydantic-ai-slim 2.68.0"),
    "strands": Peer("ag-ui-strands 1.0.2"),
    "ag2": Peer("ag2 1.2.1"),
}

assert set(PEERS) == set(get_args(PeerName))


def with_first_arguments(event: WireEvent) -> Iterator[WireEvent]:
    """The event, and behind a TOOL_CALL_START of LangGraph's the arguments that came with it.

    ag-ui-langgraph makes a TOOL_CALL_START of the piece, and drops the rest: of a model that
    tells each call whole, people would be asked about a call without arguments. They stand in
    the event's `rawEvent`.
    """
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
