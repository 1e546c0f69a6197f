"""The conversation as Agno's messages: remembered where it can be, else made of AG-UI's.

AG-UI's messages lack what models want back: signatures of thoughts, a provider's own ids. After
each run that succeeded the memo holds Agno's own messages, and which messages of the thread they
stand for. What came since is made of the thread's messages; once one of those is gone or changed
(an edit, an answer asked anew), all are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agno.models.message import Message

from agui_bridge.adapters import Run
from agui_bridge.media import Handles
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Turn, text_of, turns_of
from agui_bridge_agno.content import spoken

__all__ = ["calls_in", "dumped", "loaded", "memo_of", "messages_of", "read_conversation"]


def read_conversation(run: Run, handles: Handles) -> list[Message]:
    """What the model has been told and has said, and what it is asked now; all calls answered.

    Args:
        run: the run.
        handles: the handles of files that the model takes.
    """
    memo = run.memo if isinstance(run.memo, dict) else {}
    rest = unmarked(run.raw_messages, memo.get("marks") or ())
    remembered = memo.get("messages")
    if rest is None or not isinstance(remembered, list):
        return messages_of(run.raw_messages, handles)
    return [*loaded(remembered), *messages_of(rest, handles)]


def messages_of(messages: Sequence[Mapping[str, Any]], handles: Handles) -> list[Message]:
    """AG-UI's messages, as JSON, as Agno's."""
    return [message for turn in turns_of(messages) for message in _messages(turn, handles)]


def dumped(messages: Iterable[Message]) -> list[Json]:
    """Messages as JSON."""
    return [json.loads(json.dumps(one.to_dict(), default=str)) for one in messages]


def loaded(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Messages from what `dumped` gave."""
    return [Message.from_dict(dict(one)) for one in messages]


def memo_of(run: Run, said: Iterable[str], messages: Iterable[Message]) -> Json:
    """What to remember of a run that succeeded.

    Args:
        run: the run.
        said: ids of the assistant's messages that it told, in their order.
        messages: all of the conversation, without the agent's own instructions.
    """
    return {"marks": [*marks_of(run.raw_messages), *said], "messages": dumped(messages)}


def calls_in(output: Any) -> Iterator[str]:
    """The ids of the calls of a run, those of members included.

    Args:
        output: what was kept of Agno's run that goes on, as JSON; None where none does.
    """
    runs = [output] if output is not None else []
    while runs:
        one = runs.pop()
        runs += one.get("member_responses") or ()
        for message in one.get("messages") or ():
            yield from (str(call.get("id")) for call in message.get("tool_calls") or ())


def _messages(turn: Turn, handles: Handles) -> Iterator[Message]:
    if turn.role == "user":
        said = spoken(turn.content, handles)
        if any(said.values()):
            yield Message(role="user", **said)
        return
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in turn.calls
    ]
    yield Message(role=turn.role, content=text_of(turn.content) or None, tool_calls=calls or None)
    for call in turn.calls:
        yield Message(
            role="tool",
            content=text_of(call.result),
            tool_call_id=call.id,
            tool_name=call.name,
        )
