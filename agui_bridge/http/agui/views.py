"""The shapes of what is read over HTTP, from which their schemas are made.

mypy holds the handlers to them; nothing is checked while a response is made.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired

from ag_ui import core

from agui_bridge.inbox.answering import AnswerStatus
from agui_bridge.protocol.threads.records import InterruptStatus, Json, ThreadStatus
from agui_bridge.shapes.readable_schema import ShapedAs

if sys.version_info >= (3, 12):
    from typing import TypedDict
else:  # the one of 3.11 tells pydantic too little
    from typing_extensions import TypedDict


class PinnedCall(TypedDict):
    """The tool call that an interrupt asks about."""

    id: str
    """The call's id, as in TOOL_CALL_START."""
    name: str
    """The tool's name."""
    args: Mapping[str, Json]
    """The arguments with which it runs if it is approved as it is."""


class OpenInterrupt(core.Interrupt):
    """A question that waits for an answer, with the tool call that it is about."""

    tool_call: PinnedCall | None = None
    """The tool call, if it asks about one."""


class GivenAnswer(TypedDict):
    """An answer as it was accepted."""

    status: Literal["resolved", "cancelled"]
    """Whether the question was answered or cancelled."""
    payload: Json
    """What was answered; null for no payload."""


class AuditEntry(TypedDict):
    """One change of an interrupt's status, or what else happened to it."""

    status: InterruptStatus
    """The status that it took."""
    at: str
    """When, in ISO 8601 and UTC."""
    actor: str
    """The principal's actor, or `agent` or another part of the server."""
    via: NotRequired[str]
    """Through what: agui, api, inbox, link, slack, mail, chat, mcp, acp, cli, rule or timer."""
    rule: NotRequired[str]
    """The approval rule under which it was answered."""
    event: NotRequired[str]
    """What happened where the status stayed: voted, for one."""


class ReasonWhyNot(TypedDict):
    """Why the caller may not answer a question."""

    code: str
    """NOT_AN_APPROVER, SELF_APPROVAL, INTERRUPT_EXPIRED or INTERRUPT_ALREADY_ANSWERED."""
    message: str
    """The reason, for display."""


class AuditedInterrupt(OpenInterrupt):
    """An interrupt of any status, with all that happened to it."""

    ref: str
    """Its reference, for /interrupts/{ref}."""
    agent: str
    """The agent that asked."""
    thread_id: str
    """The thread in which it asked."""
    status: InterruptStatus
    """Open, answered or claimed; then resolved, cancelled, expired or indeterminate for good."""
    scope: str = ""
    """The scope that owns the question, if it is not the caller's."""
    asked_by: str | None
    """The actor who began the run; null if that is not known."""
    approval: Mapping[str, Json] | None
    """Who may answer, how many must, and who has voted; null if anyone of the scope may."""
    may_answer: bool
    """Whether the caller may answer."""
    why: ReasonWhyNot | None
    """Why not; null if the caller may."""
    answer: GivenAnswer | None
    """What was answered, null if nothing was."""
    history: list[AuditEntry]
    """All that happened to it, oldest first."""


MessageJson = Annotated[Mapping[str, Json], ShapedAs(core.Message)]
OpenInterruptJson = Annotated[Mapping[str, Json], ShapedAs(OpenInterrupt)]
AuditedInterruptJson = Annotated[Mapping[str, Json], ShapedAs(AuditedInterrupt)]


class ThreadSummary(TypedDict):
    """A thread in a list."""

    threadId: str
    """The thread's id."""
    status: ThreadStatus
    """What it is doing."""
    messageCount: int
    """How many messages are in context."""
    openInterrupts: int
    """How many questions wait for an answer."""
    createdAt: str
    """When it was created, in ISO 8601 and UTC."""
    updatedAt: str
    """When it was last changed, in ISO 8601 and UTC."""


class ThreadList(TypedDict):
    """Threads of an agent, last touched first."""

    threads: list[ThreadSummary]
    """The threads."""


class Thread(TypedDict):
    """A thread: its conversation, its state, and what it waits for."""

    threadId: str
    """The thread's id."""
    agent: str
    """The agent's name."""
    status: ThreadStatus
    """What it is doing."""
    messages: list[MessageJson]
    """The messages in order; at the end what a run is saying, as far as it is kept. With `before`
    those that were archived before that."""
    earlier: str | None
    """`before` of the messages that were archived before these; null if none were."""
    state: Json
    """The shared state; an empty object if there is none."""
    interrupts: list[OpenInterruptJson]
    """The questions that wait for an answer."""
    pendingToolCallIds: list[str]
    """The frontend tool calls that wait for the application's result."""
    result: Json
    """RUN_FINISHED's of the newest run; null while it goes on, and if there is none."""
    createdAt: str
    """When it was created, in ISO 8601 and UTC."""
    updatedAt: str
    """When it was last changed, in ISO 8601 and UTC."""


class InterruptList(TypedDict):
    """Interrupts with their history, the oldest first."""

    interrupts: list[AuditedInterruptJson]
    """The interrupts."""


class InterruptPage(InterruptList):
    """Some of the interrupts that fit, the oldest first."""

    cursor: str | None
    """`after` of the next page; null on the last."""
    count: int | None
    """How many fit on all pages together; null where they are too many to look at each."""


class AnswerTaken(TypedDict):
    """What came of an answer to one question; of an identical one the same."""

    status: AnswerStatus
    """refused, or voted, or what became of the question."""
    code: NotRequired[str]
    """Why it was refused, or how the run failed that carried it out; absent if it did not."""
    message: NotRequired[str]
    """The reason, for display."""
    result: NotRequired[Json]
    """RUN_FINISHED's of the run that carried it out; absent if there is none."""
    interrupt: AuditedInterruptJson
    """The question as it is now."""


class Stopped(TypedDict):
    """What a stop achieved."""

    status: Literal["success", "error"]
    """success once the run is over because of a stop, else error."""
    stopReason: Literal["USER_INTERRUPTED"] | None
    """Why the run ended; null if it did not end because of a stop."""
    messageCount: int
    """How many messages the conversation has now."""
    messages: list[MessageJson]
    """The conversation, in order."""
    interruptedAtIteration: int | None
    """Model steps that the run had begun; null if unknown."""
    partialResponse: str | None
    """The assistant's text that was cut off; null if there was none."""
    error: str | None
    """Why it is no success; null if it is one."""


class SessionStopped(TypedDict):
    """What a stop of a session achieved."""

    status: Literal["success", "error"]
    """success once its runs are over because of the stop, else error."""
    stop_reason: Literal["USER_INTERRUPTED"] | None
    """Why they ended; null if they did not end because of the stop."""
    message_count: int
    """How many messages the conversation has now."""
    error: str | None
    """Why it is no success; null if it is one."""


class AgentEntry(TypedDict):
    """An agent in the list."""

    name: str
    """Its name in addresses."""
    description: str
    """What it does, for people; empty if it does not say."""


class AgentList(TypedDict):
    """The agents that are served."""

    agents: list[AgentEntry]
    """The agents."""
