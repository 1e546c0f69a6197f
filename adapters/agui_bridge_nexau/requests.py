"""What a run sends to NexAU: what the conversation gained, and nothing that NexAU has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from agui_bridge.adapters import Run
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_nexau.pauses import answer_text

__all__ = ["Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """The part of a request that says what is asked.

    Attributes:
        body: `messages`, and `context` and `variables` where the input has them.
        ids: of the user messages in it.
    """

    body: Mapping[str, Json]
    ids: frozenset[str]

    @classmethod
    def of(cls, run: Run, undelivered: Collection[str]) -> Request:
        """Read a run.

        Args:
            run: fresh, or with the answers to a question.
            undelivered: ids of user messages that never reached NexAU.

        Raises:
            UpstreamError: a message has something else than text.
        """
        new = {str(message["id"]) for message in run.raw_new_messages}
        messages = [
            message
            for message in run.raw_messages
            if message["role"] == "user" and (message["id"] in new or message["id"] in undelivered)
        ]
        texts = [*_answers(run), *(_text(message) for message in messages)]
        # An empty list lets NexAU go on where it stands, as after a permission was decided there.
        body: dict[str, Json] = {"messages": [_message(text) for text in texts]}
        if run.input.context:
            body["context"] = {item.description: item.value for item in run.input.context}
        props = run.input.forwarded_props
        if isinstance(props, Mapping) and isinstance(props.get("variables"), dict):
            body["variables"] = props["variables"]
        return cls(body, frozenset(str(message["id"]) for message in messages))


def _answers(run: Run) -> list[str]:
    if run.resume is None:
        return []
    labels: Mapping[str, Any] = (run.resume.continuation or {}).get("labels", {})
    return [
        answer_text(decision, labels.get(native_id, {}))
        for native_id, decision in run.resume.decisions.items()
    ]


def _message(text: str) -> Json:
    # A plain string as content is refused.
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _text(message: Mapping[str, Json]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    if any(part.get("type") != "text" for part in parts):
        raise UpstreamError("NexAU is sent text only: the message has a part of another type.")
    return "".join(str(part.get("text", "")) for part in parts)
