"""The conversation as pydantic-ai's messages: remembered where it can be, else made of AG-UI's.

AG-UI's messages lack what models want back: thinking with its signatures, providers' details,
output tools. After each run that succeeded the memo holds pydantic-ai's own messages, and which
messages of the thread they stand for. What came since is made of the thread's messages; once one of
those is gone or changed (an edit, an answer asked anew), all are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_core import PydanticSerializationError

from agui_bridge.adapters import Run
from agui_bridge.media import Handles
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Turn, text_of, turns_of
from agui_bridge_pydantic_ai.content import user_content

Prompt = str | list[UserContent] | None


def dumped(messages: Sequence[ModelMessage]) -> Json:
    """Messages as JSON."""
    made: Json = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return made


def loaded(messages: Json) -> list[ModelMessage]:
    """Messages from what `dumped` or `_written` gave."""
    if isinstance(messages, str):
        return ModelMessagesTypeAdapter.validate_json(messages)
    return ModelMessagesTypeAdapter.validate_python(messages)


def read_conversation(run: Run, handles: Handles) -> tuple[list[ModelMessage], Prompt]:
    """What the model has been told and has said, and what it is asked now.

    Every call in it has a result: pydantic-ai would execute one that has none.

    Args:
        run: the run.
        handles: the handles of files that the model takes.
    """
    history, rest = _remembered(run)
    turns = turns_of(rest)
    prompt: Prompt = None
    if turns and turns[-1].role == "user":
        prompt = user_content(turns.pop().content, handles) or None
    for turn in turns:
        for message in _messages(turn, handles):
            _append(history, message)
    return history, prompt


def prompt_of(turns: Sequence[Turn], handles: Handles) -> Prompt:
    """What people said meanwhile, as one message; None where they said nothing.

    Args:
        turns: their messages.
        handles: the handles of files that the model takes.
    """
    said = [made for turn in turns if (made := user_content(turn.content, handles))]
    if len(said) <= 1:
        return said[0] if said else None
    return [part for one in said for part in ([one] if isinstance(one, str) else one)]


def memo_of(run: Run, said: Iterable[str], messages: Sequence[ModelMessage]) -> Json:
    """What to remember of a run that succeeded.

    Args:
        run: the run.
        said: ids of the assistant's messages that it told, in their order.
        messages: all of the conversation, as pydantic-ai has them.
    """
    return {"marks": [*marks_of(run.raw_messages), *said], "messages": _written(messages)}


def _written(messages: Sequence[ModelMessage]) -> Json:
    """Messages as one text: whoever checks, copies and stores it has nothing to walk through."""
    try:
        return ModelMessagesTypeAdapter.dump_json(list(messages)).decode()
    except PydanticSerializationError:
        # A lone surrogate has no bytes.
        return dumped(messages)


def _remembered(run: Run) -> tuple[list[ModelMessage], Sequence[Mapping[str, Any]]]:
    """The messages that the memo holds, if they still stand, and those of the thread since."""
    raw = run.raw_messages
    memo = run.memo
    if not isinstance(memo, dict):
        return [], raw
    rest = unmarked(raw, memo.get("marks") or ())
    if rest is None:
        return [], raw
    try:
        return loaded(memo["messages"]), rest
    except (KeyError, ValidationError):
        # Another version of pydantic-ai wrote it.
        return [], raw


def _messages(turn: Turn, handles: Handles) -> Iterable[ModelMessage]:
    if turn.role == "user":
        yield ModelRequest(parts=[UserPromptPart(user_content(turn.content, handles))])
    elif turn.role == "system":
        yield ModelRequest(parts=[SystemPromptPart(text_of(turn.content))])
    else:
        text = text_of(turn.content)
        said: list[ModelResponsePart] = [TextPart(text)] if text else []
        said += [ToolCallPart(c.name, c.arguments, tool_call_id=c.id) for c in turn.calls]
        yield ModelResponse(parts=said)
        results: list[ModelRequestPart] = [
            ToolReturnPart(c.name, text_of(c.result), tool_call_id=c.id) for c in turn.calls
        ]
        if results:
            yield ModelRequest(parts=results)


def _append(history: list[ModelMessage], message: ModelMessage) -> None:
    """Add a message; what the same side said before becomes one with it."""
    last = history[-1] if history else None
    if isinstance(last, ModelRequest) and isinstance(message, ModelRequest):
        history[-1] = ModelRequest(parts=[*last.parts, *message.parts])
    elif isinstance(last, ModelResponse) and isinstance(message, ModelResponse):
        history[-1] = ModelResponse(parts=[*last.parts, *message.parts])
    else:
        history.append(message)
