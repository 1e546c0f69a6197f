"""The schemas of what is read over HTTP, one for each view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ag_ui import core

from agui_bridge.http.agui import views as agui_views
from agui_bridge.http.agui.views import (
    AgentList,
    AnswerTaken,
    AuditedInterrupt,
    InterruptList,
    InterruptPage,
    SessionStopped,
    Stopped,
    Thread,
    ThreadList,
)
from agui_bridge.http.app import probes
from agui_bridge.http.app.probes import Health, Readiness
from agui_bridge.http.channels import deliveries as delivery_views
from agui_bridge.http.channels.deliveries import DeliveryList
from agui_bridge.http.copilotkit import views as copilotkit_views
from agui_bridge.http.copilotkit.views import RunStopped, RuntimeAnswer, RuntimeInfo
from agui_bridge.shapes.readable_schema import Schema, document, schema_of
from agui_bridge.shapes.runs import from_clients

__all__ = ["VIEWS", "views"]

VIEWS: Final[Mapping[str, tuple[Any, str, str]]] = {
    "thread": (Thread, "Thread", "The answer to GET /agents/{agent}/threads/{thread}."),
    "threads": (ThreadList, "Threads", "The answer to GET /agents/{agent}/threads."),
    "interrupts": (
        InterruptList,
        "Interrupts",
        "The answer to GET /agents/{agent}/threads/{thread}/interrupts.",
    ),
    "deliveries": (DeliveryList, "Deliveries", "The answer to GET /deliveries."),
    "questions": (InterruptPage, "Questions", "The answer to GET /interrupts."),
    "question": (AuditedInterrupt, "Question", "The answer to GET /interrupts/{ref}."),
    "answer": (AnswerTaken, "Answer taken", "The answer to POST /interrupts/{ref}/answer."),
    "stop": (Stopped, "Stop", "The answer to POST /agents/{agent}/threads/{thread}/stop."),
    "session-stop": (SessionStopped, "Session stop", "The answer to POST /stop."),
    "agents": (AgentList, "Agents", "The answer to GET /agents."),
    "capabilities": (
        core.AgentCapabilities,
        "Capabilities",
        "The answer to GET /agents/{agent}/capabilities: AG-UI's AgentCapabilities.",
    ),
    "copilotkit-info": (
        RuntimeInfo,
        "CopilotKit info",
        "The answer to GET /copilotkit/info, for CopilotKit's client.",
    ),
    "copilotkit-stop": (
        RunStopped,
        "CopilotKit stop",
        "The answer to POST /copilotkit/agent/{agent}/stop/{thread}, for CopilotKit's client.",
    ),
    "copilotkit-answer": (
        RuntimeAnswer,
        "CopilotKit answer",
        "What POST /copilotkit answers with where it is no stream, for CopilotKit's client.",
    ),
    "health": (Health, "Health", "The answer to GET /healthz."),
    "readiness": (Readiness, "Readiness", "The answer to GET /readyz."),
}
"""By document its type, title, and which answer it is."""


def views() -> dict[str, Schema]:
    """The schema of every view, by the name of its document."""
    modules = [
        agui_views.__name__,
        copilotkit_views.__name__,
        probes.__name__,
        delivery_views.__name__,
    ]
    return {
        name: document(
            name, title, description, schema_of(kind, modules=modules, nullable=from_clients())
        )
        for name, (kind, title, description) in VIEWS.items()
    }
