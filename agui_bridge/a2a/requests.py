"""What requests say: a message with its parts and answers, the ids of tasks, and counts.

Source: the A2A specification 1.0, sections 3.2 and 4.1.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.a2a.faults import Fault, invalid
from agui_bridge.a2a.wire import as_object, content_of, resume_of
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import Json

Params = Mapping[str, Any]

# --- ids of tasks ---


@dataclass(frozen=True, slots=True)
class TaskId:
    """A task: what a message has begun in a thread.

    The id is no secret and grants nothing: whose thread it is follows from who asks.

    Attributes:
        thread: the thread's id, which is that of the context.
        message: id of the message that began it.
    """

    thread: str
    message: str

    def __str__(self) -> str:
        text = json.dumps([self.thread, self.message], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()

    @classmethod
    def read(cls, text: str) -> TaskId | None:
        """The task of an id; None where no server gives such an id."""
        try:
            found: Any = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (binascii.Error, ValueError, RecursionError):
            return None
        fits = isinstance(found, list) and len(found) == 2 and find_forbidden(found) is None
        if not fits or not all(isinstance(part, str) and part for part in found):
            return None
        task = cls(*found)
        # One task has one id: base64 can be written in several ways.
        return task if str(task) == text else None


def task_named(params: Params, field: str = "id") -> TaskId:
    """The task that a request names.

    Raises:
        Fault: it names none, or there can be none of this id.
    """
    task = TaskId.read(needed_text(params, field))
    if task is None:
        raise no_such_task()
    return task


def no_such_task() -> Fault:
    """There is none, or it is somebody else's."""
    return Fault("TASK_NOT_FOUND", "There is no such task: take its id from an answer before.")


# --- messages ---

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_KINDS: Final = ("text", "raw", "url", "data")
_ANSWER: Final = "a2a-answer:"


@dataclass(frozen=True, slots=True)
class Said:
    """A message that a client sends.

    Attributes:
        id: the client's own.
        task: the task that it is for; None: it begins one.
        context: the context that it names; None: a new one, or that of its task.
        content: of AG-UI's message: a text or parts; None where it only answers.
        resume: answers, of whatever shape; None where it has none.
        at_once: whether the client waits for no more than the task's beginning.
        history: messages of the history that it wants at most; None: all.
    """

    id: str
    task: TaskId | None
    context: str | None
    content: str | list[dict[str, Json]] | None
    resume: Json
    at_once: bool
    history: int | None

    @property
    def answer_id(self) -> str:
        """Id of the words that answer a task, which begin none."""
        return _ANSWER + self.id


def begins_task(message: Mapping[str, Any]) -> bool:
    """Whether a message of a conversation has begun a task: it is a user's and no answer."""
    return message["role"] == "user" and not str(message["id"]).startswith(_ANSWER)


def said_in(params: Params) -> Said:
    """Read the parameters of SendMessage.

    Raises:
        Fault: one is missing or wrong; it names the field.
    """
    message = params.get("message")
    if not isinstance(message, Mapping):
        raise invalid("message", "must be an object")
    if message.get("role") != "ROLE_USER":
        raise invalid("message.role", "must be ROLE_USER")
    given = message.get("parts")
    if not isinstance(given, list) or not given:
        raise invalid("message.parts", "must be a list of one part or more")
    parts = [_part(part, f"message.parts[{n}]") for n, part in enumerate(given)]
    options = as_object(params.get("configuration"))
    if options.get("taskPushNotificationConfig") or options.get("pushNotificationConfig"):
        raise Fault(
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
            "Nobody is told of tasks by push notifications here: ask for the task, or subscribe.",
        )
    named = text_of(message, "taskId")
    answers = [part for part in parts if resume_of([part]) is not None]
    if len(answers) > 1:
        raise invalid("message.parts", "must hold all answers in one part")
    id = needed_text(message, "messageId", "message.messageId")
    if id.startswith(_ANSWER):
        # A message of this id would be taken for an answer to the task before.
        raise invalid("message.messageId", f"may not begin with {_ANSWER!r}")
    return Said(
        id,
        None if named is None else task_named(message, "taskId"),
        text_of(message, "contextId"),
        content_of([part for part in parts if part not in answers]),
        resume_of(answers),
        flag_of(options, "returnImmediately"),
        count_of(options, "historyLength"),
    )


def _part(part: Json, place: str) -> Params:
    if not isinstance(part, Mapping):
        raise invalid(place, "must be an object")
    kinds = [kind for kind in _KINDS if kind in part]
    if len(kinds) != 1:
        raise invalid(place, f"must have one of {', '.join(_KINDS)}")
    (kind,) = kinds
    value = part[kind]
    if kind != "data" and not isinstance(value, str):
        raise invalid(f"{place}.{kind}", "must be a text")
    if kind == "raw" and not _BASE64.fullmatch(value):
        raise invalid(f"{place}.raw", "must be bytes in base64")
    return part


# --- single parameters, which the query of an address has as texts ---


def text_of(params: Params, field: str, place: str = "") -> str | None:
    """A text; None where it is left out or empty, as protocol buffers have it.

    Raises:
        Fault: it is no text.
    """
    value = params.get(field)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise invalid(place or field, "must be a text")
    return value


def needed_text(params: Params, field: str, place: str = "") -> str:
    """A text that must be there.

    Raises:
        Fault: it is not, or is no text.
    """
    value = text_of(params, field, place)
    if value is None:
        raise invalid(place or field, "is missing")
    return value


def count_of(params: Params, field: str, least: int = 0, most: int = 2**31 - 1) -> int | None:
    """A whole number; None where it is left out.

    Raises:
        Fault: it is none, or not within its bounds.
    """
    value = params.get(field)
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,10}", value):
        value = int(value)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise invalid(field, f"must be a whole number from {least} to {most}")
    return value


def flag_of(params: Params, field: str) -> bool:
    """Whether something is wanted; left out it is not.

    Raises:
        Fault: it is neither true nor false.
    """
    value = params.get(field, False)
    value = {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value
    if not isinstance(value, bool):
        raise invalid(field, "must be true or false")
    return value
