r"""The frames of the chat API, in its two output modes.

A2UI (`X-A2UI: true`): each frame has an event name and JSON data with `type`, `timestamp` (Unix,
seconds) and `data`. A stream ends with one `interrupt`, `error` or `done`; an `interrupt` may
follow an `error`: what was asked is still open.

Legacy: each frame is a token of text. Two tokens begin with NUL, which no text has:
`\0INTERRUPT:` and `\0ERROR:`, each with JSON behind it. `[DONE]` ends a stream, except after an
interrupt. Source: SuperAgent's page "Interrupt/Resume"; the errors are this project's addition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from agui_bridge.protocol.answers.decisions import DECLINED, has_decline, says_declined
from agui_bridge.protocol.answers.forms import (
    CONFIRM,
    WHOLE_VALUE,
    FormField,
    Language,
    fields_from_schema,
    language_of,
    payload_from_input,
)
from agui_bridge.protocol.approvals import told_to
from agui_bridge.protocol.json_values import clean
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal, ThreadKey
from agui_bridge.text.shown import shown_json, shown_name, shown_preview
from agui_bridge.text.visible import visible

# --- a label for every field of a form ---
#
# One that the agent gave, else one in the question's language.
#
# A person who is shown a checkbox without words can't know what it is that they tick.

_OF_AN_APPROVAL: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "approved": "Approve",
        "reason": "Reason",
        "editedArgs": "Changed arguments (JSON)",
        "respond": "Result in place of the tool's",
    },
    "zh": {
        "approved": "批准",
        "reason": "理由",
        "editedArgs": "修改后的参数（JSON）",
        "respond": "代替工具结果的回复",
    },
}
_OF_A_QUESTION: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {"confirm": CONFIRM["en"], WHOLE_VALUE: "Answer", DECLINED: "I decline to answer"},
    "zh": {"confirm": CONFIRM["zh"], WHOLE_VALUE: "答复", DECLINED: "拒绝回答"},
}
_BETWEEN_WORDS: Final = re.compile(r"[_\-.\s]+|(?<=[a-z0-9])(?=[A-Z])")


def with_labels(fields: Sequence[FormField], ask: Interrupt) -> tuple[FormField, ...]:
    """The fields of a question, each with a label.

    Args:
        fields: those of its form.
        ask: the question, whose message tells the language.
    """
    language = language_of(ask.message or "")
    own = _OF_AN_APPROVAL[language] if ask.tool_call is not None else {}
    known = _OF_A_QUESTION[language]

    def labelled(field: FormField) -> FormField:
        given = own.get(field.name) or field.label.strip() or known.get(field.name)
        return replace(field, label=given or _in_words(field.name))

    return tuple(map(labelled, fields))


def _in_words(name: str) -> str:
    words = [word for word in _BETWEEN_WORDS.split(name) if word]
    text = " ".join(word if word.isupper() else word.lower() for word in words) or name
    return text[:1].upper() + text[1:]


# --- a pending question in the chat API's words: InterruptState and its fields ---
#
# Source: SuperAgent's page "Interrupt/Resume", "InterruptState".


def pending_of(loaded: Loaded, principal: Principal) -> Interrupt | None:
    """The question that a session asks somebody now: of several the first that is theirs.

    Where none is theirs to answer, it is the first of all: they see who may.
    """
    return next(iter(told_to(loaded.waiting, principal)), None)


def state_of(key: ThreadKey, ask: Interrupt) -> dict[str, Any]:
    """The InterruptState of a question."""
    fields = _fields(ask)
    return {
        "session_id": key.thread,
        "agent_name": key.agent,
        "reason": _reason(ask),
        "fields": [field.to_json() for field in with_labels(fields, ask)],
        "timestamp": int(_raised(ask)),
        "checkpoint_id": checkpoint_of(key, ask),
    }


def checkpoint_of(key: ThreadKey, ask: Interrupt) -> str:
    """What names a question: agent, session and time, in nanoseconds.

    The questions of one pause have one time, and are told apart by its last digits.
    """
    nanoseconds = int(_raised(ask) * 1_000_000) * 1000 + ask.position
    return f"{key.agent}_{key.thread}_{nanoseconds}"


def _raised(ask: Interrupt) -> float:
    return ask.audit[0].at if ask.audit else 0.0


def payload_of(ask: Interrupt, values: Mapping[str, Json]) -> Json:
    """The payload that a filled form stands for; admission checks it."""
    schema = ask.response_schema or {}
    if not has_decline(schema):
        return payload_from_input(schema, values)
    if says_declined(values):
        # What else stands in the form was to be the answer that nobody gives.
        return {name: values[name] for name in (DECLINED, "reason") if name in values}
    answer = {name: value for name, value in values.items() if name != DECLINED}
    return payload_from_input(schema, answer)


def _fields(ask: Interrupt) -> tuple[FormField, ...]:
    """The fields of its form. One that may be declined has a box for that, and requires nothing."""
    schema = ask.response_schema or {}
    fields = fields_from_schema(schema)
    if not has_decline(schema):
        return fields
    return (
        *(replace(field, required=False) for field in fields),
        FormField(DECLINED, "confirm"),
    )


def _reason(ask: Interrupt) -> str:
    """What people read. Nobody shall approve a tool call that they were not shown."""
    lines = [visible(ask.message)] if ask.message else []
    if ask.tool_call is not None:
        call = ask.tool_call
        lines.append(f"{shown_name(call.name)} {shown_json(dict(call.args))}")
        lines += [f"What it would do:\n{shown_preview(ask.preview)}"] if ask.preview else []
    return "\n".join(lines) or visible(ask.reason)


# --- frames ---

_LINE_SEPARATORS = {"\u2028": "\\u2028", "\u2029": "\\u2029"}


class Frames(Protocol):
    """One output mode. Each method gives bytes; times are seconds since the epoch."""

    def text(self, delta: str, now: float) -> bytes:
        """A piece of text, not empty."""
        ...

    def interrupt(self, state: Mapping[str, Json]) -> bytes:
        """A question, as the state that `interrupt_state` gives."""
        ...

    def error(self, code: str, message: str, now: float) -> bytes:
        """The run failed."""
        ...

    def done(self, now: float, *, stopped: bool, failed: bool) -> bytes:
        """The end of a stream that asks nothing."""
        ...


class A2UIFrames:
    """`event: NAME` and JSON data."""

    def __init__(self) -> None:
        self._content = ""

    def text(self, delta: str, now: float) -> bytes:
        """`content` is all text so far, `delta` what is new."""
        self._content += delta
        return _frame("text", now, {"content": self._content, "delta": delta})

    def interrupt(self, state: Mapping[str, Json]) -> bytes:
        """The reason and the fields; its time is that of the question."""
        data = {"reason": state["reason"], "fields": state["fields"]}
        return _frame("interrupt", state["timestamp"], data)

    def error(self, code: str, message: str, now: float) -> bytes:
        """A stable code, and a text for people."""
        return _frame("error", now, {"code": code, "message": message})

    def done(self, now: float, *, stopped: bool, failed: bool) -> bytes:
        """The end; a run that was stopped says so, and one that failed has said it."""
        if failed:
            return b""
        return _frame("done", now, {"stop_reason": "USER_INTERRUPTED"} if stopped else {})


class LegacyFrames:
    """Tokens."""

    def __init__(self) -> None:
        self._after_cr = False

    def text(self, delta: str, now: float) -> bytes:
        """A token. SSE knows one line end only, so that CR and CRLF become LF."""
        if self._after_cr:
            delta = delta.removeprefix("\n")
            self._after_cr = False
        if not delta:
            return b""
        self._after_cr = delta.endswith("\r")
        token = delta.replace("\r\n", "\n").replace("\r", "\n")
        if token == "[DONE]":
            # It is text: in two tokens it ends nothing.
            return _token("[") + _token("DONE]")
        return _token(token)

    def interrupt(self, state: Mapping[str, Json]) -> bytes:
        """The whole state."""
        return _token(f"\0INTERRUPT:{_json(state)}")

    def error(self, code: str, message: str, now: float) -> bytes:
        """A stable code, and a text for people."""
        return _token("\0ERROR:" + _json({"code": code, "message": message}))

    def done(self, now: float, *, stopped: bool, failed: bool) -> bytes:
        """`[DONE]`, however the run ended."""
        return _token("[DONE]")


def _frame(kind: str, now: float, data: Mapping[str, Json]) -> bytes:
    body = _json({"type": kind, "timestamp": int(now), "data": data})
    return f"event: {kind}\ndata: {body}\n\n".encode()


def _token(text: str) -> bytes:
    return "".join([*(f"data: {line}\n" for line in text.split("\n")), "\n"]).encode()


def _json(value: Any) -> str:
    text = json.dumps(clean(value), ensure_ascii=False, separators=(",", ":"))
    # A client that looks for `data: (.+)` stops at these, which JSON lets stand.
    for separator, escape in _LINE_SEPARATORS.items():
        text = text.replace(separator, escape)
    return text
