"""What the adapter of A2A agents and the bridge's own A2A server have in common of the wire.

A2A has no schema of an answer, and one question a task. The bridge's extension has all that a pause
asks: a data part with the interrupts as AG-UI has them, and answers as a data part with `resume`.

Source: the A2A specification 1.0, sections 4.1 ("Core objects") and 4.6 ("Extensions");
docs/a2a-server.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from agui_bridge.media import left_out, media_of
from agui_bridge.protocol.threads.content_parts import file_name
from agui_bridge.protocol.threads.records import Json

Part = Mapping[str, Json]

WELL_KNOWN: Final = "/.well-known/agent-card.json"
"""Where an agent's card is, below its server's address."""

VERSION: Final = "1.0"

SUBMITTED: Final = "TASK_STATE_SUBMITTED"
WORKING: Final = "TASK_STATE_WORKING"
COMPLETED: Final = "TASK_STATE_COMPLETED"
FAILED: Final = "TASK_STATE_FAILED"
CANCELED: Final = "TASK_STATE_CANCELED"
REJECTED: Final = "TASK_STATE_REJECTED"
INPUT_REQUIRED: Final = "TASK_STATE_INPUT_REQUIRED"
AUTH_REQUIRED: Final = "TASK_STATE_AUTH_REQUIRED"

ENDS: Final = frozenset({COMPLETED, FAILED, CANCELED, REJECTED})
ASKS: Final = frozenset({INPUT_REQUIRED, AUTH_REQUIRED})
STATES: Final = ENDS | ASKS | {SUBMITTED, WORKING}

INTERRUPTS: Final = "urn:agui-bridge:a2a:interrupts:v1"
"""The URI of the extension."""


def as_object(value: Json) -> Mapping[str, Any]:
    """A member that should be an object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_objects(value: Json) -> list[Mapping[str, Any]]:
    """The objects of a member that should be a list of them."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def as_text(value: Json) -> str:
    """A member that should be a text, or an empty one."""
    return value if isinstance(value, str) else ""


# --- what people say: parts of A2A, and of AG-UI's messages ---


def parts_of(content: Json) -> list[Part]:
    """The content of a message of AG-UI's as parts."""
    if not content:
        return []
    given = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [_part(part) for part in given]


def _part(part: Mapping[str, Any]) -> Part:
    """A part as A2A has it; words for a handle of a provider's, which nobody else can read."""
    if part.get("type") == "text":
        return {"text": part["text"]}
    media = media_of(part)
    if media.by not in ("data", "url"):
        return {"text": left_out(media)}
    named = {"mediaType": media.media_type, "filename": file_name(part)}
    where = {"raw" if media.by == "data" else "url": media.value}
    return {**where, **{name: value for name, value in named.items() if value}}


def content_of(parts: Sequence[Part]) -> str | list[dict[str, Json]] | None:
    """Parts as the content of a message of AG-UI's; data becomes text. None where there are none.

    One text stands alone, as most clients of AG-UI send it.
    """
    made = [_agui_part(part) for part in parts]
    if not made:
        return None
    return str(made[0]["text"]) if len(made) == 1 and "text" in made[0] else made


def _agui_part(part: Mapping[str, Any]) -> dict[str, Json]:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    if "data" in part:
        return {"type": "text", "text": json.dumps(part["data"], ensure_ascii=False)}
    media = as_text(part.get("mediaType")) or "application/octet-stream"
    group = media.partition("/")[0]
    by = "data" if "raw" in part else "url"
    # Protocol buffers read either alphabet of base64.
    value = part["raw"].translate(_STANDARD) if "raw" in part else part["url"]
    name = as_text(part.get("filename"))
    return {
        "type": group if group in ("image", "audio", "video") else "document",
        "source": {"type": by, "value": value, "mimeType": media},
        **({"metadata": {"filename": name}} if name else {}),
    }


_STANDARD: Final = str.maketrans("-_", "+/")


# --- the extension ---


def interrupts_part(interrupts: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The part that has all that a task asks.

    Args:
        interrupts: as AG-UI has them; `toolCall` is the call that an approval lets run.
    """
    return {"data": {"interrupts": [*interrupts]}, "mediaType": "application/json"}


def interrupts_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a task asks by the extension; nothing where its message does not name it."""
    if INTERRUPTS not in (message.get("extensions") or ()):
        return []
    for part in as_objects(message.get("parts")):
        found = as_objects(as_object(part.get("data")).get("interrupts"))
        if found:
            return found
    return []


def resume_part(entries: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The part that answers, an entry for each interrupt, as in AG-UI's input."""
    return {"data": {"resume": [*entries]}, "mediaType": "application/json"}


def resume_of(parts: Iterable[Mapping[str, Any]]) -> Json:
    """The answers in a message's parts, of whatever shape; None where there are none."""
    for part in parts:
        data = part.get("data")
        if isinstance(data, Mapping) and "resume" in data:
            return _with_integers(data["resume"])
    return None


def _with_integers(value: Json) -> Json:
    """A value in which each number that is whole is an integer.

    Clients that are made of protocol buffers have none: what was 3 they send as 3.0.
    """
    if isinstance(value, Mapping):
        return {name: _with_integers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [*map(_with_integers, value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value
