"""A call's arguments that a model writes piece by piece, as the text of one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from google.genai import types

from agui_bridge.protocol.threads.records import Json

__all__ = ["StreamedArguments"]

_MEMBER: Final = re.compile(r"\$\.([A-Za-z_]\w*)")
"""The path of an argument itself; what lies deeper is told when it is whole."""


class StreamedArguments:
    """Puts the text of one object together; what was told is never taken back.

    Gemini tells which argument each piece belongs to, by JSON path. Pieces of texts go out as they
    come, other values whole, one argument after the other.
    """

    def __init__(self) -> None:
        self._told: dict[str, Any] = {}
        self._open: str | None = None

    def add(self, piece: types.PartialArg) -> str:
        """The text that a piece adds, "" if it has to wait for the whole."""
        found = _MEMBER.fullmatch(piece.json_path or "")
        if found is None:
            return ""
        name = found[1]
        if piece.string_value is None:
            return "" if name in self._told else self._value(name, piece)
        if name in self._told and name != self._open:
            return ""
        text = "" if name == self._open else self._begin(name) + '"'
        self._told[name] = self._told.get(name, "") + piece.string_value
        self._open = name
        return text + json.dumps(piece.string_value)[1:-1]

    def rest(self, args: Mapping[str, Json]) -> str:
        """The text that the complete arguments add, and the end of the object."""
        text = ""
        if self._open is not None:
            whole = args.get(self._open)
            told = self._told[self._open]
            if isinstance(whole, str) and whole.startswith(told):
                text += json.dumps(whole[len(told) :])[1:-1]
            text, self._open = text + '"', None
        for name, value in args.items():
            if name not in self._told:
                text += self._begin(name) + json.dumps(value)
                self._told[name] = value
        return text + ("}" if self._told else "{}")

    def _value(self, name: str, piece: types.PartialArg) -> str:
        value: Any = piece.number_value if piece.number_value is not None else piece.bool_value
        if value is None:
            # Null, or only the announcement of a value: the whole tells.
            return ""
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = self._begin(name) + json.dumps(value)
        self._told[name] = value
        return text

    def _begin(self, name: str) -> str:
        """What stands before the value of an argument."""
        end = '"' if self._open is not None else ""
        self._open = None
        return f"{end}{', ' if self._told else '{'}{json.dumps(name)}: "
