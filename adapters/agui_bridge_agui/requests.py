"""What an endpoint is sent: a RunAgentInput made from the bridge's run, never the client's own.

A client's `resume`, `forwardedProps.command`, run id and messages could answer what only the bridge
may answer: none of them is passed on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from agui_bridge.adapters import Run
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.versions import NEWEST, first_version_messages
from agui_bridge_agui.pauses.answers import Answers

Dialect = Literal["1.1", "1.0", "0.x"]
"""How an input is written. What is answered is understood in any dialect."""

HistoryMode = Literal["full", "new"]

_OURS: Final = frozenset({"command", "autoresume", "refusals"})
"""Members of `forwardedProps` that are the bridge's: the first resumes a LangGraph.

However they are written: LangGraph's integration makes `command` of `Command`.
"""

_NEWER_ROLES: Final = frozenset({"activity", "reasoning"})
_NEWER_MEMBERS: Final = frozenset({"metadata", "subagentRunId"})
"""What messages have since AG-UI 1.0, or shortly before: older servers refuse the whole input."""

_PREFIX: Final = "agui-"


def _thread_of(run: Run) -> str:
    """The upstream's thread: that of the same id, for principals of the default scope.

    An upstream knows no principals: a thread of another scope gets a name that nobody can choose.
    """
    scope, thread = run.principal.scope, run.thread_id
    if scope == "default" and not thread.startswith(_PREFIX):
        return thread
    digest = hashlib.sha256(json.dumps([scope, run.agent, thread]).encode()).hexdigest()
    return f"{_PREFIX}{digest[:40]}"


def messages_for(run: Run, mode: HistoryMode) -> Sequence[Mapping[str, Json]]:
    """The messages that the upstream is to see, as AG-UI writes them.

    Args:
        run: the bridge's run.
        mode: `new` leaves out what a server has that keeps the conversation itself.
    """
    if mode == "full":
        return run.raw_messages
    if run.handoff is None:
        return run.raw_new_messages
    new = {message["id"] for message in run.raw_new_messages}
    returned = run.handoff.results
    return [m for m in run.raw_messages if m["id"] in new or m.get("toolCallId") in returned]


def body_of(
    run: Run,
    messages: Sequence[Mapping[str, Json]],
    dialect: Dialect,
    answers: Answers | None = None,
) -> dict[str, Json]:
    """The RunAgentInput of an upstream run, as JSON.

    Args:
        run: the bridge's run.
        messages: that the upstream is to see.
        dialect: in which it is written.
        answers: what was decided, for a run that continues.
    """
    given: dict[str, Any] = run.input.model_dump(
        mode="json", by_alias=True, exclude_none=True, include={"tools", "context"}
    )
    props = run.input.forwarded_props
    forwarded = {
        name: value
        for name, value in (props.items() if isinstance(props, Mapping) else ())
        if name.replace("_", "").lower() not in _OURS
    }
    answering = [{"id": run.mint(), **message} for message in answers.messages] if answers else []
    messages = [*messages, *answering]
    body: dict[str, Json] = {
        "threadId": _thread_of(run),
        # Never the client's, which re-uses them.
        "runId": run.mint(),
        "state": {} if run.state is None else run.state,
        "messages": _spoken(messages, dialect),
        "tools": given.get("tools", []),
        "context": given.get("context", []),
        "forwardedProps": forwarded,
    }
    if dialect != "0.x":
        body["protocolVersion"] = dialect
    if answers is not None and answers.resume:
        given_answers = answers.resume
        body["resume"] = (
            dict(given_answers) if isinstance(given_answers, Mapping) else list(given_answers)
        )
    if answers is not None and answers.command is not None:
        forwarded["command"] = dict(answers.command)
    return body


def _spoken(messages: Sequence[Mapping[str, Json]], dialect: Dialect) -> list[Any]:
    if dialect == NEWEST:
        return list(messages)
    known = first_version_messages(messages)
    if dialect != "0.x":
        return list(known)
    return [
        {key: value for key, value in message.items() if key not in _NEWER_MEMBERS}
        for message in known
        if message["role"] not in _NEWER_ROLES
    ]
