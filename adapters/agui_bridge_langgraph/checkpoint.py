"""What a graph is given, so that its checkpoint and the thread tell one conversation.

The graph keeps the conversation itself, and of it only what came to an end: no text that a stop cut
off, no result of a call that nobody answered. And it does not know what people took back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.channels import BinaryOperatorAggregate
from langgraph.types import Overwrite
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run
from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import text_of
from agui_bridge_langgraph.content import user_content

__all__ = [
    "MESSAGES",
    "Memo",
    "conversation",
    "levels",
    "messages_of",
    "new_messages",
    "replaced",
    "state_changes",
    "unanswered",
]

MESSAGES: Final = "messages"
"""The name of the conversation in a graph's state."""


@dataclass(slots=True)
class Memo:
    """What is remembered of a thread from run to run.

    Attributes:
        told: ids in the thread of the graph's messages, by the graph's own; of what people said,
            too. What is not among them the graph's author put there.
        owed: ids of the messages that the graph was not given yet.
    """

    told: dict[str, str] = field(default_factory=dict)
    owed: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, memo: Any) -> Memo:
        """Read what `to_json` wrote, or nothing."""
        return cls(**memo) if isinstance(memo, dict) else cls()

    def to_json(self) -> Json:
        """Write it."""
        return {"told": self.told, "owed": self.owed}


def messages_of(values: Any) -> list[BaseMessage]:
    """The messages of a state; none where it has no such thing."""
    found = values.get(MESSAGES) if isinstance(values, Mapping) else None
    return [m for m in found if isinstance(m, BaseMessage)] if isinstance(found, list) else []


def levels(state: Any) -> Iterator[Any]:
    """The snapshot of a graph, and those of the subgraphs that are at work within it."""
    yield state
    for task in state.tasks:
        if hasattr(task.state, "tasks"):
            yield from levels(task.state)


def unanswered(messages: Sequence[BaseMessage]) -> list[Any]:
    """The tool calls of a conversation that have no result, in order."""
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    return [
        call
        for m in messages
        if isinstance(m, AIMessage)
        for call in m.tool_calls
        if call["id"] not in answered
    ]


def new_messages(messages: Iterable[Mapping[str, Any]]) -> list[BaseMessage]:
    """What people say, as LangChain's messages, under the thread's own ids."""
    made: list[BaseMessage] = []
    for message in messages:
        role, own = message.get("role"), message.get("id")
        if role == "user":
            content = user_content(message.get("content") or "")
            if content:
                made.append(HumanMessage(content, id=own, name=message.get("name")))
        elif role in ("system", "developer"):
            made.append(SystemMessage(text_of(message.get("content") or ""), id=own))
    return made


def conversation(
    run: Run, memo: Memo, kept: Sequence[BaseMessage], new: Sequence[BaseMessage]
) -> tuple[list[BaseMessage], bool]:
    """The messages that a fresh run begins with, or those that it adds.

    Args:
        run: the run.
        memo: what is remembered of the thread.
        kept: the messages that the graph has.
        new: what people say now.

    Returns:
        the messages, and whether they are all, in place of those that the graph has.
    """
    stands = list(kept[: _taken_back(run, memo, kept)])
    mended = list(_mended(run, stands))
    cut = list(_cut_off(run, {str(m.id) for m in mended} | {str(m.id) for m in new}))
    if [id(m) for m in mended] == [id(m) for m in kept]:
        return [*cut, *new], False
    return [*mended, *cut, *new], True


def replaced(graph: Any, name: str, value: Any) -> Any:
    """A value that takes the place of what the graph has, where it would add to it.

    Args:
        graph: a compiled graph.
        name: of the state.
        value: the new value.
    """
    adds = isinstance(graph.channels.get(name), BinaryOperatorAggregate)
    return Overwrite(value) if adds else value


def state_changes(graph: Any, state: Json, values: Any, names: Collection[str]) -> dict[str, Any]:
    """What of the shared state is other than what the graph has.

    Args:
        graph: a compiled graph.
        state: the state that the frontend and the agent share.
        values: the graph's.
        names: what of it may be changed.
    """
    if not isinstance(state, Mapping):
        return {}
    has: Mapping[str, Any] = values if isinstance(values, Mapping) else {}
    return {
        name: replaced(graph, name, state[name])
        for name in names
        if name in state
        and (name not in has or to_jsonable_python(has[name], fallback=str) != state[name])
    }


def _taken_back(run: Run, memo: Memo, kept: Sequence[BaseMessage]) -> int:
    """How many of the messages still stand: people edit messages, or have them answered anew."""
    known = {message.get("id") for message in run.raw_messages}
    for place, message in enumerate(kept):
        told = memo.told.get(str(message.id))
        if told is not None and told not in known and message.id not in known:
            return place
    return len(kept)


def _mended(run: Run, messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    """Messages in which each call is answered: providers refuse others."""
    open_calls = {call["id"] for call in unanswered(messages)}
    results = {
        message["toolCallId"]: text_of(message.get("content") or "")
        for message in run.raw_messages
        if message.get("role") == "tool"
    }
    owed: list[ToolMessage] = []
    for message in messages:
        if owed and not isinstance(message, ToolMessage):
            yield from owed
            owed = []
        yield message
        if isinstance(message, AIMessage):
            owed = [
                ToolMessage(
                    results.get(call["id"], UNTOLD),
                    tool_call_id=call["id"],
                    name=call["name"],
                    id=run.mint(),
                )
                for call in message.tool_calls
                if call["id"] in open_calls
            ]
    yield from owed


def _cut_off(run: Run, known: Collection[str]) -> Iterator[AIMessage]:
    """What the last run said before it was stopped: the graph keeps whole messages only."""
    new = {message.get("id") for message in run.raw_new_messages}
    for message in _last_turn([m for m in run.raw_messages if m.get("id") not in new]):
        mark: Any = message.get("metadata") or {}
        cut = mark.get("agui_bridge", {}).get("truncated")
        if cut and message.get("role") == "assistant" and message.get("id") not in known:
            text = text_of(message.get("content") or "")
            if text:
                yield AIMessage(text, id=message.get("id"))


def _last_turn(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """What came after what people said last."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].get("role") == "user":
            return messages[place + 1 :]
    return messages
