"""The payloads of answers: tool approvals, confirmations, and the fields of a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agui_bridge.protocol.answers.decisions import CONFIRM_SCHEMA, approval_schema
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.protocol.answers.question_schemas import DECLINE_SCHEMA
from agui_bridge.shapes.readable_schema import REF, Schema, document, schema_of, title_of

__all__ = ["decisions"]

_SAID = {
    "approved": "Whether the tool may run; nothing but true is an approval.",
    "reason": "Why, in the words of who decided; it reaches the agent.",
    "editedArgs": "Arguments in the place of those asked about, whole; they satisfy the tool's "
    "parameter schema. Only where the interrupt's responseSchema has it.",
    "respond": "A text in place of the tool's result, which is then not executed; `approved` is "
    "false. Only where the interrupt's responseSchema has it.",
    "confirm": "Whether to go on.",
    "declined": "Says that the person would not answer. Only where the interrupt's responseSchema "
    "has it, beside the answer.",
}
_FIELD = {
    "name": "The key of its value in the payload.",
    "type": "text (a string), confirm (a boolean) or select (one of options).",
    "label": "What people read; empty when there is none.",
    "required": "Whether it must be filled in.",
    "options": "What a select offers.",
}


def decisions() -> Schema:
    """What `payload` may be for each kind of question the bridge itself makes a schema for."""
    shape = _described(schema_of(FormField), _FIELD)
    for value in shape["properties"].values():
        value.pop("default", None)
    shape["properties"]["options"]["minItems"] = 1
    field = {
        "title": "Form field",
        "description": "One field of a form, as interfaces that know no JSON Schema show it.",
        "type": "object",
        "required": [name for name in shape["properties"] if name != "options"],
        "properties": shape["properties"],
        "if": {"properties": {"type": {"const": "select"}}},
        "then": {"required": ["options"]},
        "else": {"not": {"required": ["options"]}},
    }
    approval = {
        "title": "Tool approval",
        "description": "The payload that answers whether a tool call may run. Unknown members "
        "reach the agent.",
        **_described(approval_schema(None, editable=True, respond=True), _SAID),
    }
    confirmation = {
        "title": "Confirmation",
        "description": "The payload that answers a plain confirmation.",
        **_described(CONFIRM_SCHEMA, _SAID),
    }
    decline = {
        "title": "Decline",
        "description": "The payload that declines to answer a question which offers that: its "
        "responseSchema is an anyOf of the answer and of this.",
        **_described(DECLINE_SCHEMA, _SAID),
    }
    return document(
        "decisions",
        "Decisions",
        "Payloads of resume entries for the questions whose schema is the bridge's own, and the "
        "fields of a form. What a question accepts is its responseSchema: that of an approval is "
        "this one with the tool's own parameters as editedArgs.",
        {
            "anyOf": [
                {"$ref": REF + "ToolApproval"},
                {"$ref": REF + "Confirmation"},
                {"$ref": REF + "Decline"},
            ],
            "$defs": {
                "Confirmation": confirmation,
                "Decline": decline,
                "FormField": field,
                "ToolApproval": approval,
            },
        },
    )


def _described(schema: Mapping[str, Any], said: Mapping[str, str]) -> Schema:
    properties = {
        name: {**value, "title": title_of(name), "description": said[name]}
        for name, value in schema["properties"].items()
    }
    return {**schema, "properties": properties}
