"""The conversation before a question, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agui_bridge.protocol.threads.content_parts import file_name
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.messages.archived import archived_for
from agui_bridge.protocol.threads.records import Json
from agui_bridge.text.visible import visible_json_text, visible_name

__all__ = ["Conversation", "Turn", "conversation_of"]

_MOST: Final = 40
"""Messages that are shown, the last ones."""

_LONGEST: Final = 4_000
"""Characters of a message that are shown."""

_ROLES: Final[Mapping[str, str]] = {
    "user": "Person",
    "assistant": "Agent",
    "tool": "Tool’s result",
    "reasoning": "Agent’s reasoning",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One message.

    Attributes:
        role: whose, as AG-UI has it.
        speaker: whose, in words.
        text: what it says, cut off where it is very long.
        calls: the tool calls in it, as `name(arguments)`, as they are shown.
    """

    role: str
    speaker: str
    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said before a question.

    Attributes:
        turns: the last messages.
        earlier: how many came before those.
    """

    turns: tuple[Turn, ...]
    earlier: int = 0


def conversation_of(messages: Sequence[StoredMessage]) -> Conversation:
    """Show a conversation.

    Args:
        messages: all of it, in order.
    """
    turns = [turn for message in messages if (turn := _turn(message.message)) is not None]
    return Conversation(tuple(turns[-_MOST:]), max(0, len(turns) - _MOST))


def _turn(message: Mapping[str, Json]) -> Turn | None:
    """One message; None where there is nothing in it to be read."""
    role = str(message.get("role", ""))
    if role not in _ROLES:
        return None
    text = " ".join(_texts(message.get("content"))).strip()
    calls = tuple(_calls(message.get("toolCalls") or ()))
    speaker = _ROLES[role]
    if archived_for(message) is not None:
        speaker += " (not sent to the model)"
    return Turn(role, speaker, _cut(text), calls) if text or calls else None


def _texts(content: Json) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list | tuple):
        for part in content:
            if isinstance(part, Mapping):
                text = part.get("text")
                yield text if isinstance(text, str) else _named(part)


def _named(part: Mapping[str, Json]) -> str:
    """What stands for a file: its kind, and its name where it has one."""
    kind, name = part.get("type", "part"), file_name(part)
    return f"[{kind}: {name}]" if name else f"[{kind}]"


def _calls(calls: Json) -> Iterator[str]:
    for call in calls:
        function = call.get("function") or {}
        name, arguments = function.get("name", ""), function.get("arguments", "")
        yield _cut(f"{visible_name(name)}({visible_json_text(arguments)})")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text)} characters)"
