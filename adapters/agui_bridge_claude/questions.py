"""The questions that people are asked: whether a tool may run, and what the model itself asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import ANSWER, DECLINE

ASKING: Final = "AskUserQuestion"
"""The tool by which the model asks the user."""

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_FLAG: Final = {"type": "boolean"}


def _object(required: tuple[str, ...], **optional: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict.fromkeys(required, _TEXT) | optional,
        "required": list(required),
        "additionalProperties": False,
    }


BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = {
    "Bash": _object(("command",), description=_TEXT, timeout=_NUMBER, run_in_background=_FLAG),
    "Write": _object(("file_path", "content")),
    "Edit": _object(("file_path", "old_string", "new_string"), replace_all=_FLAG),
    "NotebookEdit": _object(
        ("notebook_path", "new_source"), cell_id=_TEXT, cell_type=_TEXT, edit_mode=_TEXT
    ),
    "WebFetch": _object(("url", "prompt")),
}
"""The arguments of Claude Code's own tools that people may edit."""


def question(call_id: str, args: Mapping[str, Any]) -> Ask:
    """A form with what the model asks; its answers go back by the questions' own text."""
    asked = [one for one in args.get("questions") or () if isinstance(one, Mapping)]
    texts = [str(one.get("question", "")) for one in asked]
    return Ask(
        call_id,
        message="\n".join(texts),
        about=call_id,
        response_schema={
            "type": "object",
            "properties": {text: _field(one) for text, one in zip(texts, asked, strict=True)},
            "required": texts,
            "additionalProperties": False,
        },
        allowed=(ANSWER, DECLINE),
    )


def answered(args: Mapping[str, Any], payload: Any) -> dict[str, Any]:
    """What the tool is called with once a person has answered; several choices in one text."""
    answers = payload if isinstance(payload, Mapping) else {}
    told = {
        text: ", ".join(map(str, given)) if isinstance(given, list) else str(given)
        for text, given in answers.items()
    }
    return {**args, "answers": told}


def _field(asked: Mapping[str, Any]) -> dict[str, Any]:
    options = [one for one in asked.get("options") or () if isinstance(one, Mapping)]
    labels = [str(one.get("label", "")) for one in options]
    title = {"title": str(asked.get("header") or asked.get("question", ""))}
    hints = [
        f"{one.get('label')}: {one['description']}" for one in options if one.get("description")
    ]
    if hints:
        title["description"] = "\n".join(hints)
    if asked.get("multiSelect"):
        items = {"type": "string", "enum": labels}
        return {"type": "array", "items": items, "minItems": 1, "uniqueItems": True, **title}
    return {"type": "string", "enum": labels, **title}
