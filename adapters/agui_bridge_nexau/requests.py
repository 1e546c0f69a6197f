"""What NexAU is sent: what its session lacks of the conversation, and nothing that it has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.adapters import Run
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.media import left_out, media_of
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import result_of
from agui_bridge_nexau.pauses import answer_text
from agui_bridge_nexau.standing import Standing

_NOT_TEXT: Final = "[The user sent something here that is no text.]"
_HISTORY: Final = (
    "This conversation went on with another team, which is gone with its tasks and what its "
    "teammates knew. What was said and done so far, as JSON:"
)
_NEWEST: Final = "The user says now:"
_NOTHING: Final = "A team is sent a message of the user's, and this input has none."
_REFUSED: Final = "NexAU is sent text only: the message has a part of another type."


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question of NexAU's, which to NexAU is the next user message.

    Attributes:
        id: of the message.
        text: of it.
        told: what NexAU is told: to whom it answers, too, if that is a teammate.
    """

    id: str
    text: str
    told: str


@dataclass(frozen=True, slots=True)
class Request:
    """A request, before it is sent.

    Attributes:
        session: the session's id.
        fresh: whether NexAU has nothing of this session yet.
        body: `messages`, and `context` and `variables` where the input has them; for a team
            `message` and `variables`.
        answers: those among the messages that the conversation does not have yet.
        at: id of the last message that the conversation has once this was heard.
    """

    session: str
    fresh: bool
    body: Mapping[str, Json]
    answers: Sequence[Answer]
    at: str

    @classmethod
    def of(cls, run: Run, standing: Standing | None, thread: str, *, team: bool = False) -> Request:
        """Read a run.

        Args:
            run: fresh, or with the answers to a question.
            standing: what NexAU has; None for a new session that is given the whole conversation.
            thread: the session id of the thread's first session.
            team: whether it is for a team.

        Raises:
            UpstreamError: a new message has something else than text.
            NotDelivered: it is for a team, and has no message.
        """
        lacking = standing.missing(run.raw_messages) if standing is not None else None
        session = standing.session if standing is not None else thread
        fresh = lacking is None
        if lacking is None:
            # Never a name that was used: what is under it, and who works on it, is unknown.
            session, lacking = f"{thread}~{run.mint()}", run.raw_messages
        answers = _answers(run)
        new = {message["id"] for message in run.raw_new_messages}
        told = [_user(answer.told) for answer in answers]
        messages: list[Any] = [*map(_message, _carried(lacking, new))]
        # An empty list lets NexAU go on where it stands, as after a permission was decided there.
        sent = messages + told if fresh else told + messages
        body: dict[str, Json] = {"message": _team_message(sent)} if team else {"messages": sent}
        given = run.input.forwarded_props
        props: Mapping[str, Json] = given if isinstance(given, Mapping) else {}
        context = {item.description: item.value for item in run.input.context or ()}
        if isinstance(props.get("context"), dict):
            # As NexAU's own clients send it: the input's values are text, these are any JSON.
            context |= props["context"]
        if context and not team:
            body["context"] = context
        if isinstance(props.get("variables"), dict):
            body["variables"] = props["variables"]
        last = run.raw_messages[-1]["id"] if run.raw_messages else ""
        return cls(session, fresh, body, answers, answers[-1].id if answers else last)

    def standing(self, *, whole: bool, said: bool) -> Standing:
        """What the session has once this was heard (see `Standing`)."""
        return Standing(self.session, self.at, whole, said)


def _answers(run: Run) -> list[Answer]:
    if run.resume is None:
        return []
    asked = run.resume.continuation or {}
    labels, askers = asked.get("labels", {}), asked.get("askers", {})
    answers = []
    for native_id, decision in run.resume.decisions.items():
        named = labels.get(native_id, {})
        text, asker = answer_text(decision, named), askers.get(native_id)
        told = text if asker is None else _of_teammate(asker, list(named.values()), text)
        answers.append(Answer(run.mint(), text, told))
    return answers


def _carried(messages: Sequence[Mapping[str, Json]], new: set[Json]) -> list[dict[str, Json]]:
    """The messages that NexAU has a shape for, in which it is told text."""
    carried: list[dict[str, Json]] = []
    for message in messages:
        if message.get("subagentRunId") is not None:
            # NexAU's agent has their result alone; their words are not its own.
            continue
        if message["role"] == "user":
            text = _text(message)
            if text is None and message["id"] in new:
                raise UpstreamError(_REFUSED)
            carried.append({**message, "content": _NOT_TEXT if text is None else text})
        elif message["role"] in ("assistant", "tool"):
            carried.append(dict(message))
    return [
        m for m in carried if m["role"] != "assistant" or m.get("content") or m.get("toolCalls")
    ]


def _message(message: Mapping[str, Json]) -> Json:
    """A message in NexAU's shape; a plain string as content is refused."""
    if message["role"] == "user":
        return _user(message["content"])
    content = _text({"content": result_of(message)}) or ""
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["toolCallId"], "content": content}
        return {"role": "tool", "content": [result]}
    calls = [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": _arguments(call["function"]["arguments"]),
        }
        for call in message.get("toolCalls") or ()
    ]
    texts = [{"type": "text", "text": content}] if content else []
    return {"role": "assistant", "content": [*texts, *calls]}


def _user(text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _arguments(text: str) -> Json:
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _text(message: Mapping[str, Json]) -> str | None:
    """What a message says; None when a part of it has an address or bytes.

    A file's handle fails no run: words stand for it, as for a part of a type that nobody knows.
    """
    content = message.get("content")
    if isinstance(content, str):
        return content
    said: list[str] = []
    for part in content if isinstance(content, list) else []:
        if part.get("type") == "text":
            said.append(str(part.get("text", "")))
            continue
        media = media_of(part)
        if media.by in ("data", "url"):
            return None
        said.append(left_out(media))
    return "".join(said)


def _team_message(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text for a team's leader: `/team/stream` takes one, however much there is to say.

    Args:
        messages: in NexAU's shape; what comes before the user's last words is told as a history.

    Raises:
        NotDelivered: the user says nothing.
    """
    place = len(messages)
    while place and messages[place - 1]["role"] == "user":
        place -= 1
    now = "\n\n".join(_joined(message) for message in messages[place:])
    if not now:
        raise NotDelivered(_NOTHING)
    if not place:
        return now
    history = json.dumps(list(messages[:place]), ensure_ascii=False)
    return f"{_HISTORY}\n{history}\n\n{_NEWEST}\n{now}"


def _of_teammate(name: str, questions: Sequence[str], answer: str) -> str:
    """What the leader is told of an answer to a teammate's question."""
    asked = "\n".join(questions)
    return f"{name} asked the user:\n{asked}\nThe user's answer, for {name}:\n{answer}"


def _joined(message: Mapping[str, Any]) -> str:
    return "".join(str(part.get("text", "")) for part in message["content"])
