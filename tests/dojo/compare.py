"""What both servers stream for each example agent, compared: `make dojo DOJO=FOLDER COMPARE=1`.

Each agent is told what its page's spec says first. Of each stream, an event is its type and what it
says: without ids, times, and the cuts between pieces of text.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import httpx

__all__ = ["PROMPTS", "Difference", "compared", "summary"]

_DRAWN: Final = ("a2ui_dynamic_schema", "a2ui_recovery")
"""Features whose pages offer to show surfaces that a model draws."""
_SURFACE: Final = {"surfaceId": "string", "components": "array", "data": "object"}
_TOOLS: Final[Mapping[str, Sequence[tuple[str, Mapping[str, str]]]]] = {
    "agentic_chat": [("change_background", {"background": "string"})],
    "human_in_the_loop": [("generate_task_steps", {"steps": "array"})],
    "tool_based_generative_ui": [
        (
            "generate_haiku",
            {"japanese": "array", "english": "array", "image_name": "string", "gradient": "string"},
        )
    ],
    "predictive_state_updates": [("confirm_changes", {}), ("write_document", {})],
    **{feature: [("render_a2ui", _SURFACE)] for feature in _DRAWN},
}
"""What the pages offer as tools: names and parameters."""

PROMPTS: Final[Mapping[str, str]] = {
    "agentic_chat": "Hi, change the background color to blue",
    "agentic_chat_multimodal": "Hi",
    "agentic_chat_reasoning": "What is the best car to buy?",
    "backend_tool_rendering": "Weather in San Francisco",
    "agentic_generative_ui": "give me a plan to make brownies",
    "human_in_the_loop": "Give me a plan to make brownies, there should be only one step with eggs",
    "predictive_state_updates": "Give me a story about a dragon called Atlantis in document",
    "shared_state": "Give me a pasta recipe",
    "subgraphs": "Help me create a character",
    "tool_based_generative_ui": "Generate Haiku for 'I will always win'",
    "a2ui_fixed_schema": "Find flights from SFO to JFK for next Tuesday.",
    "a2ui_dynamic_schema": (
        "Use the generate_a2ui tool to create a comparison of 3 hotels with name, location, "
        "price per night, and a star rating."
    ),
    "a2ui_recovery": "Compare 3 luxury hotels with ratings and prices.",
}
"""What is said to each agent, by feature: what the mock's fixtures know, as the specs have it."""

_PIECES: Final = {
    "TEXT_MESSAGE_CONTENT": "delta",
    "REASONING_MESSAGE_CONTENT": "delta",
    "TOOL_CALL_ARGS": "delta",
}
_SHOWN: Final[Mapping[str, str]] = {
    "STEP_STARTED": "stepName",
    "STEP_FINISHED": "stepName",
    "TOOL_CALL_START": "toolCallName",
    "TOOL_CALL_RESULT": "content",
    "STATE_SNAPSHOT": "snapshot",
    "STATE_DELTA": "delta",
    "CUSTOM": "name",
}

Told = tuple[str, str]
"""An event: its type, and what it says."""


@dataclass(frozen=True)
class Difference:
    """How two streams of one agent differ.

    Attributes:
        agent: its name.
        missing: what only the official server tells.
        more: what only the bridge tells.
    """

    agent: str
    missing: Counter[Told]
    more: Counter[Told]


def compared(official: str, bridge: str, agents: Sequence[tuple[str, str]]) -> list[Difference]:
    """How the streams of some agents differ.

    Args:
        official: the address of the one server.
        bridge: that of the other.
        agents: names and features.
    """
    found = []
    for name, feature in agents:
        if feature in PROMPTS:
            theirs = Counter(told(streamed(official, name, feature)))
            ours = Counter(told(streamed(bridge, name, feature)))
            found.append(Difference(name, theirs - ours, ours - theirs))
    return found


def summary(found: Sequence[Difference]) -> str:
    """Both sides of each difference, event by event, then how many there are of each type."""
    lines: list[str] = []
    types: Counter[tuple[str, str]] = Counter()
    for one in found:
        lines.append(f"== {one.agent}")
        for sign, events in (("-", one.missing), ("+", one.more)):
            for (kind, says), times in events.items():
                types[kind, sign] += times
                count = f" x{times}" if times > 1 else ""
                lines.append(f"{sign} {kind}{count} {says[:_WIDTH]}".rstrip())
    lines += ["", f"{'type':32}{'only official':>15}{'only the bridge':>17}"]
    for kind in sorted({kind for kind, _ in types}):
        lines.append(f"{kind:32}{types[kind, '-']:15}{types[kind, '+']:17}")
    return "\n".join(lines)


_WIDTH: Final = 160


def streamed(server: str, agent: str, feature: str) -> list[dict[str, Any]]:
    """The events of one run.

    Args:
        server: its address.
        agent: its name there.
        feature: the dojo's name of its page.
    """
    said = {"id": "u1", "role": "user", "content": PROMPTS[feature]}
    body = {
        "threadId": uuid4().hex,
        "runId": uuid4().hex,
        "messages": [said],
        "tools": [_tool(*one) for one in _TOOLS.get(feature, ())],
        "state": {},
        "context": [],
        "forwardedProps": {"injectA2UITool": True} if feature in _DRAWN else {},
    }
    events = []
    headers = {"accept": "text/event-stream"}
    address = f"{server}/agents/{agent}"
    with httpx.stream("POST", address, json=body, timeout=60, headers=headers) as response:
        if response.is_error:
            # The agent is not served there.
            return [{"type": f"HTTP {response.status_code}"}]
        for line in response.iter_lines():
            if line.startswith("data:"):
                events.append(json.loads(line[5:]))
    return events


def _tool(name: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in parameters.items()}
    schema = {"type": "object", "properties": properties}
    return {"name": name, "description": name.replace("_", " "), "parameters": schema}


def told(events: Sequence[Mapping[str, Any]]) -> Iterator[Told]:
    """What a stream tells, piece joined to piece; RAW events may stand between pieces."""
    last, text = "", ""
    for event in events:
        kind = event["type"]
        if kind in _PIECES:
            if kind != last and last:
                yield last, text
                text = ""
            last, text = kind, text + str(event[_PIECES[kind]])
        elif kind == "RAW":
            yield kind, ""
        else:
            if last:
                yield last, text
                last, text = "", ""
            yield kind, _says(event)
    if last:
        yield last, text


def _says(event: Mapping[str, Any]) -> str:
    shown = event.get(_SHOWN.get(event["type"], ""), "")
    if isinstance(shown, str):
        try:
            shown = json.loads(shown)
        except ValueError:
            return str(shown)
    return json.dumps(shown, sort_keys=True)
