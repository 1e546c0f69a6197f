"""Error codes as schemas: RUN_ERROR's `code`, and the body of an HTTP error."""

from __future__ import annotations

from collections.abc import Iterable

from agui_bridge.errors import CODES
from agui_bridge.shapes.readable_schema import Schema, document

__all__ = ["code_schema", "error", "error_body"]


def code_schema(codes: Iterable[str] | None = None, *, stream: bool = False) -> Schema:
    """A choice of codes, each with its cause and remedy.

    Args:
        codes: which; None means all.
        stream: leave out the codes that never travel as RUN_ERROR.
    """
    chosen = [code for code in codes or CODES if CODES[code].stream or not stream]
    return {
        "type": "string",
        "oneOf": [
            {"const": code, "description": f"{CODES[code].cause} {CODES[code].remedy}"}
            for code in chosen
        ],
    }


def error_body(codes: Iterable[str] | None = None) -> Schema:
    """`{"error": {"code", "message", "details"?}, "message"}`, of some codes or of all."""
    code = {
        "title": "Code",
        "description": "A stable code, by which a program can tell what happened.",
        **code_schema(codes),
    }
    message = {
        "type": "string",
        "title": "Message",
        "description": "What was wrong, where, and what to do about it, for people.",
    }
    details = {"title": "Details", "description": "Particulars, such as the field. Any JSON value."}
    return {
        "type": "object",
        "title": "Error",
        "description": "Why a request was not carried out.",
        "required": ["error", "message"],
        "properties": {
            "error": {
                "type": "object",
                "title": "Error",
                "description": "What happened.",
                "required": ["code", "message"],
                "properties": {"code": code, "message": message, "details": details},
            },
            "message": {**message, "description": "The same message, for those who look here."},
        },
    }


def error() -> Schema:
    """The body of every HTTP answer that is no success."""
    return document(
        "error",
        "Error",
        "The body of every HTTP answer that is no success. Errors of a run that has a stream are "
        "RUN_ERROR events instead.",
        error_body(),
    )
