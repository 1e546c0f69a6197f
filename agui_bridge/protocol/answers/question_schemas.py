"""Response schemas of questions: with a decline beside the answer, and without null.

A question that may be declined takes what it asks for, or `{"declined": true, "reason": …}`.
Source: docs/contract.md, "Decisions".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.protocol.schemas.check_work import CheckWork
from agui_bridge.protocol.schemas.checking import find_schema_fault, is_known_draft
from agui_bridge.protocol.schemas.left_out import REFERENCES
from agui_bridge.protocol.threads.records import Json

__all__ = [
    "DECLINED",
    "DECLINE_SCHEMA",
    "declinable",
    "find_answer_fault",
    "has_decline",
    "is_decline_schema",
    "rooted",
    "says_declined",
    "without_null",
]

DECLINED: Final = "declined"
"""The member of a payload that says, being true, that a person would not answer."""

_ANSWER: Final = "#/anyOf/0"
DECLINE_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "required": [DECLINED],
    "properties": {DECLINED: {"const": True}, "reason": {"type": "string"}},
}
"""The payload of a decline."""

_NOT_NULL: Final[Mapping[str, Json]] = {"not": {"type": "null"}}


def declinable(schema: Mapping[str, Json] | None) -> dict[str, Json]:
    """Offer a decline beside the answer.

    Args:
        schema: of the answer; None takes any.

    Returns:
        `{anyOf: [schema, {required: [declined], …}]}`.
    """
    answer, draft = rooted(schema or {}, _ANSWER)
    return {**draft, "anyOf": [answer, dict(DECLINE_SCHEMA)]}


def without_null(schema: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """Let null be no answer, for a framework that can't be told it.

    Args:
        schema: of the answer, which `check_schema` accepted; None takes any.
    """
    if schema is None:
        return _NOT_NULL
    if find_schema_fault(schema, None) is not None:
        return schema
    if "not" not in schema:
        return {**schema, **_NOT_NULL}
    return {**schema, "allOf": [*schema.get("allOf", ()), _NOT_NULL]}


def has_decline(schema: Mapping[str, Json] | None) -> bool:
    """Whether a question's schema, whoever made it, offers a decline beside the answer."""
    offered = (schema or {}).get("anyOf")
    return isinstance(offered, list) and len(offered) == 2 and is_decline_schema(offered[1])


def is_decline_schema(schema: Json) -> bool:
    """Whether it is the schema of a decline and nothing else."""
    if not isinstance(schema, Mapping) or schema.get("required") != [DECLINED]:
        return False
    properties = schema.get("properties")
    return isinstance(properties, Mapping) and properties.get(DECLINED) == {"const": True}


def says_declined(payload: Json) -> bool:
    """Whether a payload is a decline, where the question offers one."""
    return isinstance(payload, Mapping) and payload.get(DECLINED) is True


def find_answer_fault(
    schema: Mapping[str, Any], payload: Json, work: CheckWork | None = None
) -> str | None:
    """Check an answer against its question's schema; see `find_schema_fault`.

    Where there is a decline beside the answer, it is told what is wrong with what was meant.
    """
    if has_decline(schema) and not says_declined(payload):
        schema = {**schema, "anyOf": schema["anyOf"][:1]}
    return find_schema_fault(schema, payload, work)


def rooted(schema: Mapping[str, Json], to: str) -> tuple[dict[str, Json], dict[str, Json]]:
    """Make a whole schema a part of another one.

    Args:
        schema: a document of its own.
        to: the pointer to its new place.

    Returns:
        It, as it is to stand there; and its draft, which then rules the whole document.
    """
    part: dict[str, Json] = _moved(dict(schema), to)
    part.pop("$id", None)
    draft = part.pop("$schema", None)
    return part, {"$schema": draft} if is_known_draft(draft) else {}


def _moved(node: Json, to: str) -> Json:
    """Let the pointers of a schema lead to the same places once it stands at `to`."""
    if isinstance(node, Mapping):
        return {
            name: to + value[1:]
            if name in REFERENCES and isinstance(value, str) and value.startswith("#")
            else _moved(value, to)
            for name, value in node.items()
        }
    return [_moved(item, to) for item in node] if isinstance(node, list | tuple) else node
