"""What an agent is told: the person's messages, and what was decided on its questions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from agui_bridge.adapters import Run
from agui_bridge.media import left_out, media_of
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision
from agui_bridge.protocol.threads.records import Json
from agui_bridge_acp.questions import Question

_HISTORY: Final = (
    "This conversation was begun elsewhere. What was said and done so far, as JSON; nothing of it "
    "is to be done again:"
)
_UNKEPT: Final = "What you may lack of the conversation so far, as JSON:"
_NOW: Final = "The user says now:"
_DECIDED: Final = "Your last turn was ended while the user was asked. The user has decided now."
_APPROVED: Final = (
    "The user approved this tool call, which was not carried out yet. Make it now, once, exactly "
    "as it was:"
)
_REFUSED: Final = "Do not make this tool call:"
_ASKED: Final = "You asked:"
_SILENT: Final = "Go on."


def message_prompt(run: Run, *, fresh: bool, images: bool) -> list[Json]:
    """What a message is told as.

    Args:
        run: begun by messages.
        fresh: whether the session has nothing of the conversation.
        images: whether the agent can look at pictures.

    Returns:
        Content blocks of the protocol.
    """
    messages = list(run.raw_messages)
    if fresh:
        place = len(messages)
        while place and messages[place - 1].get("role") == "user":
            place -= 1
        before, now, heading = messages[:place], messages[place:], _HISTORY
    else:
        before, now, heading = list(run.unkept), list(run.raw_new_messages), _UNKEPT
        # A message that is brought again, as after a run that failed.
        now = now or messages[-1:]
    said = [message for message in now if message.get("role") == "user"]
    blocks: list[Json] = []
    if before:
        told = json.dumps([_short(message) for message in before], ensure_ascii=False)
        blocks.append(_text(f"{heading}\n{told}\n\n{_NOW}"))
    blocks += [block for message in said for block in _blocks(message, images=images)]
    return blocks if said else [*blocks, _text(_SILENT)]


def decided_prompt(
    decided: Iterable[tuple[Question, Decision]], run: Run, *, images: bool
) -> list[Json]:
    """What decisions are told as, and what the person said with them.

    Args:
        decided: the questions of the pause, with what became of them.
        run: that goes on with them.
        images: whether the agent can look at pictures.
    """
    told = "\n\n".join([_DECIDED, *(_decision(asked, decision) for asked, decision in decided)])
    along = {message.id for message in run.resume.new_messages} if run.resume is not None else ()
    said = [m for m in run.raw_new_messages if m["id"] in along]
    return [_text(told), *(block for m in said for block in _blocks(m, images=images))]


def _decision(asked: Question, decision: Decision) -> str:
    if asked.call is None:
        told = decision.text
        if isinstance(decision, Answer):
            told = f"The user answered: {told}"
        return f"{_ASKED} {asked.message}\n{told}"
    arguments = json.dumps(asked.call.args, ensure_ascii=False)
    call = f"{asked.call.name} {arguments}"
    if isinstance(decision, Approve):
        return f"{_APPROVED}\n{call}"
    return f"{_REFUSED}\n{call}\n{decision.text}"


def _blocks(message: Mapping[str, Any], *, images: bool) -> list[Json]:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": str(content)}]
    blocks: list[Json] = []
    for part in parts:
        if part.get("type") == "text":
            blocks.append(_text(str(part.get("text", ""))))
            continue
        media = media_of(part)
        if images and media.kind == "image" and media.data is not None:
            kind = media.media_type or "image/png"
            blocks.append({"type": "image", "data": media.value, "mimeType": kind})
        else:
            blocks.append(_text(left_out(media)))
    return blocks


def _short(message: Mapping[str, Any]) -> dict[str, Json]:
    """A message without what is no matter of the agent's."""
    kept = {name: message[name] for name in ("role", "toolCalls", "toolCallId") if name in message}
    texts = _blocks(message, images=False) if message.get("content") else []
    said = "".join(str(block["text"]) for block in texts if isinstance(block, dict))
    return {**kept, "content": said} if said else kept


def _text(text: str) -> Json:
    return {"type": "text", "text": text}
