"""What a workflow tells and asks people: functions for its body, on a stream and messages of DBOS.

Each thing told is an item of the workflow's stream `agui_bridge`, written once, also by a workflow
that is recovered. A question is such an item, too. Its name is made in a step, so it is the same
after a recovery, and is the topic on which the workflow waits for the one message that answers it.
Once that has come the workflow says so: whoever sent it knows that it counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from ag_ui.core import BaseEvent
from dbos import DBOS, StepOptions, error as faults
from dbos._context import current_owner_xid
from dbos._dbos import _get_dbos_instance
from pydantic import TypeAdapter

from agui_bridge.protocol.threads.records import Json

STREAM: Final = "agui_bridge"
"""The stream's key."""

_NAMING: Final[StepOptions] = {"name": "agui_bridge.name_question"}
_EVER: Final = 10 * 365 * 86400.0
"""Seconds for which a question waits that does not expire."""
_LATE: Final = 60.0
"""Seconds after a question has expired for which its answer may be under way."""
_ONE_AT_A_TIME: Final = (
    "A workflow asks one thing at a time: let it wait for the answer before it asks the next."
)

_asking: set[tuple[str | None, str | None]] = set()
"""The executions in this process that wait for an answer, by workflow and owner."""

Status = Literal["approved", "declined", "answered", "cancelled", "expired"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What people decided.

    Attributes:
        status: `approved` or `declined`, of a call; `answered`, of a question; `cancelled` or
            `expired`, where nobody decided.
        args: of an approved call: carry it out with exactly these.
        edited: whether they are others than were asked about.
        payload: the answer to a question.
        reason: of a decline, where one was given.
        actor: who decided; "" where nobody said.
        question: the question's name.
    """

    status: Status
    args: Mapping[str, Any]
    edited: bool = False
    payload: Json = None
    reason: str | None = None
    actor: str = ""
    question: str = ""

    @property
    def approved(self) -> bool:
        """Whether the call may be carried out."""
        return self.status == "approved"

    @property
    def answered(self) -> bool:
        """Whether there is a `payload`; it may be null."""
        return self.status == "answered"


def say(told: str | BaseEvent, of: Reply | None = None) -> None:
    """Tell people something; `say_async` in a workflow that is `async`.

    Args:
        told: text, or a content event of AG-UI.
        of: the approval of a call, whose result the text is.
    """
    DBOS.write_stream(STREAM, _told(told, of))


async def say_async(told: str | BaseEvent, of: Reply | None = None) -> None:
    """Tell people something: what `say` does, in a workflow that is `async`.

    Args:
        told: text, or a content event of AG-UI.
        of: the approval of a call, whose result the text is.
    """
    await DBOS.write_stream_async(STREAM, _told(told, of))


def ask(message: str, schema: Any = None, *, expires_in: float | None = None) -> Reply:
    """Ask people something, and wait for the answer; `ask_async` in an `async` workflow.

    Args:
        message: what they read.
        schema: of the answer: a JSON Schema, or any type that pydantic knows; None takes a text.
        expires_in: seconds for which it can be answered; by default as long as it takes.

    Returns:
        The answer, `answered` with its `payload`; or that nobody answered.

    Raises:
        DBOSException: it is called outside of a workflow.
        RuntimeError: the workflow waits for another answer.
    """
    return _wait(_question(message, schema), expires_in)


async def ask_async(message: str, schema: Any = None, *, expires_in: float | None = None) -> Reply:
    """Ask people something, and wait for the answer: what `ask` does, in an `async` workflow.

    Args:
        message: what they read.
        schema: of the answer: a JSON Schema, or any type that pydantic knows; None takes a text.
        expires_in: seconds for which it can be answered; by default as long as it takes.

    Returns:
        The answer, `answered` with its `payload`; or that nobody answered.

    Raises:
        DBOSException: it is called outside of a workflow.
        RuntimeError: the workflow waits for another answer.
    """
    return await _wait_async(_question(message, schema), expires_in)


def approve(
    tool: str,
    args: Mapping[str, Json],
    *,
    message: str | None = None,
    parameters: Any = None,
    expires_in: float | None = None,
) -> Reply:
    """Ask people whether a call may be carried out; `approve_async` in an `async` workflow.

    Args:
        tool: its name: approval rules go by it.
        args: with which it would be carried out.
        message: what people read besides.
        parameters: what edited arguments must satisfy: the function itself, a type or a JSON
            Schema. Without it they can't be edited.
        expires_in: seconds for which it can be answered; by default as long as it takes.

    Returns:
        The decision: the call may be carried out if it is `approved`, with its `args`.

    Raises:
        DBOSException: it is called outside of a workflow.
        RuntimeError: the workflow waits for another answer.
    """
    return _wait(_call(tool, args, message, parameters), expires_in)


async def approve_async(
    tool: str,
    args: Mapping[str, Json],
    *,
    message: str | None = None,
    parameters: Any = None,
    expires_in: float | None = None,
) -> Reply:
    """Ask people whether a call may be carried out: what `approve` does, in an `async` workflow.

    Args:
        tool: its name: approval rules go by it.
        args: with which it would be carried out.
        message: what people read besides.
        parameters: what edited arguments must satisfy: the function itself, a type or a JSON
            Schema. Without it they can't be edited.
        expires_in: seconds for which it can be answered; by default as long as it takes.

    Returns:
        The decision: the call may be carried out if it is `approved`, with its `args`.

    Raises:
        DBOSException: it is called outside of a workflow.
        RuntimeError: the workflow waits for another answer.
    """
    return await _wait_async(_call(tool, args, message, parameters), expires_in)


def _told(told: str | BaseEvent, of: Reply | None) -> dict[str, Json]:
    if isinstance(told, BaseEvent):
        event = told.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"kind": "event", "event": event}
    if of is None:
        return {"kind": "text", "text": str(told)}
    return {"kind": "result", "of": of.question, "text": str(told)}


def _question(message: str, schema: Any) -> dict[str, Json]:
    return {"message": message, "schema": _schema_of(schema)}


def _call(
    tool: str, args: Mapping[str, Json], message: str | None, parameters: Any
) -> dict[str, Json]:
    asked = {"tool": tool, "args": dict(args), "parameters": _schema_of(parameters)}
    return {"message": message, **asked}


def _schema_of(kind: Any) -> dict[str, Json] | None:
    if kind is None:
        return None
    if isinstance(kind, Mapping):
        return dict(kind)
    made: dict[str, Json] = TypeAdapter(kind).json_schema()
    return made


def _wait(asked: dict[str, Json], expires_in: float | None) -> Reply:
    with _alone():
        name = DBOS.run_step(_NAMING, _new_name)
        DBOS.write_stream(STREAM, _put(name, asked, expires_in))
        heard = DBOS.recv(name, timeout_seconds=_patience(expires_in))
        _go_on()
        reply = _reply(name, heard)
        DBOS.write_stream(STREAM, {"kind": "heard", "id": name, "status": reply.status})
    return reply


async def _wait_async(asked: dict[str, Json], expires_in: float | None) -> Reply:
    with _alone():
        name = await DBOS.run_step_async(_NAMING, _new_name)
        await DBOS.write_stream_async(STREAM, _put(name, asked, expires_in))
        heard = await DBOS.recv_async(name, timeout_seconds=_patience(expires_in))
        await asyncio.to_thread(_go_on)
        reply = _reply(name, heard)
        told = {"kind": "heard", "id": name, "status": reply.status}
        await DBOS.write_stream_async(STREAM, told)
    return reply


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let a workflow ask nothing beside a question.

    DBOS knows steps by their order. In a recovery it may be another one, and each of two questions
    be given the other's answer.
    """
    workflow = DBOS.workflow_id
    execution = (workflow, None if workflow is None else current_owner_xid(workflow))
    if execution in _asking:
        raise RuntimeError(_ONE_AT_A_TIME)
    _asking.add(execution)
    try:
        yield
    finally:
        _asking.discard(execution)


def _go_on() -> None:
    """Let an execution go no further whose workflow was given to another one while it waited.

    Both wake at a message. DBOS lets one take it, and then reads to the other what was recorded of
    that: it would begin the step that follows beside the first.
    """
    workflow = DBOS.workflow_id
    assert workflow is not None, "DBOS takes messages within workflows alone"
    owner = _get_dbos_instance()._sys_db.get_workflow_owner(workflow)
    if owner != current_owner_xid(workflow):
        # DBOS has it end, with the outcome of the other.
        raise faults.DBOSWorkflowConflictIDError(workflow)


def _new_name() -> str:
    return f"q-{secrets.token_hex(10)}"


def _put(name: str, asked: Mapping[str, Json], expires_in: float | None) -> dict[str, Json]:
    # The bridge may hear of it later, but it expires when the workflow waits no more.
    expires_at = None if expires_in is None else time.time() + expires_in
    return {"kind": "question", "id": name, "expires_at": expires_at, **asked}


def _patience(expires_in: float | None) -> float:
    return _EVER if expires_in is None else expires_in + _LATE


def _reply(name: str, heard: Mapping[str, Any] | None) -> Reply:
    return Reply("expired", {}, question=name) if heard is None else Reply(**heard, question=name)
