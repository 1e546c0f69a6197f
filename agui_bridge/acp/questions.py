"""A stored question as the client is asked it: a permission, a form, or words that say where.

A permission request shows the whole call as text in which nothing hides, fenced against markdown;
where not all that would run can be shown, nothing is offered (`text/shown.py`).

Source: the Agent Client Protocol, "Requesting Permission" and "Elicitation"; docs/security.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Final

from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, DECLINED, has_decline
from agui_bridge.protocol.answers.forms import (
    FormField,
    fields_from_schema,
    payload_from_input,
    resolve_schema,
)
from agui_bridge.protocol.answers.unexecuted import says_unexecuted
from agui_bridge.protocol.approvals import edited_so_far, why_not
from agui_bridge.protocol.grants import MEMBER, offered_words
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.previews import DiffPreview, Preview
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal, RecordedAnswer
from agui_bridge.surfaces.reading import say_call
from agui_bridge.text.shown import as_json, shown_line, shown_name
from agui_bridge.text.visible import visible

# --- what a session's client has been told, and what of a run is told next, as session updates ---
#
# A run tells events; a replay, a join and a loaded thread tell the whole conversation. Both are
# told against what the client has already, so that nothing is told twice and nothing is left out.
# What sub-agents say to their agent is not told.
#
# Source: the Agent Client Protocol, "Prompt Turn" and "Tool Calls".

Update = dict[str, Any]

_CHUNKS: Final = {
    "user": "user_message_chunk",
    "assistant": "agent_message_chunk",
    "reasoning": "agent_thought_chunk",
}
_ROLES: Final = {"TEXT_MESSAGE": "assistant", "REASONING_MESSAGE": "reasoning"}


class Updates:
    """What a client has been told of one conversation."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._roles: dict[str, str] = {}
        self._args: dict[str, str] = {}
        self._settled: set[str] = set()

    def said(self, message_id: str, text: str) -> None:
        """Note what the client itself said."""
        self._texts[message_id] = text

    def of_event(self, event: WireEvent) -> Iterator[Update]:
        """What an event of a run tells.

        Args:
            event: of AG-UI, in its 1.0 shape.
        """
        kind = event["type"]
        if kind == "MESSAGES_SNAPSHOT":
            yield from self.of_messages(event["messages"])
        elif event.get("subagentRunId"):
            return
        elif kind in ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START"):
            own = _ROLES[kind.removesuffix("_START")]
            role = event.get("role", own)
            self._roles[event["messageId"]] = role if role in _CHUNKS else ""
        elif kind in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"):
            yield from self._chunk(event["messageId"], event["delta"])
        elif kind == "TOOL_CALL_START":
            yield from self._call(event["toolCallId"], event["toolCallName"])
        elif kind == "TOOL_CALL_ARGS" and event["toolCallId"] in self._args:
            self._args[event["toolCallId"]] += event["delta"]
        elif kind == "TOOL_CALL_END":
            yield from self._whole(event["toolCallId"])
        elif kind == "TOOL_CALL_RESULT":
            yield from self._result(event["toolCallId"], event["content"])

    def of_messages(self, messages: Iterable[Mapping[str, Any]]) -> Iterator[Update]:
        """What of a whole conversation has not been told.

        Args:
            messages: as AG-UI has them.
        """
        for message in messages:
            if message["role"] == "tool":
                yield from self._result(
                    message["toolCallId"], message["content"], failed="error" in message
                )
                continue
            if message["role"] not in _CHUNKS or message.get("subagentRunId"):
                continue
            self._roles.setdefault(message["id"], message["role"])
            known, text = self._texts.get(message["id"], ""), _text(message.get("content"))
            # One that was rewritten since stays as the client has it.
            if text.startswith(known):
                yield from self._chunk(message["id"], text[len(known) :])
            for call in message.get("toolCalls") or ():
                yield from self._known_call(call)

    def asked(self, call_id: str) -> None:
        """Note that a request to the client has told it of a call."""
        self._args.setdefault(call_id, "")

    def _chunk(self, message_id: str, text: str) -> Iterator[Update]:
        role = self._roles.get(message_id)
        if not role or not text:
            return
        self._texts[message_id] = self._texts.get(message_id, "") + text
        yield {
            "sessionUpdate": _CHUNKS[role],
            "content": {"type": "text", "text": text},
            "messageId": message_id,
        }

    def _call(self, call_id: str, name: str) -> Iterator[Update]:
        if call_id in self._args:
            return
        self._args[call_id] = ""
        yield {
            "sessionUpdate": "tool_call",
            "toolCallId": call_id,
            "title": shown_name(name),
            "kind": "other",
            "status": "pending",
        }

    def _whole(self, call_id: str) -> Iterator[Update]:
        text = self._args.get(call_id)
        if text:
            yield {
                "sessionUpdate": "tool_call_update",
                "toolCallId": call_id,
                "rawInput": _parsed(text),
            }

    def _known_call(self, call: Mapping[str, Any]) -> Iterator[Update]:
        function = call["function"]
        yield from self._call(call["id"], function["name"])
        # Somebody may have approved other arguments: those are what was executed.
        if _parsed(self._args[call["id"]]) != _parsed(function["arguments"]):
            self._args[call["id"]] = function["arguments"]
            yield from self._whole(call["id"])

    def _result(self, call_id: str, content: Json, *, failed: bool = False) -> Iterator[Update]:
        if call_id not in self._args or call_id in self._settled:
            return
        self._settled.add(call_id)
        text = _text(content)
        yield {
            "sessionUpdate": "tool_call_update",
            "toolCallId": call_id,
            "status": "failed" if failed or says_unexecuted(text) else "completed",
            "content": [text_block(text)],
            "rawOutput": content,
        }


def text_block(text: str) -> dict[str, Json]:
    """A text as the content of a tool call."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def _text(content: Any) -> str:
    """The text of a message's content; of what is no text its kind stands there."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = (part if isinstance(part, Mapping) else {} for part in content)
    return "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in parts)


def _parsed(text: str) -> Json:
    try:
        parsed: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return parsed


# --- questions ---

_MOST_CHOICES: Final = 9
"""Buttons that a question without a form may have."""


@dataclass(frozen=True, slots=True)
class Request:
    """A question as a request to the client.

    Attributes:
        method: of the request.
        params: of the request, without the session.
        answers: of a permission what each option means, by its id.
        schema: of a form what its content must fit, else None.
        declinable: whether a form that is declined is an answer.
    """

    method: str
    params: Mapping[str, Json]
    answers: Mapping[str, RecordedAnswer]
    schema: Mapping[str, Json] | None = None
    declinable: bool = False

    def answer(self, result: Any) -> RecordedAnswer | None:
        """What the client's result decides; None where nobody decided.

        Args:
            result: as it came.
        """
        match result:
            case {"outcome": {"outcome": "selected", "optionId": str(option)}}:
                return self.answers.get(option)
            case {"action": "decline"} if self.schema is not None:
                return _DECLINED if self.declinable else RecordedAnswer("cancelled")
            case {"action": "accept"} if self.schema is not None:
                content = result.get("content")
                values = content if isinstance(content, dict) else {}
                return RecordedAnswer("resolved", payload_from_input(self.schema, values))
        return None


_DECLINED: Final = RecordedAnswer("resolved", {DECLINED: True})


def is_theirs(ask: Interrupt, principal: Principal) -> bool:
    """Whether a question waits for somebody: they may answer it, and have not voted.

    Args:
        ask: the question, open.
        principal: who would answer.
    """
    voted = any(vote.actor == principal.actor for vote in ask.votes)
    return why_not(ask, principal) is None and not voted


def request_of(ask: Interrupt, *, forms: bool, fault: str | None = None) -> Request | None:
    """How a client is asked; None where it can't be.

    Args:
        ask: the question, open.
        forms: whether the client takes forms.
        fault: what was wrong with an earlier answer.
    """
    if ask.tool_call is not None:
        return _permission(ask)
    fields = fields_from_schema(ask.response_schema or {})
    words = "\n\n".join(filter(None, (fault, _words(ask))))
    if forms:
        return _form(ask, fields, words)
    return _choice(ask, fields, words) if fault is None else None


def elsewhere(ask: Interrupt, principal: Principal, *, by_message: bool) -> str:
    """What somebody reads who can't answer a question here: it whole, and where it is answered.

    Args:
        ask: the question, open.
        principal: who reads it.
        by_message: whether the agent takes the next message for the answer.
    """
    refusal = why_not(ask, principal)
    if ask.is_timer:
        where = "It goes on by itself then, or once somebody wakes it in the inbox."
    elif refusal is not None:
        where = f"{refusal.message} They are told in the inbox of a server on the same store."
    elif not is_theirs(ask, principal):
        where = "Your answer counts, and others have to answer, too: in the inbox."
    elif edited_so_far(ask) is not None:
        where = "Others have approved other arguments: see them, and answer, in the inbox."
    elif by_message and ask.takes_message:
        where = "Answer it with your next message."
    else:
        where = (
            "This client can't take the answer: give it in the inbox of a server on the same "
            "store, or with `agui-bridge inbox answer`. Then go on here."
        )
    return f"{_words(ask)}\n\n{where}"


def fenced(text: str) -> str:
    """A text in a code block of markdown that nothing in it ends.

    Args:
        text: any.
    """
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _permission(ask: Interrupt) -> Request | None:
    call = ask.tool_call
    assert call is not None, "only calls are permitted"
    latest = edited_so_far(ask) is None
    shown = as_json(call.name, call.args, ask.asked_by, is_latest=latest, preview=ask.preview)
    answers: dict[str, RecordedAnswer] = {}
    options: list[Json] = []

    def offer(option: str, kind: str, name: str, payload: Mapping[str, Json]) -> None:
        answers[option] = RecordedAnswer("resolved", payload)
        options.append({"optionId": option, "kind": kind, "name": name})

    if APPROVE in ask.allowed and shown.is_whole:
        offer("approve", "allow_once", "Approve", {"approved": True})
        if MEMBER in (ask.response_schema or {}).get("properties", {}):
            for holder, words in offered_words(ask).items():
                name = f"Approve, and do not ask again {shown_line(words)}"
                remembered = {"approved": True, MEMBER: holder}
                offer(f"approve-{holder}", "allow_always", name, remembered)
    if not answers:
        return None
    if DECLINE in ask.allowed:
        offer("decline", "reject_once", "Decline", {"approved": False})
    ((_, args),) = shown.args
    lines = [shown.tool.text, args.text]
    if shown.preview.text:
        lines += ["What it would do:", shown.preview.text]
    if ask.asked_by:
        lines.append(f"Asked for by: {shown.asked_by.text}")
    content = [text_block(fenced("\n".join(lines))), *_changes(ask.preview)]
    if ask.message:
        content.append(text_block(visible(ask.message)))
    return _permitting(call.id, shown_name(call.name), content, options, answers, dict(call.args))


def _changes(preview: Preview | None) -> Iterator[dict[str, Json]]:
    """The changes of one file as the client draws them, besides the text that shows all of them."""
    if not isinstance(preview, DiffPreview) or preview.is_cut or len(preview.paths) != 1:
        return
    [path] = preview.paths
    if not (PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()):
        return  # the client knows no other paths
    for old, new in preview.hunks:
        yield {"type": "diff", "path": path, "oldText": old, "newText": new}


def _permitting(
    call_id: str,
    title: str,
    content: list[dict[str, Json]],
    options: list[Json],
    answers: Mapping[str, RecordedAnswer],
    raw: Json = None,
) -> Request:
    about: dict[str, Any] = {
        "toolCallId": call_id,
        "title": title,
        "kind": "other",
        "status": "pending",
        "content": content,
    }
    if raw is not None:
        about["rawInput"] = raw
    params = {"toolCall": about, "options": options}
    return Request("session/request_permission", params, answers)


def _choice(ask: Interrupt, fields: tuple[FormField, ...], words: str) -> Request | None:
    """A question as buttons: one that is answered with yes or no, or with one of a few."""
    schema = ask.response_schema or {}
    if len(fields) != 1:
        return None
    (field,) = fields
    if field.type == "confirm":
        given: dict[str, Json] = {"Yes": True, "No": False}
    elif field.type == "select" and len(field.options) <= _MOST_CHOICES:
        given = {option: option for option in field.options}
    else:
        return None
    answers: dict[str, RecordedAnswer] = {}
    options: list[Json] = []
    for index, (name, value) in enumerate(given.items()):
        payload = payload_from_input(schema, {field.name: value})
        answers[str(index)] = RecordedAnswer("resolved", payload)
        kind = "reject_once" if value is False else "allow_once"
        options.append({"optionId": str(index), "kind": kind, "name": shown_line(name)})
    if has_decline(schema):
        answers["decline"] = _DECLINED
        options.append({"optionId": "decline", "kind": "reject_once", "name": "Decline to answer"})
    # About no call that the client knows: its result would be this question's.
    return _permitting(f"question-{ask.id}", "Question", [text_block(words)], options, answers)


def _form(ask: Interrupt, fields: tuple[FormField, ...], words: str) -> Request | None:
    schema = ask.response_schema or {}
    if not fields:
        return None
    whole = resolve_schema(schema, schema)
    properties = whole.get("properties")
    known: Mapping[str, Json] = properties if isinstance(properties, Mapping) else {}
    asked: dict[str, Json] = {
        "type": "object",
        "properties": {
            f.name: _property(f, resolve_schema(schema, known.get(f.name))) for f in fields
        },
        "required": [field.name for field in fields if field.required],
    }
    params: dict[str, Json] = {"mode": "form", "message": words, "requestedSchema": asked}
    if ask.call_id is not None:
        params["toolCallId"] = ask.call_id
    return Request("elicitation/create", params, {}, schema, has_decline(schema))


def _property(field: FormField, schema: Mapping[str, Json]) -> dict[str, Json]:
    made: dict[str, Json] = {"type": "string"}
    if field.type == "confirm":
        made = {"type": "boolean"}
    elif field.type == "select":
        made["enum"] = list(field.options)
    elif schema.get("type") in ("number", "integer"):
        made = {"type": schema["type"]}
    if field.label:
        made["title"] = field.label
    if isinstance(schema.get("description"), str):
        made["description"] = schema["description"]
    return made


def _words(ask: Interrupt) -> str:
    """All that a question would let run, fenced, and what the agent says of it."""
    told = {name for name in ask.metadata or {} if name != "agui_bridge"}
    said = [fenced(str(say_call({}, ask)["message"]))] if ask.lets_run or told else []
    if ask.message:
        said.append(visible(ask.message))
    return "\n\n".join(said)
