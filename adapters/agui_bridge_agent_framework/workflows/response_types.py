"""Types of responses that a restricted storage can't hold, as values that it can.

A storage takes classes that are registered. It refuses a union and a `Literal`, which pickle makes
with functions, and `Any`. Instead of such a type, its checkpoint has a tuple that begins with a
word.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from agent_framework import WorkflowCheckpoint, WorkflowEvent

_EXECUTORS: Final = "_executor_state"
"""Where a checkpoint has the states of its executors; a workflow's has a checkpoint of its own."""

_INNER: Final = "sub_workflow_checkpoint"

_WORDS: Final[Mapping[str, Any]] = {"any": Any, "more": ...}


def packed(checkpoint: WorkflowCheckpoint) -> WorkflowCheckpoint:
    """A copy for a storage."""
    return _with_types(checkpoint, _pack)


def unpacked(checkpoint: WorkflowCheckpoint) -> WorkflowCheckpoint:
    """A copy of what a storage gave, with the types again."""
    return _with_types(checkpoint, _unpack)


def checkpoint_within(checkpoint: WorkflowCheckpoint, executor: str) -> WorkflowCheckpoint | None:
    """The checkpoint of a workflow that is an executor, by its id; None where there is none."""
    executors = checkpoint.state.get(_EXECUTORS)
    return _inner(executors.get(executor)) if isinstance(executors, dict) else None


def _with_types(checkpoint: WorkflowCheckpoint, change: Callable[[Any], Any]) -> WorkflowCheckpoint:
    """A copy whose requests, those of workflows within it too, have other types."""
    pending = {
        own: _event(event, change) for own, event in checkpoint.pending_request_info_events.items()
    }
    messages = {
        target: [_message(one, change) for one in held]
        for target, held in checkpoint.messages.items()
    }
    state = checkpoint.state
    if isinstance(executors := state.get(_EXECUTORS), dict):
        inner = {own: _executor(held, change) for own, held in executors.items()}
        state = {**state, _EXECUTORS: inner}
    return replace(checkpoint, messages=messages, state=state, pending_request_info_events=pending)


def _event(event: WorkflowEvent[Any], change: Callable[[Any], Any]) -> WorkflowEvent[Any]:
    kind = change(event.response_type)
    if kind is event.response_type:
        return event
    source = event.source_executor_id or ""
    return WorkflowEvent.request_info(event.request_id, source, event.data, kind)


def _message(message: Any, change: Callable[[Any], Any]) -> Any:
    asked = message.original_request_info_event
    if asked is None:
        return message
    return replace(message, original_request_info_event=_event(asked, change))


def _executor(held: Any, change: Callable[[Any], Any]) -> Any:
    inner = _inner(held)
    return {**held, _INNER: _with_types(inner, change)} if inner is not None else held


def _inner(held: Any) -> WorkflowCheckpoint | None:
    inner = held.get(_INNER) if isinstance(held, dict) else None
    return inner if isinstance(inner, WorkflowCheckpoint) else None


def _pack(kind: Any) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    for word, one in _WORDS.items():
        if kind is one:
            return (word,)
    if origin is Literal:
        return ("literal", *args)
    if origin in (Union, UnionType):
        return ("union", *map(_pack, args))
    inner = tuple(map(_pack, args))
    if isinstance(origin, type) and any(
        new is not old for new, old in zip(inner, args, strict=True)
    ):
        return ("generic", origin, *inner)
    return kind


def _unpack(kept: Any) -> Any:
    if not isinstance(kept, tuple):
        return kept
    word, *args = kept
    if word in _WORDS:
        return _WORDS[word]
    if word == "literal":
        return Literal[tuple(args)]
    inner = list(map(_unpack, args))
    if word == "union":
        return functools.reduce(operator.or_, inner)
    origin, *members = inner
    return origin[tuple(members)]
