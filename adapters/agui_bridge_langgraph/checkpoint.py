"""What a graph is given, so that its checkpoint and the thread tell one conversation.

The graph keeps the conversation itself, and of it only what came to an end: no text that a stop cut
off, no result of a call that nobody answered. And it does not know what people took back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    run: Run, kept: Sequence[BaseMessage], new: Sequence[BaseMessage]
) -> tuple[list[BaseMessage], bool]:
    """The messages that a fresh run begins with, or those that it adds.

    Args:
        run: the run.
        kept: the messages that the graph has.
        new: what people say now.

    Returns:
        the messages, and whether they are all, in place of those that the graph has.
    """
    stands = kept[: _taken_back(run, kept)] if run.superseded else kept
    mended = list(_mended(run, stands))
    added = [*_cut_off(run, mended), *new]
    if [id(m) for m in mended] == [id(m) for m in kept]:
        return added, False
    return [*mended, *added], True


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


def _taken_back(run: Run, kept: Sequence[BaseMessage]) -> int:
    """How many of the messages still stand: people edit messages, or have them answered anew.

    What people say has the thread's ids. Of what a model says some providers change the id on the
    way: then what came after the last message that stands is gone.
    """
    gone = set(run.superseded)
    for place, message in enumerate(kept):
        if isinstance(message, HumanMessage) and message.id in gone:
            return place
    known = {message.get("id") for message in run.raw_messages}
    places = [place for place, message in enumerate(kept) if message.id in known]
    return places[-1] + 1 if places else len(kept)


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


def _cut_off(run: Run, messages: Sequence[BaseMessage]) -> Iterator[AIMessage]:
    """What earlier runs said before they were stopped: the graph keeps whole messages only."""
    texts = {str(message.text) for message in messages if isinstance(message, AIMessage)}
    ids = {message.id for message in messages}
    for message in run.unkept:
        if message.get("role") != "assistant" or message.get("subagentRunId") is not None:
            continue
        text = text_of(message.get("content") or "")
        # By its text, too, since some providers change the id on the way.
        if text and message.get("id") not in ids and text not in texts:
            yield AIMessage(text, id=message.get("id"))
