"""What Mastra is asked: the route and the body of every request that starts or continues a run.

And what it means for an answer that Mastra refused its request, or broke off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import quote

from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import Run, RunItem
from agui_bridge.errors import (
    AdapterError,
    ConfigurationError,
    NotDelivered,
    OutcomeUnknown,
    UpstreamError,
)
from agui_bridge.protocol.answers.decisions import Answer, Approve, Cancel, Decision, Decline
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.continuation import Paused
from agui_bridge_mastra.frontend import client_tools, request_context
from agui_bridge_mastra.http_client import LOST, BrokeOff
from agui_bridge_mastra.messages import messages_of, workflow_input
from agui_bridge_mastra.pauses import Waiting

Kind = Literal["agent", "network", "workflow"]

Request = tuple[str, dict[str, Json]]
"""Path and body of a POST."""

NO_ROUTE: Final = (
    "Mastra has no HTTP route that continues a suspended network. Add one to the server (see the "
    "adapter's documentation) and name it with `resume_network_path`; nothing was sent."
)
_PARTLY: Final = "Mastra took only some of the answers, then it could not be reached."
_UNKNOWN: Final = (
    "It had the answer by then, or may have had it: whether it acted is unknown, and the answer is "
    "not sent again."
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What was decided of one thing that waits, and how Mastra is told.

    Attributes:
        waiting: what waits.
        decision: about it.
        request: None when Mastra has no words for the decision.
    """

    waiting: Waiting
    decision: Decision
    request: Request | None

    @property
    def approves(self) -> bool:
        """Whether it lets a call run that waits for an approval."""
        return self.waiting.approval and isinstance(self.decision, Approve)

    @property
    def refuses(self) -> bool:
        """Whether it keeps a call from running that waits for an approval."""
        return self.waiting.approval and not isinstance(self.decision, Approve)


@dataclass
class Requests:
    """Makes the requests of one agent, network or workflow.

    Attributes:
        agent: its id.
        kind: what it is.
        memory: whether Mastra keeps the conversation.
        options: further members of the bodies that start a run and that continue it.
        resume_network_path: the route that continues a suspended network.
        cancel_with: by tool or step, the data to resume with when its question is cancelled.
    """

    agent: str
    kind: Kind
    memory: bool
    options: Mapping[str, Any] = field(default_factory=dict)
    resume_network_path: str | None = None
    cancel_with: Mapping[str, Json] = field(default_factory=dict)

    def start(self, run: Run, paused: Paused, messages: list[dict[str, Json]] | None) -> Request:
        """Start a run: with these messages, or with those of the input.

        Raises:
            UpstreamError: the input has nothing to start with.
        """
        if self.kind == "workflow":
            body = {**self._lasting(run, paused), "inputData": workflow_input(run)}
            return self._workflow("stream", paused), body
        body = self._lasting(run, paused)
        body["messages"] = messages or messages_of(run, whole=not self.memory)
        # Never an id of the client's: at Mastra it would overwrite what waits under it.
        body["runId"] = paused.run
        return self._agent("network" if self.kind == "network" else "stream"), body

    def replies(self, run: Run, paused: Paused, decisions: Mapping[str, Decision]) -> list[Reply]:
        """What to tell Mastra of the decisions, in their order.

        Raises:
            NotDelivered: the pause is another agent's, or a network's suspension can't be
                continued over HTTP.
        """
        if paused.agent != self.agent:
            raise NotDelivered(
                f"This pause belongs to the Mastra agent {paused.agent!r}, and the adapter is "
                f"configured for {self.agent!r}; nothing was sent."
            )
        decided = [(paused.waiting[key], decision) for key, decision in decisions.items()]
        return [
            Reply(waiting, decision, self.decide(run, paused, waiting, decision))
            for waiting, decision in decided
        ]

    def decide(
        self, run: Run, paused: Paused, waiting: Waiting, decision: Decision
    ) -> Request | None:
        """Tell Mastra of a decision; None when it has no words for it.

        Raises:
            NotDelivered: a network's suspension can't be continued over HTTP.
        """
        if not waiting.approval:
            return self._resume(run, paused, waiting, decision)
        approved = isinstance(decision, Approve)
        told: dict[str, Json] = {} if approved else {"reason": _reason(decision)}
        # The author's route takes the options that hold in the run; Mastra's own takes none.
        if self.kind == "network" and not (self.options and self.resume_network_path):
            verb = "approve" if approved else "decline"
            body = {"runId": paused.run, **self._context(run), **told}
            return self._agent(f"{verb}-network-tool-call"), body
        # Mastra's routes that approve and decline take no tools of the application's, either.
        return self._go_on(run, paused, waiting, {"approved": approved, **told})

    def _resume(
        self, run: Run, paused: Paused, waiting: Waiting, decision: Decision
    ) -> Request | None:
        if isinstance(decision, Answer):
            data = decision.payload
        else:
            # A step of a nested workflow has its path for a name; its own id will do.
            names = [
                name for name in (waiting.name, *waiting.step[-1:]) if name in self.cancel_with
            ]
            if not names:
                return None
            data = self.cancel_with[names[0]]
        return self._go_on(run, paused, waiting, data)

    def _go_on(self, run: Run, paused: Paused, waiting: Waiting, data: Json) -> Request:
        """Continue a run with these data for what waits."""
        body = {**self._lasting(run, paused), "resumeData": data}
        if self.kind == "workflow":
            if waiting.index is not None:
                # Without it Mastra answers every item that waits.
                body["forEachIndex"] = waiting.index
            step = list(waiting.step) or waiting.key
            return self._workflow("resume-stream", paused), {**body, "step": step}
        body["runId"] = paused.run
        if self.kind == "network":
            if self.resume_network_path is None:
                raise NotDelivered(NO_ROUTE)
            # The route hands the body on as it is; a plain object is no context to Mastra.
            body.pop("requestContext", None)
            return self.resume_network_path.replace("{agent}", quote(self.agent, safe="")), body
        # Without the call's id Mastra answers everything that waits.
        return self._agent("resume-stream"), {**body, "toolCallId": waiting.key}

    def _lasting(self, run: Run, paused: Paused) -> dict[str, Json]:
        """What holds from a run's beginning to its end, so that every request says it again."""
        body: dict[str, Json] = {**self.options, **self._context(run)}
        if self.kind == "workflow":
            return body
        # Continuing is the bridge's work: were it Mastra's too, both could execute.
        body["autoResumeSuspendedTools"] = False
        body |= self._tools(run)
        if paused.memory:
            body["memory"] = {**(self.options.get("memory") or {}), **paused.memory}
        return body

    def _agent(self, action: str) -> str:
        return f"/api/agents/{quote(self.agent, safe='')}/{action}"

    def _workflow(self, action: str, paused: Paused) -> str:
        own = quote(self.agent, safe="")
        return f"/api/workflows/{own}/{action}?runId={quote(paused.run, safe='')}"

    def _context(self, run: Run) -> dict[str, Json]:
        """The request context, for what Mastra passes it on to: not a network."""
        told = {**(self.options.get("requestContext") or {}), **request_context(run)}
        return {"requestContext": told} if told and self.kind != "network" else {}

    def _tools(self, run: Run) -> dict[str, Json]:
        """The application's tools, for an agent: a network's router would try to run them."""
        told = {**(self.options.get("clientTools") or {}), **client_tools(run)}
        return {"clientTools": told} if told and self.kind == "agent" else {}


def _reason(decision: Decision) -> str:
    if isinstance(decision, Decline):
        return decision.reason or "The user declined this tool call."
    if isinstance(decision, Cancel) and decision.cause == "expired":
        return "Nobody approved this tool call in time."
    return "The user cancelled this tool call."


def settles(item: RunItem, reply: Reply) -> bool:
    """Whether something that Mastra told shows what came of an answer.

    Whatever it tells after a call was declined; else the call's result.
    """
    return reply.refuses or (
        isinstance(item, ToolCallResultEvent) and item.tool_call_id == reply.waiting.call
    )


def unknown(why: object) -> OutcomeUnknown:
    """The error for an answer of which nobody knows what came of it."""
    return OutcomeUnknown(f"{why} {_UNKNOWN}")


def failure_of(
    error: AdapterError, reply: Reply, kind: Kind, *, first: bool, settled: bool
) -> AdapterError:
    """The error for an answer that could not be told, or was cut off.

    Args:
        error: what happened.
        reply: the answer.
        kind: of the agent.
        first: whether it was the first of the run's answers.
        settled: whether it is known what came of it.
    """
    if isinstance(error, BrokeOff):
        return error if settled else unknown(error)
    if isinstance(error, NotDelivered):
        return error if first else UpstreamError(_PARTLY)
    # Of a workflow's run; or the server has no route of that name.
    if kind == "workflow":
        return UpstreamError(LOST)
    assert reply.request is not None
    if kind == "network" and first and not reply.request[0].startswith("/api/"):
        return NotDelivered(NO_ROUTE)
    return error


# --- what an author may add to the bodies of requests, and what is the bridge's alone ---

_OURS: Final = (
    "runId",
    "messages",
    "inputData",
    "resumeData",
    "toolCallId",
    "step",
    "forEachIndex",
)
_THREAD: Final = ("thread", "resource")

_AUTO_RESUME: Final = (
    "options['autoResumeSuspendedTools'] can't be true: Mastra would carry a suspended tool out by "
    "a second call, which nobody approved. Leave it out, and add the agent with auto_resume='on': "
    "then the bridge takes what a person writes for the answer."
)


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that would stand in for what the bridge says itself.

    Raises:
        ConfigurationError: one does.
    """
    if options.get("autoResumeSuspendedTools"):
        raise ConfigurationError(_AUTO_RESUME)
    for name in _OURS:
        if name in options:
            raise ConfigurationError(f"options[{name!r}] is the bridge's to say: leave it out.")
    memory = options.get("memory")
    if memory is not None and not isinstance(memory, Mapping):
        raise ConfigurationError("options['memory'] should be an object, such as {'options': …}.")
    for name in _THREAD:
        if memory is not None and name in memory:
            raise ConfigurationError(
                f"options['memory'][{name!r}] is the bridge's to say: the thread is AG-UI's, and "
                "its resource the principal's scope. Leave it out."
            )
