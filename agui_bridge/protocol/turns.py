"""The conversation as turns: what a model is told of it, whatever its API.

A thread's messages are what clients show. A model wants something stricter: each call answered,
right after the reply that asked for it, and no two turns of one side in a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Literal

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.answers.unexecuted import UNTOLD

# --- tool calls whose arguments a person edited ---
#
# What runs stands in them, what was proposed beside.
#
# The conversation tells what was done. An agent that reads there what it had proposed would take it
# for what ran. What it proposed is kept in the metadata of the message, for pages that show both.

_OURS, _PROPOSED = "agui_bridge", "proposed"


def proposed_arguments(metadata: Any) -> Mapping[str, str]:
    """The arguments as the agent proposed them, JSON as text, by the id of each edited call.

    Args:
        metadata: of an assistant's message; clients may have sent it.
    """
    ours = metadata.get(_OURS) if isinstance(metadata, Mapping) else None
    proposed = ours.get(_PROPOSED) if isinstance(ours, Mapping) else None
    calls = proposed.items() if isinstance(proposed, Mapping) else ()
    return {call: text for call, text in calls if isinstance(text, str)}


def with_executed(message: Mapping[str, Any], call_id: str, arguments: str) -> dict[str, Any]:
    """A message whose call has the arguments that a person made of those proposed.

    Args:
        message: an assistant's, with the call.
        call_id: the call.
        arguments: a JSON object as text.
    """
    (before,) = (c["function"]["arguments"] for c in message["toolCalls"] if c["id"] == call_id)
    proposed = {call_id: before, **proposed_arguments(message.get("metadata"))}
    return _marked(with_arguments(message, call_id, arguments), proposed)


def with_proposed(message: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    """The message as it was before `with_executed`, where nothing came of the edit."""
    proposed = dict(proposed_arguments(message.get("metadata")))
    before = proposed.pop(call_id, None)
    if before is None:
        return dict(message)
    return _marked(with_arguments(message, call_id, before), proposed)


def with_arguments(message: Mapping[str, Any], call_id: str, arguments: str) -> dict[str, Any]:
    """A message whose call has other arguments, a JSON object as text."""
    calls = [
        {**call, "function": {**call["function"], "arguments": arguments}}
        if call["id"] == call_id
        else call
        for call in message["toolCalls"]
    ]
    return {**message, "toolCalls": calls}


def _marked(message: dict[str, Any], proposed: Mapping[str, str]) -> dict[str, Any]:
    metadata = dict(message.pop("metadata", None) or {})
    before = metadata.pop(_OURS, None)
    ours = dict(before) if isinstance(before, Mapping) else {}
    ours.pop(_PROPOSED, None)
    if proposed:
        ours[_PROPOSED] = dict(proposed)
    if ours:
        metadata[_OURS] = ours
    return {**message, "metadata": metadata} if metadata else message


Side = Literal["system", "user", "assistant"]

Content = str | list[dict[str, Any]]
"""Text, or AG-UI's content parts: `{"type": "text", "text": …}`, `{"type": "image", …}`, …"""


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call of a turn, and what came of it.

    Attributes:
        id: the call's.
        name: the tool.
        arguments: a JSON object as text; `{}` where they were cut off or are none.
        result: what came of it: text, or content parts; a sentence where nobody knows.
        proposed: the arguments as the agent wrote them, where a person edited them; else None.
    """

    id: str
    name: str
    arguments: str
    result: Content
    proposed: str | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said, neighbouring messages in one.

    Attributes:
        role: `system` stands for AG-UI's `developer`, too.
        content: what was said; "" for an assistant that only called tools.
        calls: an assistant's tool calls, each with its result.
    """

    role: Side
    content: Content
    calls: tuple[CalledTool, ...] = field(default=())


_SIDES: Final[Mapping[str, Side]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
"""Who speaks, by the role of a message."""


def turns_of(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """Make turns of a thread's messages.

    Left out are reasoning, activities, what sub-agents said (their results are there, of the calls
    that began them), and messages that say nothing.

    Args:
        messages: AG-UI messages as JSON, in order.
    """
    results = {
        message.get("toolCallId"): result_of(message) or ""
        for message in messages
        if message.get("role") == "tool"
    }
    turns: list[_GrowingTurn] = []
    answered = False
    for message in messages:
        if message.get("subagentRunId") is not None:
            continue
        role = message.get("role")
        if role == "tool":
            # What the assistant says next, it says in the light of this.
            answered = True
            continue
        content = message.get("content") or ""
        calls = tuple(_calls(message, results)) if message.get("toolCalls") else ()
        if (side := _SIDES.get(role or "")) is None or not (content or calls):
            continue
        before = turns[-1] if turns else None
        if before is None or before.role != side or (before.calls and answered):
            turns.append(before := _GrowingTurn(side))
        before.add(content, calls)
        answered = False
    return [turn.whole() for turn in turns]


def result_of(message: Mapping[str, Any]) -> Any:
    """What a tool message says of its call: its content, and its `error` in words, if it has one.

    Args:
        message: as JSON.
    """
    content, error = message.get("content"), message.get("error")
    return failed_result(content, error) if isinstance(error, str) and error else content


def failed_result(content: Any, error: str) -> Content:
    """What a model reads of a call that failed at the application.

    Args:
        content: the result that came with the error, if any.
        error: what the application says of it.
    """
    failed = f"The tool failed: {error}"
    if isinstance(content, list):
        return [*content, {"type": "text", "text": failed}]
    said = content if isinstance(content, str) and content.strip() != error else ""
    return f"{said}\n\n{failed}" if said.strip() else failed


def text_of(content: Content) -> str:
    """The text of a content; of parts the texts among them."""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


class _GrowingTurn:
    """A turn to which neighbouring messages are added."""

    __slots__ = ("_parts", "_texts", "calls", "role")

    def __init__(self, role: Side) -> None:
        self.role = role
        self.calls: tuple[CalledTool, ...] = ()
        self._texts: list[str] = []
        self._parts: list[dict[str, Any]] | None = None

    def add(self, content: Content, calls: tuple[CalledTool, ...]) -> None:
        self.calls += calls
        if self._parts is None and isinstance(content, str):
            self._texts.append(content)
            return
        if self._parts is None:
            self._parts = _parts(self._text)
        self._parts += _parts(content)

    def whole(self) -> Turn:
        return Turn(self.role, self._text if self._parts is None else self._parts, self.calls)

    @property
    def _text(self) -> str:
        return "\n\n".join(filter(None, self._texts))


def _calls(message: Mapping[str, Any], results: Mapping[Any, Content]) -> Iterable[CalledTool]:
    proposed = proposed_arguments(message.get("metadata"))
    for call in message.get("toolCalls") or ():
        function = call["function"]
        arguments = function.get("arguments") or "{}"
        yield CalledTool(
            call["id"],
            function["name"],
            arguments if _is_object(arguments) else "{}",
            results.get(call["id"], UNTOLD),
            proposed.get(call["id"]),
        )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _parts(content: Content) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)
