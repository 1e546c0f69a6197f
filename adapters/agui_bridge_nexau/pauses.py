"""NexAU's `ask_user`: what it asks as an interrupt, and the answer as the message it waits for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agui_bridge.adapters import Ask
from agui_bridge.protocol.answers.decisions import Answer, Decision
from agui_bridge.protocol.answers.forms import FormField, schema_from_fields
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_nexau.reader import CallSeen

ASK_USER = "ask_user"
"""The tool of NexAU's that ends a run by asking."""

FINISH_TEAM = "finish_team"
"""The stop tool by which every team ends."""

_CANCELLED = "The user did not answer the question."
_EXPIRED = "The user did not answer the question in time."


def ask_of(call: CallSeen) -> Ask:
    """The question of a call of `ask_user`."""
    questions = _questions(call)
    fields = [_field(number, question) for number, question in enumerate(questions, 1)]
    return Ask(
        native_id=call.id,
        reason="input_required",
        message="\n".join(field.label for field in fields),
        about=ToolCall(call.id, call.name, _arguments(call)),
        response_schema=schema_from_fields(fields),
        metadata={"toolName": call.name, "questions": questions},
    )


def answer_text(decision: Decision, labels: Mapping[str, str]) -> str:
    """The message that NexAU waits for.

    Args:
        decision: what people decided.
        labels: the questions by field name, as `ask_of` asked them.
    """
    if not isinstance(decision, Answer):
        expired = getattr(decision, "cause", None) == "expired"
        return _EXPIRED if expired else _CANCELLED
    payload = decision.payload
    if not isinstance(payload, dict):
        return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    texts = {name: _plain(value) for name, value in payload.items()}
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "\n".join(f"{labels.get(name, name)} {text}" for name, text in texts.items())


def labels_of(ask: Ask) -> dict[str, str]:
    """The questions of an ask by field name."""
    properties: Mapping[str, Any] = (ask.response_schema or {}).get("properties", {})
    return {name: str(schema.get("title", name)) for name, schema in properties.items()}


def _arguments(call: CallSeen) -> dict[str, Json]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _questions(call: CallSeen) -> list[Json]:
    arguments = _arguments(call)
    given = arguments.get("questions")
    if isinstance(given, list) and given:
        return given
    question = arguments.get("question")
    return [{"question": question if isinstance(question, str) else "The agent asks for input."}]


def _field(number: int, question: Json) -> FormField:
    name = f"answer_{number}" if number > 1 else "answer"
    if not isinstance(question, dict):
        return FormField(name, label=str(question), required=True)
    label = str(question.get("question") or question.get("header") or "")
    options = _options(question.get("options"))
    # Several may be chosen, or something else be said: then it is text.
    if options and not question.get("multiSelect") and question.get("type") != "text":
        return FormField(name, "select", label, required=True, options=options)
    return FormField(name, label=label, required=True)


def _options(given: Json) -> tuple[str, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        return ()
    labels = [o.get("label", o.get("value")) if isinstance(o, dict) else o for o in given]
    return tuple(str(label) for label in labels if label is not None)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
