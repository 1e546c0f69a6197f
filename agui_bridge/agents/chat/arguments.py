"""The arguments of a tool call, from the text that a model wrote.

What is carried out is what was shown. Text that readers take in different ways is refused.
"""

from __future__ import annotations

import json
from typing import Final

from agui_bridge.agents.replay.journal import DEEPEST
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.lifecycle.partial_json import completion
from agui_bridge.protocol.threads.records import Json

__all__ = ["parse_arguments"]

_NO_OBJECT: Final = "they are no JSON object"
_LONGEST_INTEGER: Final = 1_000
"""Digits; the time for one grows with the square of its length."""


class _Refused(ValueError):
    pass


def parse_arguments(text: str) -> dict[str, Json] | str:
    """Read the arguments of a call.

    Args:
        text: as the model wrote them; nothing at all stands for no arguments.

    Returns:
        The arguments, or what is wrong with them.
    """
    # What is no JSON was not shown as it is, even if Python reads it, such as NaN.
    if completion(text) != "":
        return _NO_OBJECT
    try:
        parsed = json.loads(text or "{}", object_pairs_hook=_object, parse_int=_integer)
    except _Refused as refused:
        return str(refused)
    except RecursionError:
        return "they nest too deep"
    if not isinstance(parsed, dict):
        return _NO_OBJECT
    return find_forbidden(parsed, max_depth=DEEPEST) or parsed


def _object(members: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(members)
    if len(made) < len(members):
        raise _Refused("they name a key of an object twice")
    return made


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        raise _Refused(f"they have an integer of over {_LONGEST_INTEGER} digits")
    return int(digits)
