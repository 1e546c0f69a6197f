"""The conversation as Strands' messages: remembered where it can be, else made of AG-UI's.

AG-UI's messages lack what models want back: reasoning with its signatures, what providers cache.
After each run that succeeded the memo holds Strands' own messages, and which messages of the thread
they stand for. What came since is made of the thread's messages; once one of those is gone or
changed (an edit, an answer asked anew), all are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from agui_bridge.adapters import Run
from agui_bridge.protocol.answers.unexecuted import (
    DANGLING,
    FAILED,
    NOT_GIVEN,
    STOPPED,
    UNKNOWN,
    UNREPORTED,
    UNTOLD,
)
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Turn, text_of, turns_of
from agui_bridge_strands.content import Block, from_json, result_block, to_json, user_blocks

Message = dict[str, Any]
"""A message as Strands has it: `{"role": …, "content": [blocks]}`."""

_NO_RESULTS: Final = frozenset({DANGLING, FAILED, NOT_GIVEN, STOPPED, UNREPORTED, *UNKNOWN})
_REFUSED: Final = "this tool call; it was not executed."
"""In every sentence for a call that a person or the policy refused."""

_GO_ON: Final = "Go on."
"""What a model is asked with where the conversation ends in its own words; it takes no silence."""


def read_conversation(run: Run, before: Sequence[Any]) -> list[Message]:
    """What the model has been told and has said, and what it is asked now; all calls answered.

    Strands carries out, without asking a model, a call at the end that has no result.

    Args:
        run: the run.
        before: the messages that the agent itself begins with.
    """
    memo = run.memo if isinstance(run.memo, dict) else {}
    rest = unmarked(run.raw_messages, memo.get("marks") or ())
    remembered = memo.get("messages")
    if rest is None or not isinstance(remembered, list):
        return conversation_of([*before, *_messages(run.raw_messages)])
    return conversation_of([*from_json(remembered), *_messages(rest)])


def conversation_of(messages: Iterable[Message]) -> list[Message]:
    """Messages as a model takes them: roles alternate, calls are answered, the user has spoken."""
    made: list[Message] = []
    for message in messages:
        if made and made[-1]["role"] == "assistant" and message["role"] == "assistant":
            _append(made, _untold(made[-1], ()))
        elif made and made[-1]["role"] == "assistant":
            answered = [b["toolResult"]["toolUseId"] for b in message["content"] if _result(b)]
            _append(made, _untold(made[-1], answered))
        _append(made, message)
    if made and made[-1]["role"] == "assistant":
        _append(made, _untold(made[-1], ()))
    if not made or made[-1]["role"] == "assistant":
        _append(made, {"role": "user", "content": [{"text": _GO_ON}]})
    return made


def instructions_of(run: Run) -> str:
    """What the application tells the model in its own name: Strands has no such messages."""
    return "\n\n".join(text_of(turn.content) for turn in run.turns() if turn.role == "system")


def with_words(
    messages: Sequence[Message], words: str, retold: Callable[[str], str] | None = None
) -> list[Message]:
    """The messages, with words before what the user said last; those given stay as they are.

    Args:
        messages: of one request to a model.
        words: see `Application.words`.
        retold: what stands in place of the user's text.
    """
    told = list(messages)
    for place in reversed(range(len(told))):
        content = told[place]["content"]
        said = [n for n, block in enumerate(content) if "text" in block]
        if told[place]["role"] == "user" and said:
            last, before = said[-1], [{"text": words}] if words else []
            text = content[last]["text"]
            block = {**content[last], "text": retold(text) if retold is not None else text}
            content = [*content[:last], *before, block, *content[last + 1 :]]
            told[place] = {**told[place], "content": content}
            return told
    if words:
        # They are no message of their own beside a picture, or results: roles alternate.
        _append(told, {"role": "user", "content": [{"text": words}]})
    return told


def memo_of(run: Run, said: Iterable[str], messages: Sequence[Any]) -> dict[str, Json]:
    """What to remember of the conversation of a run that succeeded.

    Args:
        run: the run.
        said: ids of the assistant's messages that it told, in their order.
        messages: all of the conversation, as Strands has it.
    """
    return {"marks": [*marks_of(run.raw_messages), *said], "messages": to_json(list(messages))}


def _messages(raw: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    for turn in turns_of(raw):
        if turn.role == "user":
            yield {"role": "user", "content": user_blocks(turn.content)}
        elif turn.role == "assistant":
            yield {"role": "assistant", "content": list(_said(turn))}
            if turn.calls:
                results = [(call.id, text_of(call.result)) for call in turn.calls]
                content = [{"toolResult": _result_of(call, text)} for call, text in results]
                yield {"role": "user", "content": content}


def _said(turn: Turn) -> Iterator[Block]:
    if text := text_of(turn.content):
        yield {"text": text}
    for call in turn.calls:
        args = json.loads(call.arguments)
        yield {"toolUse": {"toolUseId": call.id, "name": call.name, "input": args}}


def _result_of(call: str, text: str) -> Block:
    """The result of a call; a sentence that stands for one is no success."""
    return result_block(call, text, is_error=text in _NO_RESULTS or _REFUSED in text)


def _untold(message: Message, answered: Iterable[str]) -> Message:
    """The results that the calls of a message lack."""
    have = set(answered)
    calls = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
    missing = [{"toolResult": _result_of(c, UNTOLD)} for c in calls if c not in have]
    return {"role": "user", "content": missing}


def _append(made: list[Message], message: Message) -> None:
    """Add a message; what the same side said before becomes one with it."""
    if not message["content"]:
        return
    if made and made[-1]["role"] == message["role"]:
        made[-1] = {**made[-1], "content": [*made[-1]["content"], *message["content"]]}
    else:
        made.append(dict(message))


def _result(block: Block) -> bool:
    return "toolResult" in block
