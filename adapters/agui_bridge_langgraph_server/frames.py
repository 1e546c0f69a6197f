"""What a server sends of a graph, made into what the graph itself gives in a process.

So the readers of graphs in this process read those on servers, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.types import PregelTask, StateSnapshot
from pydantic import ValidationError

from agui_bridge.errors import UpstreamError
from agui_bridge_langgraph.checkpoint import MESSAGES

_KINDS: Final[Mapping[str, type[BaseMessage]]] = {
    "ai": AIMessage,
    "AIMessageChunk": AIMessageChunk,
    "chat": ChatMessage,
    "human": HumanMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
}
_OF_A_RUN: Final = "lc_run--"
"""Begins ids that LangChain gives where a model's provider gives none: one for each reply."""

_ID: Final = re.compile("[0-9a-f]{32}")
"""By such ids LangGraph knows that several interrupts are answered, each by its own."""

Part = tuple[tuple[str, ...], str, Any]
"""A part of a graph's stream: its namespace, mode and data, as `Reader.read` has them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An interrupt that waits, as `langgraph.types.Interrupt` has it.

    Attributes:
        id: the interrupt's.
        value: what the graph's code asks.
        response_schema: JSON Schema of the answer, None where the code names none.
    """

    id: str
    value: Any
    response_schema: Any = None


class Frames:
    """Reads the frames of one run's stream."""

    def __init__(self) -> None:
        # By task and message id; and of each task the newest, with whether its message may go on.
        self._about: dict[tuple[str, str | None], dict[str, Any]] = {}
        self._newest: dict[str, tuple[str | None, bool]] = {}

    def part(self, event: str, data: Any) -> Part | None:
        """A part of the graph's stream; None of a frame that is none.

        Args:
            event: the frame's name: a stream mode, and behind it the namespace of a subgraph.
            data: the frame's.

        Raises:
            UpstreamError: it is none that LangGraph sends.
        """
        mode, *namespace = event.split("|")
        try:
            if mode == "messages":
                told, about = data
                message = message_of(told)
                if message is None:
                    return None
                return tuple(namespace), mode, (message, self._same(message, about))
            if mode == "values" and isinstance(data, Mapping):
                return tuple(namespace), mode, values_of(data)
            if mode == "tasks":
                return tuple(namespace), mode, {"name": data["name"], "id": data["id"], **data}
        except (LookupError, TypeError, ValueError) as error:
            raise UpstreamError(f"The LangGraph server sent {mode} in a form unknown here.") from (
                error
            )
        return (tuple(namespace), mode, data) if mode == "custom" else None

    def _same(self, message: BaseMessage, about: dict[str, Any]) -> dict[str, Any]:
        """What LangGraph says of a message: in its own process one object for all its pieces."""
        if not isinstance(message, AIMessageChunk):
            return about
        task = str(about.get("langgraph_checkpoint_ns"))
        key, (before, goes_on) = (task, message.id), self._newest.get(task, (None, False))
        # Some models change the id within a message.
        of_runs = all(str(own).startswith(_OF_A_RUN) for own in (before, message.id))
        if key not in self._about:
            goes_on = goes_on and not of_runs
            self._about[key] = self._about[task, before] if goes_on else about
        self._newest[task] = message.id, message.chunk_position != "last"
        return self._about[key]


def message_of(told: Any) -> BaseMessage | None:
    """A message as LangChain has it; None of a kind that nobody says.

    Raises:
        ValueError: it is no message.
    """
    kind = _KINDS.get(told["type"])
    try:
        return kind(**told) if kind is not None else None
    except ValidationError as error:
        raise ValueError(str(error)) from error


def values_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """A graph's state with its messages as LangChain has them.

    Raises:
        ValueError: there is one that is no message.
    """
    said = told.get(MESSAGES)
    if not isinstance(said, list):
        return dict(told)
    messages = [message_of(one) if _is_message(one) else one for one in said]
    return {**told, MESSAGES: [one for one in messages if one is not None]}


def snapshot_of(told: Mapping[str, Any]) -> StateSnapshot:
    """A graph's state, those of the subgraphs at work in it included.

    Raises:
        UpstreamError: it is none.
    """
    try:
        return _snapshot(told)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UpstreamError("The LangGraph server has a state in a form unknown here.") from error


def _snapshot(told: Mapping[str, Any]) -> StateSnapshot:
    tasks = tuple(map(_task, told.get("tasks") or ()))
    values = told.get("values")
    return StateSnapshot(
        values=values_of(values) if isinstance(values, Mapping) else values,
        next=tuple(told.get("next") or ()),
        config={"configurable": dict(told.get("checkpoint") or {})},
        metadata=told.get("metadata"),
        created_at=told.get("created_at"),
        parent_config=None,
        tasks=tasks,
        interrupts=tuple(found for task in tasks for found in task.interrupts),
    )


def _task(told: Mapping[str, Any]) -> PregelTask:
    below, asked = told.get("state"), tuple(_asked(told.get("interrupts")))
    inner: Any = _snapshot(below) if isinstance(below, Mapping) and "tasks" in below else None
    given: Any = asked
    return PregelTask(
        id=told["id"],
        name=told["name"],
        path=tuple(told.get("path") or ()),
        error=told.get("error"),
        interrupts=given,
        state=inner,
        result=told.get("result"),
    )


def _asked(told: Any) -> Iterator[Asked]:
    for one in told or ():
        own = str(one["id"])
        if not _ID.fullmatch(own):
            # It would take an answer by such an id for the answer itself.
            raise UpstreamError("The LangGraph server is too old: its interrupts have other ids.")
        yield Asked(own, one.get("value"), one.get("response_schema"))


def _is_message(told: Any) -> bool:
    return isinstance(told, Mapping) and isinstance(told.get("type"), str) and "content" in told
