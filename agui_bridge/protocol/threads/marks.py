"""Which messages of a thread something stands for that was noted after an earlier run.

Whoever remembers a conversation in a form of its own must know what came since, and notice that a
message was edited, or that an answer was asked for anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_bridge.protocol.json_values import canonical

_MARKED: Final = ("user", "assistant", "system", "developer")


def marks_of(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """What tells each message apart, results of tools aside; of what people write the text, too.

    The mark of an assistant's message is its id.

    Args:
        messages: AG-UI messages as JSON, in order.
    """
    marks = []
    for message in messages:
        if message.get("role") == "assistant":
            marks.append(str(message.get("id")))
        elif message.get("role") in _MARKED:
            text = canonical(message.get("content"))
            marks.append(f"{message.get('id')}:{hashlib.sha256(text.encode()).hexdigest()[:16]}")
    return marks


def unmarked(
    messages: Sequence[Mapping[str, Any]], marks: Sequence[str]
) -> Sequence[Mapping[str, Any]] | None:
    """The messages after those that the marks are of; None if one of those is gone or changed.

    Args:
        messages: AG-UI messages as JSON, in order.
        marks: what `marks_of` gave, perhaps continued by ids of the assistant's messages.
    """
    if marks_of(messages)[: len(marks)] != list(marks):
        return None
    left = len(marks)
    for place, message in enumerate(messages):
        if not left and message.get("role") in _MARKED:
            return messages[place:]
        left -= message.get("role") in _MARKED
    return []
