"""What the bridge's conversation is for Mastra: messages, a thread and its resource, an input."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agui_bridge.adapters import Run
from agui_bridge.errors import UpstreamError
from agui_bridge.media import left_out, media_of
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.frontend import later_results


def memory_of(run: Run) -> dict[str, str]:
    """The thread and the resource that own the conversation at Mastra.

    The resource is the principal's scope: Mastra refuses another resource's thread. A thread of
    another scope is another thread, whatever its id.
    """
    scope = run.principal.scope
    thread = run.thread_id if scope == "default" else f"{scope}/{run.thread_id}"
    return {"thread": thread, "resource": scope}


def messages_of(run: Run, *, whole: bool) -> list[dict[str, Json]]:
    """The messages to send: the new ones, or the whole conversation where Mastra keeps none.

    Raises:
        UpstreamError: there is none.
    """
    told = _told(run.raw_messages) if whole else new_messages(run)
    if told and not whole:
        return [*later_results(run), *told]
    if not told and run.text:
        # Asked again without anything new: the last question counts.
        told = [{"role": "user", "content": run.text}]
    if not told:
        raise UpstreamError("There is no message to send to Mastra.")
    return told


def new_messages(run: Run) -> list[dict[str, Json]]:
    """The messages that this input added; results of tools are none."""
    return _told(run.raw_new_messages)


def workflow_input(run: Run) -> Json:
    """A workflow's input: `forwardedProps.inputData`, else the message as a JSON object.

    Raises:
        UpstreamError: there is neither.
    """
    props = run.input.forwarded_props
    if isinstance(props, Mapping) and "inputData" in props:
        return props["inputData"]
    try:
        value = json.loads(run.text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UpstreamError(
            "The workflow needs an input: send a message that is a JSON object, or "
            "`forwardedProps.inputData`."
        )
    return value


_ROLES = ("user", "assistant", "system")


def _told(listed: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    return [_message(m) for m in listed if m.get("role") in _ROLES and m.get("content")]


def _message(message: Mapping[str, Json]) -> dict[str, Json]:
    content = message["content"]
    if isinstance(content, list):
        content = [*map(_part, content)]
    return {"role": message["role"], "content": content}


def _part(part: Mapping[str, Any]) -> dict[str, Json]:
    """A part of a message as Mastra's model interface has it; words for what it has no place for.

    To it a handle of a provider's would be an address, or bytes.
    """
    if part.get("type") == "text":
        return {"type": "text", "text": part["text"]}
    media = media_of(part)
    if media.by not in ("data", "url"):
        return {"type": "text", "text": left_out(media)}
    if media.part == "image":
        told: dict[str, Json] = {"type": "image", "image": media.value}
        return {**told, "mediaType": media.media_type} if media.media_type else told
    media_type = media.media_type or "application/octet-stream"
    return {"type": "file", "data": media.value, "mediaType": media_type}
