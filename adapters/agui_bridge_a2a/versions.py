"""The JSON of A2A 0.3 and of 1.0: written in one form here, that of 1.0.

1.0 tells parts by their member (`text`, `raw`, `url`, `data`), and writes states and roles in
capitals; 0.3 has a `kind` in each object. A stream's event of 1.0 has one member that names it.

Source: the A2A specification 1.0, appendix A ("Migration"), and 0.3, sections 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from agui_bridge.a2a.wire import as_object, as_objects, as_text
from agui_bridge.protocol.threads.records import Json

Version = Literal["1.0", "0.3"]
Kind = Literal["task", "message", "statusUpdate", "artifactUpdate"]

_KINDS: Final[Mapping[str, Kind]] = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}
_STATE: Final = "TASK_STATE_"


@dataclass(frozen=True, slots=True)
class Event:
    """What a server tells of a task, in the form of 1.0.

    Attributes:
        kind: what it is.
        body: the object itself.
    """

    kind: Kind
    body: Mapping[str, Any]


def event_of(told: Json, version: Version) -> Event | None:
    """Read an event of a stream, or what a message was answered with; None for an unknown one."""
    told = as_object(told)
    if version == "0.3":
        kind = _KINDS.get(as_text(told.get("kind")))
        return None if kind is None else Event(kind, _READ[kind](told))
    for name in _KINDS.values():
        if isinstance(told.get(name), Mapping):
            return Event(name, told[name])
    return None


def task_event(told: Json, version: Version) -> Event:
    """Read a task as it is told to who asks for it."""
    told = as_object(told)
    return Event("task", _task(told) if version == "0.3" else told)


def written(message: Mapping[str, Any], version: Version) -> Mapping[str, Any]:
    """A message of 1.0's form as a server of that version takes it."""
    if version == "1.0":
        return message
    parts = [_part_written(part) for part in message["parts"]]
    return {**message, "kind": "message", "role": "user", "parts": parts}


def _part_written(part: Mapping[str, Any]) -> dict[str, Any]:
    if "text" in part:
        return {"kind": "text", "text": part["text"]}
    if "data" in part:
        return {"kind": "data", "data": part["data"]}
    where = {"bytes": part["raw"]} if "raw" in part else {"uri": part["url"]}
    named = {"mimeType": part.get("mediaType"), "name": part.get("filename")}
    return {"kind": "file", "file": {**where, **{k: v for k, v in named.items() if v}}}


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    match part.get("kind"):
        case "text":
            return {"text": part.get("text")}
        case "data":
            return {"data": part.get("data")}
        case "file":
            file = as_object(part.get("file"))
            names = {"raw": "bytes", "url": "uri", "mediaType": "mimeType", "filename": "name"}
            return {to: file[name] for to, name in names.items() if name in file}
    return {}


def _message(told: Mapping[str, Any]) -> dict[str, Any]:
    role = "ROLE_AGENT" if told.get("role") == "agent" else "ROLE_USER"
    return {**told, "role": role, "parts": [_part(p) for p in as_objects(told.get("parts"))]}


def _status(told: Mapping[str, Any]) -> dict[str, Any]:
    state = _STATE + as_text(told.get("state")).upper().replace("-", "_")
    message = told.get("message")
    said = {"message": _message(message)} if isinstance(message, Mapping) else {}
    return {**told, "state": state, **said}


def _artifact(told: Mapping[str, Any]) -> dict[str, Any]:
    return {**told, "parts": [_part(p) for p in as_objects(told.get("parts"))]}


def _task(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **told,
        "status": _status(as_object(told.get("status"))),
        "artifacts": [_artifact(each) for each in as_objects(told.get("artifacts"))],
        "history": [_message(each) for each in as_objects(told.get("history"))],
    }


def _status_update(told: Mapping[str, Any]) -> dict[str, Any]:
    return {**told, "status": _status(as_object(told.get("status")))}


def _artifact_update(told: Mapping[str, Any]) -> dict[str, Any]:
    return {**told, "artifact": _artifact(as_object(told.get("artifact")))}


_READ: Final[Mapping[Kind, Any]] = {
    "task": _task,
    "message": _message,
    "statusUpdate": _status_update,
    "artifactUpdate": _artifact_update,
}
