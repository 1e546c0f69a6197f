"""The shapes of what CopilotKit's client reads that is no stream of events.

Source: `@copilotkit/shared` (`RuntimeInfo`) and `@copilotkit/runtime` (its stop handler), 1.75.0.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired

from ag_ui import core

from agui_bridge.protocol.threads.records import Json
from agui_bridge.shapes.readable_schema import ShapedAs

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # the one of 3.11 tells pydantic too little
    from typing_extensions import TypedDict

__all__ = ["RunStopped", "RuntimeAnswer", "RuntimeInfo"]

CapabilitiesJson = Annotated[Mapping[str, Json], ShapedAs(core.AgentCapabilities)]


class RuntimeAgent(TypedDict):
    """An agent, as CopilotKit lists it."""

    name: str
    """Its name: the client's agent id."""
    description: str
    """What it does, for people; empty if it does not say."""
    className: str
    """The kind of agent that the client is to take it for."""
    capabilities: CapabilitiesJson
    """What it can do."""


class ThreadEndpoints(TypedDict):
    """Which of the runtime's own thread routes there are; the bridge's are others."""

    list: bool
    """Whether threads can be listed."""
    inspect: bool
    """Whether a thread can be read."""
    mutations: bool
    """Whether a thread can be changed."""
    realtimeMetadata: bool
    """Whether changes are told of as they happen."""


class RuntimeInfo(TypedDict):
    """What the client asks for first."""

    version: str
    """The version of agui-bridge."""
    agents: Mapping[str, RuntimeAgent]
    """The agents, by name."""
    mode: Literal["sse"]
    """Runs come as server-sent events."""
    audioFileTranscriptionEnabled: bool
    """Whether speech can be sent."""
    a2uiEnabled: bool
    """Whether the runtime adds A2UI tools."""
    openGenerativeUIEnabled: bool
    """Whether the runtime adds tools that make user interfaces."""
    suggestions: bool
    """Whether the runtime has a route for suggestions."""
    threadEndpoints: ThreadEndpoints
    """Which of its routes for threads there are."""


class RunStopped(TypedDict):
    """What a stop achieved."""

    stopped: bool
    """Whether the run is over because of a stop."""
    message: NotRequired[str]
    """Why it is not; only then."""


RuntimeAnswer = RuntimeInfo | RunStopped
"""What the single route answers with, where it is no stream."""
