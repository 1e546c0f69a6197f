"""The conversation as a session of the framework: remembered where it can be, else made anew.

AG-UI's messages lack what models and context providers want back: thoughts with what their provider
protects, a provider's own state, the id of a conversation that a service keeps. After each run that
succeeded the memo holds the session, and which messages of the thread it stands for. What came
since is made of the thread's messages; once one of those is gone or changed (an edit, an answer
asked anew), all are.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any
from uuid import uuid4

from agent_framework import AgentSession, Content, Message

from agui_bridge.adapters import Run
from agui_bridge.errors import UpstreamError
from agui_bridge.media import Handles
from agui_bridge.protocol.threads.marks import marks_of, unmarked
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Turn, text_of, turns_of
from agui_bridge_agent_framework.content import user_contents


def dumped(session: AgentSession) -> Json:
    """A session as JSON.

    Raises:
        UpstreamError: see `written`.
    """
    made: Json = json.loads(written(session))
    return made


def written(session: AgentSession) -> str:
    """A session as one text: whoever checks, copies and stores it has nothing to walk through.

    Raises:
        UpstreamError: something in its state has no such form.
    """
    try:
        with warnings.catch_warnings():
            # It warns of what is about to be refused.
            warnings.simplefilter("ignore", RuntimeWarning)
            told = session.to_dict()
        return json.dumps(told, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UpstreamError(
            f"The session's state can't be kept: {error}. Have providers and tools put JSON into "
            "session.state, or values with to_dict and from_dict."
        ) from error


def loaded(kept: Json) -> AgentSession:
    """A session from what `dumped` or `written` gave; a run changes it, so it gets a copy."""
    own = json.loads(kept) if isinstance(kept, str) else deepcopy(dict(kept))
    session: AgentSession = AgentSession.from_dict(own)
    return session


def read_conversation(run: Run, handles: Handles) -> tuple[AgentSession, list[Message]]:
    """The session so far, and what the agent is told now.

    Args:
        run: the run.
        handles: the handles of files that the model takes.
    """
    memo = run.memo
    if isinstance(memo, dict):
        rest = unmarked(run.raw_messages, memo.get("marks") or ())
        if rest is not None:
            try:
                return loaded(memo["session"]), list(messages_of(turns_of(rest), handles))
            except (KeyError, TypeError, ValueError):
                # Another version of the framework wrote it.
                pass
    messages = list(messages_of(turns_of(run.raw_messages), handles))
    return AgentSession(session_id=run.thread_id), messages


def memo_of(run: Run, said: Iterable[str], session: AgentSession) -> Json:
    """What to remember of a run that succeeded.

    Args:
        run: the run.
        said: ids of the assistant's messages that it told, in their order.
        session: as the run leaves it.

    Raises:
        UpstreamError: see `written`.
    """
    return {"marks": [*marks_of(run.raw_messages), *said], "session": written(session)}


def messages_of(turns: Sequence[Turn], handles: Handles) -> Iterator[Message]:
    """Turns as the framework's messages; every call in them has a result.

    Args:
        turns: of the conversation.
        handles: the handles of files that the model takes.
    """
    for turn in turns:
        if turn.role != "assistant":
            contents: list[Any] = user_contents(turn.content, handles)
            if turn.role == "system":
                contents = [Content.from_text(text_of(turn.content))]
            if contents:
                yield _message(turn.role, contents)
            continue
        text = text_of(turn.content)
        said: list[Any] = [Content.from_text(text)] if text else []
        said += [
            Content.from_function_call(call.id, call.name, arguments=call.arguments)
            for call in turn.calls
        ]
        yield _message("assistant", said)
        if turn.calls:
            results: list[Any] = [
                Content.from_function_result(call.id, result=text_of(call.result))
                for call in turn.calls
            ]
            yield _message("tool", results)


def _message(role: str, contents: list[Any]) -> Message:
    # Without an id the framework takes a message that says what an earlier one said for that one.
    return Message(role, contents, message_id=uuid4().hex)
