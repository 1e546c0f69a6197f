"""What a request is refused with, as both bindings name it.

Source: the A2A specification 1.0, sections 3.3.2, 5.4 ("Error Code Mappings"), 9.5 and 11.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from agui_bridge.errors import CODES, Refused

Kind = Literal[
    "TASK_NOT_FOUND",
    "TASK_NOT_CANCELABLE",
    "PUSH_NOTIFICATION_NOT_SUPPORTED",
    "UNSUPPORTED_OPERATION",
    "CONTENT_TYPE_NOT_SUPPORTED",
    "VERSION_NOT_SUPPORTED",
    "JSON_PARSE_ERROR",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "INVALID_PARAMS",
    "INTERNAL_ERROR",
]


class _Names(NamedTuple):
    rpc: int
    status: int
    grpc: str


_NAMES: Final[Mapping[Kind, _Names]] = {
    "TASK_NOT_FOUND": _Names(-32001, 404, "NOT_FOUND"),
    "TASK_NOT_CANCELABLE": _Names(-32002, 400, "FAILED_PRECONDITION"),
    "PUSH_NOTIFICATION_NOT_SUPPORTED": _Names(-32003, 400, "FAILED_PRECONDITION"),
    "UNSUPPORTED_OPERATION": _Names(-32004, 400, "FAILED_PRECONDITION"),
    "CONTENT_TYPE_NOT_SUPPORTED": _Names(-32005, 400, "INVALID_ARGUMENT"),
    "VERSION_NOT_SUPPORTED": _Names(-32009, 400, "FAILED_PRECONDITION"),
    "JSON_PARSE_ERROR": _Names(-32700, 400, "INVALID_ARGUMENT"),
    "INVALID_REQUEST": _Names(-32600, 400, "INVALID_ARGUMENT"),
    "METHOD_NOT_FOUND": _Names(-32601, 404, "NOT_FOUND"),
    "INVALID_PARAMS": _Names(-32602, 400, "INVALID_ARGUMENT"),
    "INTERNAL_ERROR": _Names(-32603, 500, "INTERNAL"),
}
_KINDS: Final[Mapping[str, Kind]] = {
    "RUN_IN_PROGRESS": "UNSUPPORTED_OPERATION",
    "INTERRUPT_PENDING": "UNSUPPORTED_OPERATION",
    "INTERRUPT_EXPIRED": "UNSUPPORTED_OPERATION",
    "INTERRUPT_ALREADY_ANSWERED": "UNSUPPORTED_OPERATION",
    "NOT_FOUND": "TASK_NOT_FOUND",
}
"""Of codes of the bridge that A2A has a name for; of others the status decides."""


class Fault(Exception):
    """A request that is refused; nothing was changed.

    Args:
        kind: what A2A calls it.
        message: what was wrong, and what to do.
        code: the bridge's own code, where it has one.
    """

    def __init__(self, kind: Kind, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.code = code

    @classmethod
    def of(cls, code: str, message: str) -> Fault:
        """That of a code of the bridge."""
        by_status: Kind = "INTERNAL_ERROR" if CODES[code].status >= 500 else "INVALID_PARAMS"
        return cls(_KINDS.get(code, by_status), message, code)

    @property
    def status(self) -> int:
        """The HTTP status in the binding HTTP+JSON."""
        own = CODES[self.code].status if self.code is not None else 0
        return own if own in (403, 429, 503) else _NAMES[self.kind].status

    def to_rpc(self) -> dict[str, Any]:
        """The `error` of a JSON-RPC response."""
        return {"code": _NAMES[self.kind].rpc, "message": self.message, "data": [self._details()]}

    def to_http(self) -> dict[str, Any]:
        """The body in the binding HTTP+JSON."""
        named = {"code": self.status, "status": _NAMES[self.kind].grpc, "message": self.message}
        return {"error": {**named, "details": [self._details()]}}

    def _details(self) -> dict[str, Any]:
        return {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": self.kind,
            "domain": "a2a-protocol.org",
            "metadata": {} if self.code is None else {"code": self.code},
        }


def invalid(field: str, reason: str) -> Fault:
    """A parameter that is wrong.

    Args:
        field: its name, with the way to it.
        reason: a sentence without a subject, such as `is missing`.
    """
    return Fault("INVALID_PARAMS", f"{field}: {reason}.", "INVALID_INPUT")


def fault_of(error: Refused) -> Fault:
    """What the bridge refuses, as A2A names it."""
    return Fault.of(error.code, error.message)
