"""The conversation as the Responses API's items: remembered where it can be, else made of AG-UI's.

AG-UI's messages lack what models want back: reasoning with its encrypted content, items' own ids,
calls that a provider carried out. After each run that succeeded the memo holds the SDK's own items,
and which messages of the thread they stand for. What came since is made of the thread's messages;
once one of those is gone or changed (an edit, an answer asked anew), all are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Turn, text_of, turns_of
from agui_bridge_openai_agents.content import user_content

__all__ = ["Item", "items_of", "memo_of", "read_conversation"]

Item = dict[str, Any]
"""An input item of the Responses API, as JSON."""


def read_conversation(run: Run) -> list[Item]:
    """What the model has been told and has said, and what it is asked now; all calls answered."""
    memo = run.memo if isinstance(run.memo, dict) else {}
    rest = unmarked(run.raw_messages, memo.get("marks") or ())
    remembered = memo.get("items")
    if rest is None or not isinstance(remembered, list):
        return items_of(run.raw_messages)
    return [*remembered, *items_of(rest)]


def items_of(messages: Sequence[Mapping[str, Any]]) -> list[Item]:
    """AG-UI's messages, as JSON, as items."""
    return [item for turn in turns_of(messages) for item in _items(turn)]


def memo_of(run: Run, said: Iterable[str], items: Sequence[Any]) -> Json:
    """What to remember of a run that succeeded.

    Args:
        run: the run.
        said: ids of the assistant's messages that it told, in their order.
        items: all of the conversation, as the SDK has it.
    """
    made: Json = to_jsonable_python(list(items), exclude_none=True)
    return {"marks": [*marks_of(run.raw_messages), *said], "items": made}


def _items(turn: Turn) -> Iterator[Item]:
    if turn.role == "user":
        if content := user_content(turn.content):
            yield {"role": "user", "content": content}
        return
    if text := text_of(turn.content):
        yield {"role": "developer" if turn.role == "system" else turn.role, "content": text}
    for call in turn.calls:
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
    for call in turn.calls:
        output = text_of(call.result)
        yield {"type": "function_call_output", "call_id": call.id, "output": output}
