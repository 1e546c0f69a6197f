"""The parameters of a query."""

from __future__ import annotations

import re
from typing import Final

from starlette.requests import Request

from agui_bridge.errors import Refused

__all__ = ["flag", "position", "seconds", "whole"]

_WHOLE: Final = re.compile("[0-9]{1,9}")
_POSITION: Final = re.compile("[0-9]{1,19}")
_SECONDS: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,20})?(e-[0-9]{1,3})?")


def whole(request: Request, name: str, default: int, most: int) -> int:
    """A whole number from 1.

    Raises:
        Refused: INVALID_INPUT.
    """
    value = request.query_params.get(name)
    if value is None:
        return default
    if not (_WHOLE.fullmatch(value) and 1 <= int(value) <= most):
        raise Refused("INVALID_INPUT", f"{name}: must be a whole number from 1 to {most}.")
    return int(value)


def position(request: Request, name: str) -> int | None:
    """A position in a thread, as an answer before gave it, if it is there.

    Raises:
        Refused: INVALID_INPUT.
    """
    value = request.query_params.get(name)
    if value is None:
        return None
    if not (_POSITION.fullmatch(value) and int(value) < 2**63):
        raise Refused("INVALID_INPUT", f"{name}: must be what `earlier` of an answer says.")
    return int(value)


def seconds(request: Request, name: str) -> float | None:
    """A time, or a length of time, if it is there.

    Raises:
        Refused: INVALID_INPUT.
    """
    value = request.query_params.get(name)
    if value is None:
        return None
    if not _SECONDS.fullmatch(value):
        raise Refused("INVALID_INPUT", f"{name}: must be a number of seconds.")
    return float(value)


def flag(request: Request, name: str) -> bool:
    """Whether something is switched on; by default it is not.

    Raises:
        Refused: INVALID_INPUT.
    """
    value = request.query_params.get(name, "false")
    if value not in ("true", "1", "false", "0"):
        raise Refused("INVALID_INPUT", f"{name}: must be true or false.")
    return value in ("true", "1")
