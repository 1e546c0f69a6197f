"""What a workflow tells: in the body of a callback, or of its answer to a request.

A JSON object with a `type`. docs/webhook.md has its members.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.json_values import canonical, find_forbidden
from agui_bridge.protocol.threads.records import Json

Kind = Literal["message", "question", "finished", "failed"]

_LONGEST_ID: Final = 200
_DEEPEST: Final = 80
"""Levels that may nest: a pause keeps it all, and what it keeps may have a few more."""


class Misread(ValueError):
    """It is not what a workflow may tell; the message says which member is wrong."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a workflow asks.

    Attributes:
        resume_url: where the answer is sent; a secret.
        tool: name of the tool that an approval is asked for; None: it is no approval.
        args: of that call.
        parameters: JSON Schema of the arguments: with it they may be edited.
        schema: JSON Schema of the answer to a question that is no approval.
        expires_in: seconds until it can't be answered.
    """

    resume_url: str
    tool: str | None = None
    args: Mapping[str, Json] | None = None
    parameters: Mapping[str, Json] | None = None
    schema: Mapping[str, Json] | None = None
    expires_in: float | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that a workflow has told.

    Attributes:
        kind: what it is.
        id: the same again is the same thing; a question's name.
        message: what people read.
        question: what it asks.
        result: what `finished` gives.
        tool_result: what came of the call that was approved last.
        remote: the tool's own id of the execution.
        raw: the object itself.
    """

    kind: Kind
    id: str
    message: str
    question: Question | None
    result: Json
    tool_result: str | None
    remote: str | None
    raw: Mapping[str, Json]

    @property
    def ends(self) -> bool:
        """Whether it is the last that is told."""
        return self.kind in ("finished", "failed")


def each_once(pairs: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    """The members of an object, for `json.loads`.

    Raises:
        Misread: a key stands twice: whoever looked at it before may have read the other value.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Misread("A key stands twice in an object.")
    return found


def told_in(body: Json, id: str | None = None) -> Told:
    """Read what a workflow tells.

    Args:
        body: the JSON of it.
        id: its name where it has none itself; None takes one of what it says.

    Raises:
        Misread: it is something else.
    """
    if not isinstance(body, Mapping):
        raise Misread("The body must be a JSON object.")
    kinds = get_args(Kind)
    if body.get("type") not in kinds:
        raise Misread(f"type: must be one of {', '.join(kinds)}.")
    if (fault := find_forbidden(body, max_depth=_DEEPEST)) is not None:
        raise Misread(f"The body: {fault}.")
    kind: Kind = body["type"]
    an_id = f"a text of 1 to {_LONGEST_ID} characters"
    _check(body, "id", _is_id, an_id, needed=kind == "question")
    for name in ("message", "toolResult"):
        _check(body, name, _is_text, "a text", needed=name == "message" and kind == "message")
    _check(body, "executionId", is_remote, "a text or a number, and no step of a path")
    if id is not None and not _is_id(id):
        raise Misread(f"webhook-id: must be {an_id}.")
    remote = body.get("executionId")
    digest = hashlib.sha256(canonical(dict(body)).encode("utf-8", "surrogatepass")).hexdigest()
    return Told(
        kind,
        str(body.get("id") or id or digest[:32]),
        str(body.get("message") or ""),
        _question_in(body) if kind == "question" else None,
        body.get("result"),
        body.get("toolResult"),
        None if remote is None else str(remote),
        body,
    )


def tells(body: Json) -> bool:
    """Whether a JSON value is meant as something that a workflow tells."""
    return isinstance(body, Mapping) and body.get("type") in get_args(Kind)


def _question_in(body: Mapping[str, Any]) -> Question:
    _check(body, "resumeUrl", _is_id_of_any_length, "the address for the answer", needed=True)
    _check(body, "tool", _is_id, f"a name of 1 to {_LONGEST_ID} characters")
    _check(body, "message", _is_id_of_any_length, "a text", needed=body.get("tool") is None)
    for name in ("args", "parameters", "schema"):
        _check(body, name, _is_object, "an object")
    _check(body, "expiresIn", _is_seconds, f"seconds above 0, {LONGEST_WAIT:.0f} at most")
    if body.get("tool") is None and (body.get("args") or body.get("parameters")):
        raise Misread("tool: must name the tool that `args` and `parameters` are of.")
    return Question(
        body["resumeUrl"],
        body.get("tool"),
        body.get("args"),
        body.get("parameters"),
        body.get("schema"),
        body.get("expiresIn"),
    )


def _check(
    body: Mapping[str, Any],
    name: str,
    fits: Callable[[Json], bool],
    what: str,
    *,
    needed: bool = False,
) -> None:
    value = body.get(name)
    if value is None and not needed:
        return
    if not fits(value):
        raise Misread(f"{name}: must be {what}.")


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_id_of_any_length(value: Json) -> bool:
    return isinstance(value, str) and bool(value)


def _is_id(value: Json) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_ID


def is_remote(value: Json) -> bool:
    """Whether it may be a tool's id of an execution, which stands in paths of addresses."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value.bit_length() <= 64
    return _is_id(value) and value not in (".", "..")


def _is_object(value: Json) -> bool:
    return isinstance(value, Mapping)


def _is_seconds(value: Json) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value <= LONGEST_WAIT
