"""What a graph is given, so that its checkpoint and the thread tell one conversation.

The graph keeps the conversation itself, and of it only what came to an end: no text that a stop cut
off, no result of a call that nobody answered. And it does not know what people took back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.channels import BinaryOperatorAggregate
from langgraph.types import Command, Overwrite
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run
from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import result_of, text_of
from agui_bridge_langgraph.content import read_arguments, user_content

MESSAGES: Final = "messages"
"""The name of the conversation in a graph's state."""


def messages_of(values: Any) -> list[BaseMessage]:
    """The messages of a state; none where it has no such thing."""
    found = values.get(MESSAGES) if isinstance(values, Mapping) else None
    return [m for m in found if isinstance(m, BaseMessage)] if isinstance(found, list) else []


def given_messages(given: Any) -> list[BaseMessage]:
    """The messages of what a graph is given to begin with, or to go on with."""
    values = given.update if isinstance(given, Command) else given
    found = values.get(MESSAGES) if isinstance(values, Mapping) else None
    return messages_of({MESSAGES: found.value if isinstance(found, Overwrite) else found})


def levels(state: Any) -> Iterator[Any]:
    """The snapshot of a graph, and those of the subgraphs that are at work within it."""
    yield state
    for task in state.tasks:
        if hasattr(task.state, "tasks"):
            yield from levels(task.state)


def namespace_of(level: Any) -> str:
    """The namespace of the graph that a snapshot is of; the root's is empty."""
    return str(level.config["configurable"].get("checkpoint_ns") or "")


def unanswered(messages: Sequence[BaseMessage]) -> list[tuple[AIMessage, list[Any]]]:
    """The messages of a conversation that have tool calls without results, each with these.

    Some models give an id to several calls: then a result is that of the one before it.
    """
    made = [(m, call) for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
    numbers = Counter(call["id"] for _, call in made)
    anywhere = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    left: list[tuple[AIMessage, Any]] = []
    for message in messages:
        if isinstance(message, AIMessage):
            left += [
                (message, call)
                for call in message.tool_calls
                if numbers[call["id"]] > 1 or call["id"] not in anywhere
            ]
        elif isinstance(message, ToolMessage):
            same = [n for n, (_, call) in enumerate(left) if call["id"] == message.tool_call_id]
            if same:
                del left[next(n for n in same if left[n][0] is left[same[-1]][0])]
    grouped = groupby(left, key=lambda one: id(one[0]))
    return [
        (of_one[0][0], [call for _, call in of_one])
        for of_one in (list(group) for _, group in grouped)
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
    stands = _without_archived(run, stands) if run.archived else stands
    mended = list(_mended(run, stands))
    added = [*_cut_off(run, mended), *new]
    if [id(m) for m in mended] == [id(m) for m in kept]:
        return added, False
    return [*mended, *added], True


def said_before(run: Run) -> list[BaseMessage]:
    """The thread before this input, for a graph that has lost it, or never had it."""
    new = {message.get("id") for message in run.raw_new_messages}
    # These are given besides.
    cut_off = {message.get("id") for message in run.unkept if message.get("role") == "assistant"}
    calls: set[str] = set()
    made: list[BaseMessage] = []
    for message in run.raw_messages:
        role, own = message.get("role"), message.get("id")
        if own in new or own in cut_off or message.get("subagentRunId") is not None:
            continue
        if role == "assistant":
            told = [_call(call) for call in message.get("toolCalls") or ()]
            calls.update(call["id"] for call in told)
            text = text_of(message.get("content") or "")
            made.append(AIMessage(text, id=own, tool_calls=told))
        elif role == "tool" and message["toolCallId"] in calls:
            text = text_of(result_of(message) or "")
            made.append(ToolMessage(text, id=own, tool_call_id=message["toolCallId"]))
        else:
            made += new_messages([message])
    return made


def _call(call: Mapping[str, Any]) -> Any:
    told = call["function"]
    args = read_arguments(told["arguments"])
    return {"name": told["name"], "args": args if isinstance(args, dict) else {}, "id": call["id"]}


def replaced(graph: Any, name: str, value: Any) -> Any:
    """A value that takes the place of what the graph has, where it would add to it.

    Args:
        graph: a compiled graph.
        name: of the state.
        value: the new value.
    """
    adds = isinstance(graph.channels.get(name), BinaryOperatorAggregate)
    return Overwrite(value) if adds else value


def state_changes(
    replaced: Callable[[str, Any], Any], state: Json, values: Any, names: Collection[str]
) -> dict[str, Any]:
    """What of the shared state is other than what the graph has.

    Args:
        replaced: makes what takes the place of what the graph has of a name.
        state: the state that the frontend and the agent share.
        values: the graph's.
        names: what of it may be changed.
    """
    if not isinstance(state, Mapping):
        return {}
    has: Mapping[str, Any] = values if isinstance(values, Mapping) else {}
    return {
        name: replaced(name, state[name])
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


def _without_archived(run: Run, kept: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages without the turns that left, by what people said in them: see `_taken_back`."""
    gone, leaves = set(run.archived), False
    stands: list[BaseMessage] = []
    for message in kept:
        if isinstance(message, HumanMessage):
            leaves = message.id in gone
        if not leaves or isinstance(message, SystemMessage):
            stands.append(message)
    return stands


def _mended(run: Run, messages: Sequence[BaseMessage]) -> Iterator[BaseMessage]:
    """Messages in which each call is answered: providers refuse others."""
    open_calls = [call for _, calls in unanswered(messages) for call in calls]
    results = _Results(run.raw_messages, messages)
    owed: list[ToolMessage] = []
    for message in messages:
        if owed and not isinstance(message, ToolMessage):
            yield from owed
            owed = []
        yield message
        if isinstance(message, AIMessage):
            owed = [
                ToolMessage(
                    results.of(message, place),
                    tool_call_id=call["id"],
                    name=call["name"],
                    id=run.mint(),
                )
                for place, call in enumerate(message.tool_calls)
                if any(call is one for one in open_calls)
            ]
    yield from owed


class _Results:
    """What the thread has of calls that the graph has no result of.

    Args:
        messages: the thread's.
        kept: the graph's.
    """

    def __init__(self, messages: Sequence[Mapping[str, Any]], kept: Sequence[BaseMessage]) -> None:
        self._numbers = Counter(
            call["id"] for m in kept if isinstance(m, AIMessage) for call in m.tool_calls
        )
        self._contents = {
            message["toolCallId"]: text_of(result_of(message) or "")
            for message in messages
            if message.get("role") == "tool"
        }
        self._calls = {
            message.get("id"): [call["id"] for call in message.get("toolCalls") or ()]
            for message in messages
        }

    def of(self, message: AIMessage, place: int) -> str:
        """The result of a message's call, by its place: to the thread its id may be another."""
        told = self._calls.get(message.id) or []
        if len(told) == len(message.tool_calls):
            return self._contents.get(told[place], UNTOLD)
        # Some providers change the message's id on the way.
        native = message.tool_calls[place]["id"]
        return self._contents.get(native, UNTOLD) if self._numbers[native] == 1 else UNTOLD


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
