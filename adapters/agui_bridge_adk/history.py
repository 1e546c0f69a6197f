"""The conversation as ADK's events: remembered where it can be, else made of AG-UI's messages.

AG-UI's messages lack what ADK goes by: which agent spoke, and so who is asked next after a
transfer; signatures of thoughts; branches. After each run that succeeded the memo holds ADK's own
events, and which messages of the thread they stand for. What came since is made of the thread's
messages; once one of those is gone or changed (an edit, an answer asked anew), all are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from google.adk.events import Event
from google.genai import types
from pydantic import ValidationError

from agui_bridge.adapters import Run
from agui_bridge.media import Handles
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Turn, text_of, turns_of
from agui_bridge_adk.content import user_parts
from agui_bridge_adk.state import without_context

_HISTORY: Final = "history"
"""The invocation of events that were made of messages."""

_GO_ON: Final = "Go on."
"""What a model is asked with where the conversation ends in its own words; it takes no silence."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a run begins with.

    Attributes:
        events: what has been said and done.
        said: what the user says now.
        author: the agent that spoke last, as far as it is known.
        private: state that no client sees.
    """

    events: list[Event]
    said: types.Content
    author: str
    private: dict[str, Json] = field(default_factory=dict)


def dumped(events: Iterable[Event]) -> list[Json]:
    """Events as JSON, without what is empty, and without changes of a state that is kept anyway."""
    made = []
    for event in events:
        told: dict[str, Any] = json.loads(event.model_dump_json(by_alias=True, exclude_none=True))
        actions = told.get("actions") or {}
        actions.pop("stateDelta", None)
        without_context(told)
        told["actions"] = {name: value for name, value in actions.items() if value not in ({}, [])}
        made.append(told)
    return made


def loaded(events: Iterable[Json]) -> list[Event]:
    """Events from what `dumped` gave, or from the texts of it.

    Raises:
        ValidationError: the installed ADK reads them no more.
    """
    texts = (event if isinstance(event, str) else json.dumps(event) for event in events)
    return [Event.model_validate_json(text) for text in texts]


def read_conversation(run: Run, root: str, handles: Handles) -> Conversation:
    """What the agents have been told and have said, and what they are asked now.

    Args:
        run: the run.
        root: name of the agent that has the conversation where nobody else is known to.
        handles: the handles of files that the models take.
    """
    memo = run.memo if isinstance(run.memo, dict) else {}
    events, rest = _remembered(run, memo)
    author = str(memo.get("author") or root)
    turns = turns_of(rest)
    said = user_parts(turns.pop().content, handles) if turns and turns[-1].role == "user" else []
    return Conversation(
        [*events, *_events(turns, author, handles)],
        types.Content(role="user", parts=said or [types.Part(text=_GO_ON)]),
        author,
        dict(memo.get("state") or {}),
    )


def instructions_of(run: Run) -> list[str]:
    """What the application tells the model in its own name: ADK has no such events."""
    return [text_of(turn.content) for turn in run.turns() if turn.role == "system"]


def memo_of(
    run: Run, said: Iterable[str], events: Sequence[Event], author: str, private: Json
) -> Json:
    """What to remember of a run that succeeded.

    Args:
        run: the run.
        said: ids of the assistant's messages that it told, in their order.
        events: all of the conversation.
        author: the agent that spoke last.
        private: state that no client sees.
    """
    return {
        "marks": [*marks_of(run.raw_messages), *said],
        # As texts: whoever checks, copies and stores them has nothing to walk through.
        "events": [json.dumps(event) for event in dumped(events)],
        "author": author,
        "state": private,
    }


def _remembered(run: Run, memo: dict[str, Any]) -> tuple[list[Event], Sequence[Any]]:
    """The events that the memo holds, if they still stand, and the thread's messages since."""
    rest = unmarked(run.raw_messages, memo.get("marks") or ())
    if rest is None:
        return [], run.raw_messages
    try:
        return loaded(memo.get("events") or ()), rest
    except ValidationError:
        # Another version of ADK wrote it.
        return [], run.raw_messages


def _events(turns: Iterable[Turn], author: str, handles: Handles) -> Iterator[Event]:
    for turn in turns:
        if turn.role == "user":
            if parts := user_parts(turn.content, handles):
                yield _event("user", "user", parts)
        elif turn.role == "assistant":
            text = text_of(turn.content)
            said = [types.Part(text=text)] if text else []
            for call in turn.calls:
                args = json.loads(call.arguments)
                made = types.FunctionCall(id=call.id, name=call.name, args=args)
                said.append(types.Part(function_call=made))
            yield _event(author, "model", said)
            if turn.calls:
                yield _event(author, "user", [_response(call) for call in turn.calls])


def _response(call: Any) -> types.Part:
    made = types.FunctionResponse(
        id=call.id, name=call.name, response={"result": text_of(call.result)}
    )
    return types.Part(function_response=made)


def _event(author: str, role: str, parts: list[types.Part]) -> Event:
    content = types.Content(role=role, parts=parts)
    return Event(author=author, invocation_id=_HISTORY, content=content)
