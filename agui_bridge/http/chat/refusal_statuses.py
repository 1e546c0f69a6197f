"""The HTTP statuses of the chat API, where they differ from those of `errors.CODES`.

Source: SuperAgent's page "Interrupt/Resume", the table of errors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Final, TypeVar

from starlette.requests import Request

from agui_bridge.errors import Refused
from agui_bridge.http.service import Service

__all__ = ["STATUSES", "in_its_statuses"]

T = TypeVar("T")

STATUSES: Final[Mapping[str, int]] = {
    "INVALID_INPUT": 400,
    "INVALID_RESUME_PAYLOAD": 400,
    "INTERRUPT_EXPIRED": 409,
    "INTERRUPT_NOT_FOUND": 409,
}
"""By code."""


class _ChatRefused(Refused):
    """A refusal with this API's status."""

    @property
    def status(self) -> int:
        return STATUSES.get(self.code, super().status)


def in_its_statuses(
    handler: Callable[[Service, Request], Awaitable[T]],
) -> Callable[[Service, Request], Awaitable[T]]:
    """Have what a handler refuses answered with this API's statuses (decorator)."""

    @wraps(handler)
    async def handle(service: Service, request: Request) -> T:
        try:
            return await handler(service, request)
        except Refused as error:
            raise _ChatRefused(error.code, error.message, error.details) from error

    return handle
