"""What the routes of CopilotKit's runtime are for, take and answer, and where they stand."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Annotated, Final, Literal, NotRequired

from ag_ui import core

from agui_bridge.errors import ConfigurationError
from agui_bridge.http.agui.operations import REFUSALS, VERSION
from agui_bridge.http.operation import OF_A_BODY, OF_AN_AGENT, OPENS_STORE, JsonObject, Operation
from agui_bridge.protocol.threads.records import Json
from agui_bridge.shapes.readable_schema import OF_IDS, ShapedAs

# --- the shapes of what CopilotKit's client reads that is no stream of events ---
#
# Source: `@copilotkit/shared` (`RuntimeInfo`) and `@copilotkit/runtime` (its stop handler), 1.75.0.

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # the one of 3.11 tells pydantic too little
    from typing_extensions import TypedDict

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


BASE: Final = "/copilotkit"
"""Where the routes stand in the tables, and by default."""

_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+")

_RUN: Final = (*OF_AN_AGENT, *OF_A_BODY, "UNSUPPORTED_VERSION", "TOO_MANY_RUNS", *OPENS_STORE)
_IDS: Final[JsonObject] = {"threadId": "thread-1", "runId": "run-1"}
_STREAM: Final = [
    {"type": "RUN_STARTED", **_IDS, "protocolVersion": "1.0"},
    {"type": "STATE_SNAPSHOT", "snapshot": {}},
    {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "m1", "role": "user", "content": "Clean up the users."}],
    },
    {"type": "RUN_FINISHED", **_IDS, "outcome": {"type": "success"}},
]
_STOP_BODY: Final[JsonObject] = {
    "type": "object",
    "title": "CopilotKit stop request",
    "description": "Which run to stop; nothing is whichever runs.",
    "properties": {
        "runId": {
            "type": "string",
            "title": "Run",
            "description": "The run's id: another run that has begun since goes on.",
        }
    },
    "examples": [{"runId": "run-1"}],
}


def _envelope(
    methods: list[str], params: list[str], body: JsonObject | None, needed: bool
) -> JsonObject:
    """The schema of a request to some of the other routes."""
    members: JsonObject = {
        "method": {
            "type": "string",
            "title": "Method",
            "description": "What is asked for.",
            "enum": methods,
        }
    }
    if params:
        members["params"] = {
            "type": "object",
            "title": "Parameters",
            "description": "What stands in the path of the other route.",
            "required": params,
            "properties": {name: _PARAMS[name] for name in params},
        }
    if body is not None:
        members["body"] = body
    required = [*members] if needed else [name for name in members if name != "body"]
    return {
        "type": "object",
        "title": " or ".join(methods),
        "description": "As the route of the same name.",
        "required": required,
        "properties": members,
    }


_PARAMS: Final[JsonObject] = {
    "agentId": {
        "type": "string",
        "title": "Agent",
        "description": "The agent's name.",
        "minLength": 1,
    },
    "threadId": {
        "type": "string",
        "title": "Thread",
        "description": "The thread's id.",
        "minLength": 1,
        **OF_IDS,
    },
}
_STOP_IN_ENVELOPE: Final[JsonObject] = {**_STOP_BODY, "type": ["object", "null"]}
_INPUT: Final[JsonObject] = {"$ref": "#/components/schemas/RunInput"}
_ENVELOPE: Final[JsonObject] = {
    "title": "CopilotKit envelope",
    "description": "A request to one of the other routes.",
    "oneOf": [
        _envelope(["info"], [], None, needed=False),
        _envelope(["agent/run", "agent/connect"], ["agentId"], _INPUT, needed=True),
        _envelope(["agent/stop"], ["agentId", "threadId"], _STOP_IN_ENVELOPE, needed=False),
    ],
    "examples": [{"method": "info"}],
}

COPILOTKIT_OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", BASE): Operation(
        "callCopilotkit",
        "CopilotKit",
        "Ask for any of this in an envelope",
        "The single route of CopilotKit's client (`useSingleEndpoint`).",
        answer="CopilotkitAnswer",
        example={"stopped": True},
        stream=_STREAM,
        query=(REFUSALS, VERSION),
        body=_ENVELOPE,
        codes=(*_RUN, "NOT_AN_APPROVER", "SHUTTING_DOWN"),
    ),
    ("GET", f"{BASE}/info"): Operation(
        "getCopilotkitInfo",
        "CopilotKit",
        "List the agents, in CopilotKit's way",
        answer="CopilotkitInfo",
        codes=("INTERNAL_ERROR",),
    ),
    ("POST", f"{BASE}/agent/{{agent}}/run"): Operation(
        "runCopilotkitAgent",
        "CopilotKit",
        "Run an agent, or answer what it asked",
        "As POST /agents/{agent}, but the run goes on when the client goes away.",
        answer="Events",
        example=_STREAM,
        query=(REFUSALS, VERSION),
        body="RunInput",
        codes=(*_RUN, "SHUTTING_DOWN"),
    ),
    ("POST", f"{BASE}/agent/{{agent}}/connect"): Operation(
        "connectCopilotkitAgent",
        "CopilotKit",
        "Show a thread again, and what runs on it",
        "For a page that was reloaded: the conversation, the open questions, and the run to its "
        "end. Of the body only the ids count. A thread that does not exist has an empty stream.",
        answer="Events",
        example=_STREAM,
        body="RunInput",
        query=(VERSION,),
        codes=_RUN,
    ),
    ("POST", f"{BASE}/agent/{{agent}}/stop/{{thread}}"): Operation(
        "stopCopilotkitAgent",
        "CopilotKit",
        "Stop what a thread does, and lose nothing",
        "Answers once the run is over. Its stream ends by itself.",
        answer="CopilotkitStop",
        example={"stopped": True},
        body=_STOP_BODY,
        body_required=False,
        codes=(*OF_AN_AGENT, *OF_A_BODY, "NOT_AN_APPROVER", "TOO_MANY_RUNS", *OPENS_STORE),
    ),
}
"""By method and path."""


def placed(path: str, base: str | None) -> str | None:
    """Where a path of the tables is served.

    Args:
        path: any path of the bridge.
        base: where CopilotKit's routes stand; None if there are none.

    Returns:
        The path, another one for CopilotKit's routes, or None for those that there are not.
    """
    if path != BASE and not path.startswith(f"{BASE}/"):
        return path
    return None if base is None else base + path.removeprefix(BASE)


def check_base(base: str | None, taken: frozenset[str]) -> None:
    """Check that CopilotKit's routes can stand at a path.

    Args:
        base: the path; None if there are to be none.
        taken: the first segments of the bridge's other paths.

    Raises:
        ConfigurationError: it is no plain path, or belongs to others.
    """
    if base is None:
        return
    if not _PATH.fullmatch(base):
        raise ConfigurationError(
            f"copilotkit can't be {base!r:.100}: it is a path such as /copilotkit, with a slash at "
            "its beginning and none at its end, or None for no such routes."
        )
    if (first := base.split("/")[1]) in taken:
        raise ConfigurationError(
            f"copilotkit can't be {base!r:.100}: the bridge has other routes below /{first}."
        )
