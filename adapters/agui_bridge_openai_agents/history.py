"""The conversation as the Responses API's items: remembered where it can be, else made of AG-UI's.

AG-UI's messages lack what models want back: reasoning with its encrypted content, items' own ids,
calls that a provider carried out. After each run that succeeded the memo holds the SDK's own items,
which messages of the thread they stand for, and who spoke last. What came since is made of the
thread's messages; once one of those is gone or changed (an edit, an answer asked anew), all are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from agents import Agent, Handoff, handoff
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Turn, text_of, turns_of
from agui_bridge_openai_agents.content import user_content

Item = dict[str, Any]
"""An input item of the Responses API, as JSON."""


_REFUSED: Final = (
    "What the user said here was refused, and is left out. Tools had been called by then."
)
"""Stands for a message that a guardrail refused while the model worked at it already."""


def read_conversation(run: Run) -> list[Item]:
    """What the model has been told and has said, and what it is asked now; all calls answered."""
    memo, rest = _remembered(run)
    items = items_of(rest)
    if items and items[0].get("role", "assistant") == "assistant":
        # Providers want a user to speak first, and the model's calls come from somewhere.
        items.insert(0, {"role": "user", "content": _REFUSED})
    return [*memo.get("items", ()), *items]


def speaker_of(run: Run, first: Agent[Any]) -> Agent[Any]:
    """The agent that has the conversation: who took it over last, if it is still there.

    Args:
        run: the run.
        first: the agent that conversations begin with.
    """
    memo, rest = _remembered(run)
    name = memo.get("agent")
    speaker = next((agent for agent in _reachable(first) if agent.name == name), first)
    for turn in turns_of(rest):
        for call in turn.calls:
            found = _handoffs(speaker).get(call.name)
            # Of several at once the SDK takes one, and says so to the others.
            if found is not None and call.result == found[1]:
                speaker = found[0]
    return speaker


def items_of(messages: Sequence[Mapping[str, Any]]) -> list[Item]:
    """AG-UI's messages, as JSON, as items."""
    return [item for turn in turns_of(messages) for item in _items(turn)]


def memo_of(run: Run, said: Iterable[str], items: Sequence[Any], agent: str) -> Json:
    """What to remember of a run that succeeded.

    Args:
        run: the run.
        said: ids of the assistant's messages that it told, in their order.
        items: all of the conversation, as the SDK has it.
        agent: name of the agent that spoke last.
    """
    made: Json = to_jsonable_python(list(items), exclude_none=True)
    return {"marks": [*marks_of(run.raw_messages), *said], "items": made, "agent": agent}


def _remembered(run: Run) -> tuple[dict[str, Any], Sequence[Mapping[str, Any]]]:
    """The memo, if what it is of still stands, and the messages of the thread since."""
    memo = run.memo if isinstance(run.memo, dict) else {}
    rest = unmarked(run.raw_messages, memo.get("marks") or ())
    if rest is None or not isinstance(memo.get("items"), list):
        return {}, run.raw_messages
    return memo, rest


def _reachable(first: Agent[Any]) -> Iterator[Agent[Any]]:
    """An agent, and all that it may hand the conversation over to, the nearest first."""
    seen, waiting = {id(first)}, deque([first])
    while waiting:
        agent = waiting.popleft()
        yield agent
        for other, _ in _handoffs(agent).values():
            if id(other) not in seen:
                seen.add(id(other))
                waiting.append(other)


def _handoffs(agent: Agent[Any]) -> dict[str, tuple[Agent[Any], str]]:
    """By the name of its call, whom an agent may hand over to, and what that call returns."""
    known: dict[str, tuple[Agent[Any], str]] = {}
    for one in agent.handoffs:
        made = one if isinstance(one, Handoff) else handoff(one)
        # One that is made by hand names its agent only once it is called.
        other = made._agent_ref() if made._agent_ref is not None else None
        if isinstance(other, Agent):
            known[made.tool_name] = (other, made.get_transfer_message(other))
    return known


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
