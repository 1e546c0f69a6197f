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

from agno.guardrails import PIIDetectionGuardrail
from agno.models.message import Message
from agno.run.agent import RunInput

from agui_bridge.adapters import Run
from agui_bridge.media import Handles
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Turn, text_of, turns_of
from agui_bridge_agno.content import spoken


def read_conversation(run: Run, handles: Handles) -> list[Message]:
    """What the model has been told and has said, and what it is asked now; all calls answered.

    Args:
        run: the run.
        handles: the handles of files that the model takes.
    """
    memo = run.memo if isinstance(run.memo, dict) else {}
    rest = unmarked(run.raw_messages, memo.get("marks") or ())
    remembered = memo.get("messages")
    if isinstance(remembered, str):
        remembered = json.loads(remembered)
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
    # One text: whoever checks, copies and stores it has nothing to walk through.
    written = json.dumps([one.to_dict() for one in messages], default=str)
    return {"marks": [*marks_of(run.raw_messages), *said], "messages": written}


def masked(agent: Any, thread: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The thread as the agent's guardrails leave what its user said, where they mask anything.

    Args:
        agent: the agent or team.
        thread: AG-UI's messages, as JSON. Of those that stay as they are, the list has the same.
    """
    hooks = [getattr(hook, "__self__", hook) for hook in agent.pre_hooks or ()]
    guards = [one for one in hooks if isinstance(one, PIIDetectionGuardrail) and one.mask_pii]
    if not guards:
        return [*thread]

    def mask(text: str) -> str:
        said = RunInput(input_content=text)
        for guard in guards:
            guard.check(said)
        return str(said.input_content)

    def of(message: Mapping[str, Any]) -> Mapping[str, Any]:
        content = message.get("content")
        if message["role"] != "user" or not content:
            return message
        if isinstance(content, str):
            now: Any = mask(content)
        else:
            now = [
                {**part, "text": mask(part["text"])} if part.get("type") == "text" else part
                for part in content
            ]
        return message if now == content else {**message, "content": now}

    return [of(message) for message in thread]


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


def results_in(output: Any) -> dict[str, str]:
    """What leaders were told of their calls in a run, by tool call id; see `calls_in`."""
    found: dict[str, str] = {}
    runs = [output]
    while runs:
        one = runs.pop()
        runs += one.get("member_responses") or ()
        for message in one.get("messages") or ():
            if message.get("role") == "tool":
                found[str(message.get("tool_call_id"))] = str(message.get("content"))
    return found


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
